"""The door of this room: a text goes in, and comes out with its secrets masked and everything else where it was."""

from collections.abc import Iterator, Sequence
from itertools import pairwise

from codequarry.ingest.secrets.allow_list import Allowed
from codequarry.ingest.secrets.assignments import find_assignments
from codequarry.ingest.secrets.columns import RULE as COLUMN
from codequarry.ingest.secrets.columns import find_columns
from codequarry.ingest.secrets.kubernetes import find_kubernetes_values
from codequarry.ingest.secrets.masked_text import MASK, PRIVATE_KEY, FoundSecret, MaskedText
from codequarry.ingest.secrets.private_keys import find_private_keys
from codequarry.ingest.secrets.rules import rule_book
from codequarry.ingest.secrets.values import JUDGES, entropy, is_padding

# Line ends stay, so that every line and character is where it was.
_KEPT = frozenset("\r\n")
# A secret of this length and with a digit is masked wherever else it stands in the same file; others may be words.
REPEATED = 10
# Each costs a pass over the text: a list of thousands of passwords is not looked through for its lines.
MOST_REPEATED = 1_000
_NOTHING_ALLOWED = Allowed()


def mask(text: str, path: str = "", allowed: Allowed = _NOTHING_ALLOWED) -> MaskedText:
    """Mask the secrets of a text: a file's, or with no ``path`` that of a message or a diff."""
    if not text or allowed.allows_path(path):
        return MaskedText(text)
    secrets = _in_characters(text, path)
    kept = tuple(one for one in secrets if not allowed.allows(one.rule, text[one.start : one.end]))
    kept = _with_repeats(text, kept)
    return MaskedText(_masked(text, kept), kept) if kept else MaskedText(text)


def _masked(text: str, secrets: Sequence[FoundSecret]) -> str:
    parts: list[str] = []
    done = 0
    for secret in secrets:
        parts.append(text[done : secret.start])
        inside = text[max(done, secret.start) : secret.end]
        parts.append("".join(character if character in _KEPT else MASK for character in inside))
        done = max(done, secret.end)
    return "".join([*parts, text[done:]])


def _in_characters(text: str, path: str) -> list[FoundSecret]:
    """Return what the rules find, in order, without what lies within another finding."""
    data = text.encode("utf-8", "surrogatepass")
    # Of rules that find the same place the first one names it, in every process: a set would be ordered by chance.
    found = sorted(dict.fromkeys(_found(data, path)), key=lambda one: (one.start, -one.end))
    alone: list[FoundSecret] = []
    for one in found:
        if not alone or one.end > alone[-1].end:
            alone.append(one)
    return alone if len(data) == len(text) else list(_from_bytes(data, alone))


def _from_bytes(data: bytes, secrets: Sequence[FoundSecret]) -> Iterator[FoundSecret]:
    """Yield the findings with places in characters instead of bytes."""
    places = sorted({place for one in secrets for place in (one.start, one.end)})
    characters = {0: 0}
    for before, place in pairwise([0, *places]):
        characters[place] = characters[before] + len(data[before:place].decode("utf-8", "surrogatepass"))
    for one in secrets:
        yield FoundSecret(one.rule, characters[one.start], characters[one.end])


def _found(data: bytes, path: str) -> Iterator[FoundSecret]:
    lowered = data.lower()
    for start, end in find_private_keys(data):
        yield FoundSecret(PRIVATE_KEY, start, end)
    for rule in rule_book().worth_trying(lowered):
        judge = JUDGES[rule.judge]
        for start, end in rule.find(data):
            value = data[start:end].decode("utf-8", "replace")
            if not is_padding(value) and entropy(value) >= rule.entropy and judge(value):
                yield FoundSecret(rule.id, start, end)
    for assignment in find_assignments(data, lowered, path):
        yield FoundSecret(assignment.rule, assignment.start, assignment.end)
    for rule_id, start, end in find_kubernetes_values(data):
        yield FoundSecret(rule_id, start, end)
    for start, end in find_columns(data, lowered, path):
        yield FoundSecret(COLUMN, start, end)


def _with_repeats(text: str, secrets: tuple[FoundSecret, ...]) -> tuple[FoundSecret, ...]:
    """Add the other places at which a secret stands: in a comment, say, or split from its key."""
    found = {text[one.start : one.end]: one.rule for one in secrets if one.end - one.start >= REPEATED}
    if len(found) > MOST_REPEATED:
        return secrets
    values = {value: rule for value, rule in found.items() if any(character.isdigit() for character in value)}
    known = {(one.start, one.end) for one in secrets}
    repeats = [
        FoundSecret(rule, place, place + len(value))
        for value, rule in values.items()
        for place in _places(text, value)
        if (place, place + len(value)) not in known
    ]
    return tuple(sorted((*secrets, *repeats), key=lambda one: (one.start, -one.end, one.rule)))


def _places(text: str, value: str) -> Iterator[int]:
    place = text.find(value)
    while place >= 0:
        yield place
        place = text.find(value, place + len(value))
