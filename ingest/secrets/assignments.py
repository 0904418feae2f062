"""Finds values assigned to keys that are named like secrets: in code, configuration, JSON, XML, shell and URLs."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import PurePosixPath
from typing import Literal

from codequarry.ingest.secrets.engine import Match, compiled
from codequarry.ingest.secrets.values import entropy, is_password, is_token

AssignmentKind = Literal["password", "secret", "token"]

_KINDS: tuple[AssignmentKind, ...] = ("password", "secret", "token")
# Punctuation that may follow an unquoted value; ASCII, so one byte each.
_TAIL = ".,:)]}"
PASSWORD, TOKEN = "assigned-password", "assigned-token"
# A lower-case text without any of these has no key named like a secret.
KEYWORDS = (b"pass", b"pwd", b"_pw", b"psw", b"secret", b"cred", b"token", b"key", b"auth", b"bearer")
# Files in which values need no quotes. In code, an unquoted word is a name.
PLAIN_SUFFIXES = frozenset({
    "", ".bash", ".cfg", ".cnf", ".conf", ".config", ".credentials", ".diff", ".env", ".ini", ".md", ".patch",
    ".properties", ".props", ".rst", ".adoc", ".sh", ".tfvars", ".txt", ".yaml", ".yml", ".zsh", ".toml", ".log",
    ".service", ".envrc", ".npmrc", ".netrc", ".pypirc", ".ps1", ".bat", ".cmd", ".fish", ".j2", ".tmpl", ".tpl",
    ".example", ".sample", ".dist", ".local", ".ipynb", ".http", ".rest", ".csv", ".tsv", ".list", ".htaccess",
})  # fmt: skip
# The word must end the key (password_field, token_url and secretName hold no secret), except for these endings.
_ENDING = (
    rb"(?:[_.-]?(?:value|string|text|hash|b64|base64|plain|raw|encoded|production|prod|development|dev|staging|stage"
    rb"|test|live|old|new|current|default|primary|secondary|main|admin|root|user|db|[0-9]{1,2}))?s?"
)
# Groups of every pattern: the kind of word (1 to 3), the separator (4), the value (one of the rest).
_WORDS = (
    rb"(passw(?:or)?d|passphrase|passcode|pwd|psw|(?-i:\bpass|[_.-]pass|[a-z]Pass|\bPASS|_PASS|\bpw|_pw|_PW))"
    rb"|(secret(?:[_.-]?(?:access[_.-]?)?key(?:[_.-]?base)?)?|credentials?|creds)"
    rb"|(token|(?:api|access|auth|private|encryption|signing|signature|account|shared|shared[_.-]?access|master|license"
    rb"|service|client|consumer|deploy|app|application|storage|session|cookie|crypto|hmac|jwt|webhook)[_.-]?key"
    rb"|(?-i:\b_?auth|[_.-]auth)|authorization|bearer)"
)
# A type may precede the sign, as in `password: str = ` and `password string = `.
_SEPARATOR = (
    rb"""[ \t]*(?::[ \t]*[A-Za-z_&'*][\w.<>\[\]|?&' ]{0,40}[ \t]*=|[ \t][*&]?[a-z]\w{2,9}[ \t]*="""
    rb"""|===?|!==?|=>|:=|\+=|\?\?=?|\|\|=?|:-|<-|=|:|,|\(|>)[ \t]*|[ \t]+(?:or|is)[ \t]+|[ \t]+"""
)
_KEY = rb"(?i)(?:" + _WORDS + rb")" + _ENDING + rb"(?:\\?[\"'`\])]){0,4}[ \t]*(" + _SEPARATOR + rb")"
_QUOTED = _KEY + (
    rb"""(?:\\?\r?\n[ \t+-]*|[ \t]*)(?:[\[{][ \t]*)?[rbfuRBFUL@$]{0,2}(?:"""
    rb"""\"\"\"([^"\\\r\n]+)\"\"\"|\\"([^"\\\r\n]+)\\"|"((?:[^"\\\r\n]|\\.)+)"|'((?:[^'\\\r\n]|\\.)+)'"""
    rb"""|`([^`\r\n]+)`|\\'([^'\\\r\n]+)\\'|&quot;([^&\r\n]+)&quot;)"""
)
_PLAIN = _KEY + rb"""(?:[|>][+-]?\r?\n[ \t]+)?([^\s"'`,;<>()\[\]{}&|][^\s"'`;<>&]*)"""
# The next part of a literal, after a sign on the same line or on the next line; not the next key of a mapping.
_FURTHER = rb"""["'`][ \t]*(?:[+.&]|\\?\r?\n)[\s+.&]*[rbfu]?["'`]([^\s"'`]{4,})["'`][ \t]*(?:[^\s:=]|\r?\n|$)"""
MOST_BETWEEN = 400
# Calls that look up a secret by name.
_LOOKUP = re.compile(
    rb"(?:get|fetch|find|read|load|has|is|check|delete|remove|require|contains|lookup|from|parse)\w*$", re.I
)
_IDENTIFIER = re.compile(r"^[A-Za-z_$][\w$]*$")


