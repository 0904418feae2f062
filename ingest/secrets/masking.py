"""Masks the secrets of a text; every other character keeps its position."""

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

# Line ends stay, so that lines keep their numbers.
_KEPT = frozenset("\r\n")
# A secret of at least this length, with a digit, is masked everywhere in its file; others may be plain words.
MIN_REPEATED_LENGTH = 10
# Each value costs a pass over the text, so a file with thousands of passwords is not searched for repeats.
MAX_REPEATED_VALUES = 1_000
_NOTHING_ALLOWED = Allowed()


def mask(text: str, path: str = "", allowed: Allowed = _NOTHING_ALLOWED) -> MaskedText:
    """Mask the secrets of a file's text, or without ``path`` of a message or diff."""
    if not text or allowed.allows_path(path):
        return MaskedText(text)
    secrets = _find_secrets(text, path)
    kept = tuple(found for found in secrets if not allowed.allows(found.rule, text[found.start : found.end]))
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


def _find_secrets(text: str, path: str) -> list[FoundSecret]:
    """Return the findings of all rules in order, without findings inside others."""
    data = text.encode("utf-8", "surrogatepass")
    # If several rules find the same place, the first names it. A set would have a different order in each process.
    found = sorted(dict.fromkeys(_apply_rules(data, path)), key=lambda secret: (secret.start, -secret.end))
    outermost: list[FoundSecret] = []
    for secret in found:
        if not outermost or secret.end > outermost[-1].end:
            outermost.append(secret)
    return outermost if len(data) == len(text) else list(_in_characters(data, outermost))


def _in_characters(data: bytes, secrets: Sequence[FoundSecret]) -> Iterator[FoundSecret]:
    places = sorted({place for secret in secrets for place in (secret.start, secret.end)})
    characters = {0: 0}
    for before, place in pairwise([0, *places]):
        characters[place] = characters[before] + len(data[before:place].decode("utf-8", "surrogatepass"))
    for secret in secrets:
        yield FoundSecret(secret.rule, characters[secret.start], characters[secret.end])


def _apply_rules(data: bytes, path: str) -> Iterator[FoundSecret]:
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
    """Add the other places of each secret, such as a comment or a line without its key."""
    long = (secret for secret in secrets if secret.end - secret.start >= MIN_REPEATED_LENGTH)
    found = {text[secret.start : secret.end]: secret.rule for secret in long}
    if len(found) > MAX_REPEATED_VALUES:
        return secrets
    values = {value: rule for value, rule in found.items() if any(character.isdigit() for character in value)}
    known = {(secret.start, secret.end) for secret in secrets}
    repeats = [
        FoundSecret(rule, place, place + len(value))
        for value, rule in values.items()
        for place in _places(text, value)
        if (place, place + len(value)) not in known
    ]
    return tuple(sorted((*secrets, *repeats), key=lambda secret: (secret.start, -secret.end, secret.rule)))


def _places(text: str, value: str) -> Iterator[int]:
    place = text.find(value)
    while place >= 0:
        yield place
        place = text.find(value, place + len(value))
