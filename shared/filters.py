"""What both stores must agree on before any engine is asked: filter fields, path globs, lookup keys. Pure functions.

Path globs follow .gitignore: ``*``, ``?`` and ``[abc]`` stay inside one path segment, ``**`` as a whole segment stands
for any number of them, a backslash quotes. A glob without a slash (but at its end) fits a file or a directory at any
depth; one with a slash begins at the root. What fits a directory holds for everything below it; a slash at the end
asks for a directory.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from codequarry.shared.errors import UnknownName, UsageError
from codequarry.shared.model import Chunk, Filters, PathGlobs

FieldKind = Literal["keyword", "keywords", "boolean"]

FILTERABLE_FIELDS: Mapping[str, FieldKind] = {
    "aggregate": "keyword",
    "blob": "keyword",
    "calls": "keywords",
    "content_hash": "keyword",
    "defines": "keywords",
    "dependencies": "keywords",
    "encoding": "keyword",
    "exported": "boolean",
    "exports": "keywords",
    "id": "keyword",
    "imports": "keywords",
    "kind_of_file": "keyword",
    "language": "keyword",
    "masked": "boolean",
    "microservice": "keyword",
    "package": "keyword",
    "qualified_name": "keyword",
    "references": "keywords",
    "repo": "keyword",
    "symbol_kind": "keyword",
    "symbol_name": "keyword",
    "symbol_type": "keyword",
    "tags": "keywords",
}
"""Every field that ``Filters`` may name. Values are compared exactly, case included."""

BOOLEANS = ("true", "false")

# `language: config` is a family; these are its members beside the value itself.
CONFIG_LANGUAGES = ("yaml", "json", "toml", "ini", "java properties", "properties")

# What a hit in each lexical field counts when an engine picks its candidates; the scores above the port are others.
# Only the ratio matters: a name says more of a chunk than a word of its body.
RECALL_WEIGHTS: Mapping[str, int] = {"symbol": 4, "signature": 2, "path": 2, "doc": 2, "body": 1}

# All tails of a path have the square of its length: 2,000 folders of one letter would take 4 MB. Real paths have 20.
MAX_TAILS = 100

# OpenSearch refuses longer regular expressions (its index.max_regex_length).
MAX_REGEX_CHARACTERS = 1000


def check_filters(filters: Filters) -> None:
    """Raise UnknownName for a field that does not exist, UsageError for a value or glob that cannot be."""
    for name, values in (*filters.terms, *filters.excluded):
        kind = FILTERABLE_FIELDS.get(name)
        if kind is None:
            raise UnknownName("filter", name, tuple(FILTERABLE_FIELDS))
        if kind == "boolean" and (wrong := [value for value in values if value not in BOOLEANS]):
            raise UsageError(f"filter '{name}' is true or false, not '{wrong[0]}'")
    for glob in (*filters.paths.include, *filters.paths.exclude):
        glob_to_regex(glob)


def accepted_values(name: str, values: Sequence[str]) -> tuple[str, ...]:
    """Return the stored values that a filter on ``name`` accepts: ``language: config`` stands for its family."""
    family = CONFIG_LANGUAGES if name == "language" and "config" in values else ()
    return tuple(dict.fromkeys((*values, *family)))


def symbol_keys(chunk: Chunk) -> dict[str, int]:
    """Return the lower-case names that the symbol channel finds a chunk by, and how well each fits (3 is best)."""
    keys = {name.lower(): 1 for name in chunk.defines}
    if chunk.qualified_name:
        keys[(re.split(r"[.#/\\]|::", chunk.qualified_name)[-1] or chunk.qualified_name).lower()] = 2
    if chunk.symbol_name:
        keys[chunk.symbol_name.lower()] = 3
    return keys


def path_tails(path: str) -> tuple[str, ...]:
    """Return what the path channel finds a path by: its lower-case tails of whole segments, the file name first."""
    segments = path.lower().split("/")
    last = max(0, len(segments) - MAX_TAILS)
    return tuple("/".join(segments[start:]) for start in range(len(segments) - 1, last - 1, -1))


@dataclass(frozen=True, slots=True)
class _Dialect:
    """How an engine writes a group that is not entered again once it matched, and a star that takes the least."""

    group: str
    least: str


# Automata need neither; a backtracking engine needs both, or `*a*a*a*a*b` takes for ever. To take the first place
# where a piece fits is always right: the star behind it can take whatever the star before it could have taken.
_COMMON = _Dialect("(", "*")
_BACKTRACKING = _Dialect("(?>", "*?")
_FOLDERS = "([^/]+/)*"


def glob_to_regex(glob: str) -> str:
    """Translate a path glob to a regular expression that must match the whole path.

    It is built only from literals (escaped where they are ASCII but no letter, digit or underscore), ``[…]``,
    ``[^…]``, ``(…)``, ``*``, ``+`` and ``?``: these mean the same to Python's ``re.fullmatch`` and to Lucene's
    regexp, line breaks included. UsageError for a glob that is empty, too long, or fits no path.
    """
    return _translate(glob, _COMMON)


@lru_cache(maxsize=256)
def compile_glob(glob: str) -> re.Pattern[str]:
    """Compile a glob for ``fullmatch``: the same language as ``glob_to_regex``, in time that no glob makes explode."""
    return re.compile(_translate(glob, _BACKTRACKING))


def path_matches(globs: PathGlobs, path: str) -> bool:
    """Tell whether a path fits any of ``include`` (or that is empty) and none of ``exclude``."""
    included = not globs.include or any(compile_glob(glob).fullmatch(path) for glob in globs.include)
    return included and not any(compile_glob(glob).fullmatch(path) for glob in globs.exclude)


def _translate(glob: str, dialect: _Dialect) -> str:
    body = glob.removeprefix("./")
    if not body:
        raise UsageError("a path glob is empty; leave it out to mean every path")
    segments = [segment for segment in body.split("/") if segment]
    if "/" not in body.rstrip("/"):
        segments.insert(0, "**")
    regex = _join(_split_at_double_stars(segments, dialect), body.endswith("/"), dialect)
    if len(regex) > MAX_REGEX_CHARACTERS:
        raise UsageError(f"path glob '{glob[:40]}…' is too long; say it with several shorter ones")
    return regex


def _split_at_double_stars(segments: Sequence[str], dialect: _Dialect) -> list[str]:
    """Return the expressions of what stands before, between and behind the ``**`` segments."""
    pieces: list[list[str]] = [[]]
    for segment in segments:
        if segment != "**":
            pieces[-1].append(_segment(segment, dialect))
        elif len(pieces) == 1 or pieces[-1]:
            pieces.append([])
    return ["/".join(piece) for piece in pieces]


def _join(pieces: Sequence[str], only_folders: bool, dialect: _Dialect) -> str:
    """Put any number of folders between the pieces, and what lies below the last one behind it."""
    first, *others = pieces
    *middle, last = others or [first]
    start = f"{first}/" if others and first else ""
    inner = "".join(f"{dialect.group}([^/]+/){dialect.least}{piece}/)" for piece in middle)
    folders = _FOLDERS if others or not last else ""
    below = f"(/{_FOLDERS}[^/]+)" + ("" if only_folders else "?")
    anything = "[^/]+/[^/]+" if only_folders and others else "[^/]+"
    return f"{start}{inner}{folders}" + (f"{last}{below}" if last else anything)


def _segment(segment: str, dialect: _Dialect) -> str:
    """Translate one path segment; a run of stars in it is one star."""
    first, *others = _split_at_stars(segment)
    if not others:
        return first
    *middle, last = others
    inner = "".join(f"{dialect.group}[^/]{dialect.least}{part})" for part in middle if part)
    return f"{first}{inner}[^/]*{last}"


def _split_at_stars(segment: str) -> list[str]:
    parts, position = [""], 0
    while position < len(segment):
        char, position = segment[position], position + 1
        if char == "*":
            parts.append("")
        elif char == "?":
            parts[-1] += "[^/]"
        elif char == "[" and (end := segment.find("]", position + 1 + (segment[position : position + 1] in "!^"))) > 0:
            parts[-1] += _character_class(segment[position:end])
            position = end + 1
        elif char == "\\" and position < len(segment):
            parts[-1] += _literal(segment[position])
            position += 1
        else:
            parts[-1] += _literal(char)
    return parts


def _literal(char: str) -> str:
    return char if char.isalnum() or char == "_" or not char.isascii() else f"\\{char}"


def _character_class(inside: str) -> str:
    """Translate the inside of ``[…]``; it never fits a slash."""
    negated = inside[0] in "!^"
    chars = inside[1:] if negated else inside
    if "[:" in chars or "\\" in chars:
        raise UsageError(f"path glob: [{inside}] is not supported; name characters or ranges like [a-z0-9_]")
    ranges = re.findall(r"(.)-(.)|(.)", chars, re.DOTALL)
    members = "".join(_range(low, high) if low else _literal(one) for low, high, one in ranges)
    return f"[^/{members}]" if negated else f"[{members}]"


def _range(low: str, high: str) -> str:
    if low > high:
        raise UsageError(f"path glob: the range {low}-{high} runs backwards")
    if low < "/" < high:
        return f"{_literal(low)}-\\.0-{_literal(high)}"
    return f"{_literal(low)}-{_literal(high)}"