@dataclass(frozen=True, slots=True)
class Assignment:
    """An assignment to a key named like a secret; ``start`` and ``end`` are byte offsets of the value."""

    kind: AssignmentKind
    separator: str
    value: str
    start: int
    end: int

    @property
    def rule(self) -> str:
        """The name of the rule."""
        return PASSWORD if self.kind == "password" else TOKEN

    @property
    def is_secret(self) -> bool:
        """Whether the value is a secret; a value that is not plainly assigned must look random."""
        if self.separator in ("", "is"):
            # This may be part of a sentence.
            return is_token(self.value)
        if self.kind == "password":
            return is_password(self.value)
        if self.kind == "secret" and self.separator not in ("(", ","):
            return is_token(self.value) or (is_password(self.value) and len(self.value) >= 8)
        return is_token(self.value)


def find_assignments(data: bytes, lowered: bytes, path: str) -> Iterator[Assignment]:
    """Yield the assignments of secrets in a text; ``lowered`` is the text in lower case."""
    if not any(keyword in lowered for keyword in KEYWORDS):
        return
    for match in compiled(_QUOTED).finditer(data):
        found = _assignment(data, match)
        if found.is_secret and not _is_lookup(data, match, found):
            yield found
            yield from _continued(data, found)
    plain = is_plain(path)
    for match in compiled(_PLAIN).finditer(data):
        found = _without_tail(_assignment(data, match))
        if found.separator in ("(", ",", ">", "or", "is") or not found.is_secret:
            continue
        if plain or _stands_alone(data, found):
            yield found


def _continued(data: bytes, found: Assignment) -> Iterator[Assignment]:
    """Yield the literals that the code concatenates with the value found."""
    while following := compiled(_FURTHER).match(data[found.end : found.end + MOST_BETWEEN]):
        start, end = following.span(1)
        found = replace(found, start=found.end + start, end=found.end + end)
        yield found


def is_plain(path: str) -> bool:
    """Return whether values need no quotes in a file of this name."""
    name = PurePosixPath(path.lower()).name
    suffix = PurePosixPath(name).suffix or (name if name.startswith(".") else "")
    return suffix in PLAIN_SUFFIXES or name.startswith((".env", "dockerfile", ".git"))


def _assignment(data: bytes, match: Match) -> Assignment:
    kind = _KINDS[next(at for at in (1, 2, 3) if match.group(at)) - 1]
    start, end = next(match.span(at) for at in range(5, len(match.groups()) + 1) if match.group(at))
    separator = (match.group(4) or b"").decode("utf-8", "replace").strip()
    return Assignment(kind, separator, data[start:end].decode("utf-8", "replace"), start, end)


def _without_tail(found: Assignment) -> Assignment:
    """Remove punctuation that ends the sentence or expression around an unquoted value."""
    kept = found.value.rstrip(_TAIL)
    return replace(found, value=kept, end=found.end - (len(found.value) - len(kept)))


def _is_lookup(data: bytes, match: Match, found: Assignment) -> bool:
    """Return whether a call looks up a secret by name: ``get_secret("prod/db1")``."""
    if found.separator != "(":
        return False
    line = data[max(0, match.start() - 60) : match.start()]
    return bool(_LOOKUP.search(line)) or not (found.kind == "password" or entropy(found.value) > 3.5)


def _stands_alone(data: bytes, found: Assignment) -> bool:
    """Return whether an unquoted value in code is not a name: it is in a string, or the whole line assigns it."""
    line_start = data.rfind(b"\n", 0, found.start) + 1
    before, after = data[line_start : found.start], data[found.end : found.end + 1]
    in_string = any(before.count(quote) % 2 for quote in (b'"', b"'", b"`"))
    if in_string:
        return found.separator in ("=", ":", ":-")
    ends_line = after in (b"", b"\n", b"\r") and found.separator == "=" and not before.rstrip().endswith(b" =")
    return ends_line and b" " not in before.strip() and not _IDENTIFIER.match(found.value)
