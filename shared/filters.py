"""Filter fields, path globs and lookup keys that both stores share. Pure functions.

Path globs follow .gitignore: ``*``, ``?`` and ``[abc]`` match within one path segment, ``**`` as a whole segment
matches any number of segments, and a backslash escapes. A glob without a slash (except at its end) matches a file or
directory at any depth; a glob with a slash starts at the root. A glob that matches a directory matches everything
below it; a glob that ends with a slash matches directories only.
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
    "derived": "boolean",
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
    "symbols": "keywords",
    "tags": "keywords",
}
"""Every field that ``Filters`` may name. Values are compared exactly, including case."""

BOOLEANS = ("true", "false")

# The languages that `language: config` matches besides `config` itself.
CONFIG_LANGUAGES = ("yaml", "json", "toml", "ini", "java properties", "properties")

# Weights of the lexical fields when an engine selects candidates; the final scores use other weights.
# Only the ratios matter: a name says more about a chunk than a word of its body.
RECALL_WEIGHTS: Mapping[str, int] = {"symbol": 4, "signature": 2, "path": 2, "doc": 2, "body": 1}

# The tails of a path take quadratic space: 2,000 one-letter folders would take 4 MB. Real paths have about 20 segments.
MAX_TAILS = 100

# OpenSearch refuses longer regular expressions (index.max_regex_length).
MAX_REGEX_CHARACTERS = 1000

# A part of a path in a glob: escaped characters, closed brackets, and others.
_WELL_FORMED = re.compile(r"(?:\\.|\[(?:[!^].|[^!^])[^]]*\]|[^\\[])*", re.DOTALL)


def check_filters(filters: Filters) -> None:
    """Raise UnknownName for a field that does not exist, UsageError for an invalid value or glob."""
    for name, values in (*filters.terms, *filters.excluded):
        kind = FILTERABLE_FIELDS.get(name)
        if kind is None:
            raise UnknownName("filter", name, tuple(FILTERABLE_FIELDS))
        if kind == "boolean" and (wrong := [value for value in values if value not in BOOLEANS]):
            raise UsageError(f"filter '{name}' must be true or false, not '{wrong[0]}'")
    for glob in (*filters.paths.include, *filters.paths.exclude):
        check_glob(glob)


def accepted_values(name: str, values: Sequence[str]) -> tuple[str, ...]:
    """Return the stored values that a filter on ``name`` accepts; ``language: config`` expands to its family."""
    family = CONFIG_LANGUAGES if name == "language" and "config" in values else ()
    return tuple(dict.fromkeys((*values, *family)))


def symbol_keys(chunk: Chunk) -> dict[str, int]:
    """Return the lower-case names by which the symbol channel finds a chunk, each with its rank (3 is best)."""
    keys = {name.lower(): 1 for name in chunk.defines}
    if chunk.qualified_name:
        keys[(re.split(r"[.#/\\]|::", chunk.qualified_name)[-1] or chunk.qualified_name).lower()] = 2
    if chunk.symbol_name:
        keys[chunk.symbol_name.lower()] = 3
    return keys


def path_tails(path: str) -> tuple[str, ...]:
    """Return the lower-case tails by which the path channel finds a path: whole segments, shortest tail first."""
    segments = path.lower().split("/")
    last = max(0, len(segments) - MAX_TAILS)
    return tuple("/".join(segments[start:]) for start in range(len(segments) - 1, last - 1, -1))


@dataclass(frozen=True, slots=True)
class _Dialect:
    """How a regex engine writes an atomic group and a lazy star."""

    group: str
    least: str


# Automata need neither. A backtracking engine needs both, or `*a*a*a*a*b` takes exponential time. Taking the first
# match of a piece is always right: the star after it can match whatever the star before it could have matched.
_COMMON = _Dialect("(", "*")
_BACKTRACKING = _Dialect("(?>", "*?")
_FOLDERS = "([^/]+/)*"


def glob_to_regex(glob: str) -> str:
    """Translate a path glob into a regular expression that must match the whole path.

    It uses only literals (escaped if they are ASCII but not a letter, digit or underscore), ``[…]``, ``[^…]``,
    ``(…)``, ``*``, ``+`` and ``?``, which mean the same in Python's ``re.fullmatch`` and Lucene's regexp, even for
    line breaks. Raise UsageError if the glob is empty, too long or not supported.
    """
    return _translate(glob, _COMMON)


def literal_glob(path: str) -> str:
    """Return the glob that matches only this path, or a name without a slash at any depth."""
    return re.sub(r"([\\\[\]*?!])", r"\\\1", path)


def check_glob(glob: str) -> None:
    """Raise UsageError for a glob that ``glob_to_regex`` refuses, or that has a bracket or a backslash by mistake.

    Grants made before this check still match such characters literally.
    """
    glob_to_regex(glob)
    for segment in glob.split("/"):
        if not _WELL_FORMED.fullmatch(segment):
            fault = "ends with a backslash" if segment.endswith("\\") else "has a bracket that is not closed"
            raise UsageError(
                f"path glob '{glob[:40]}': '{segment[:40]}' {fault}; write \\[ or \\\\ for the character itself"
            )


@lru_cache(maxsize=256)
def compile_glob(glob: str) -> re.Pattern[str]:
    """Compile a glob for ``fullmatch``; it matches the same paths as ``glob_to_regex`` but never backtracks far."""
    return re.compile(_translate(glob, _BACKTRACKING))


def path_matches(globs: PathGlobs, path: str) -> bool:
    """Return whether a path matches any of ``include`` (or ``include`` is empty) and none of ``exclude``."""
    included = not globs.include or any(compile_glob(glob).fullmatch(path) for glob in globs.include)
    return included and not any(compile_glob(glob).fullmatch(path) for glob in globs.exclude)


def _translate(glob: str, dialect: _Dialect) -> str:
    body = glob.removeprefix("./")
    if not body:
        raise UsageError("a path glob is empty; omit it to match every path")
    segments = [segment for segment in body.split("/") if segment]
    if "/" not in body.rstrip("/"):
        segments.insert(0, "**")
    regex = _join(_split_at_double_stars(segments, dialect), body.endswith("/"), dialect)
    if len(regex) > MAX_REGEX_CHARACTERS:
        raise UsageError(f"path glob '{glob[:40]}…' is too long; use several shorter globs")
    return regex


def _split_at_double_stars(segments: Sequence[str], dialect: _Dialect) -> list[str]:
    """Return the expressions before, between and after the ``**`` segments."""
    pieces: list[list[str]] = [[]]
    for segment in segments:
        if segment != "**":
            pieces[-1].append(_segment(segment, dialect))
        elif len(pieces) == 1 or pieces[-1]:
            pieces.append([])
    return ["/".join(piece) for piece in pieces]


def _join(pieces: Sequence[str], only_folders: bool, dialect: _Dialect) -> str:
    """Join the pieces with any number of folders between them, and match everything below the last piece."""
    first, *others = pieces
    *middle, last = others or [first]
    start = f"{first}/" if others and first else ""
    inner = "".join(f"{dialect.group}([^/]+/){dialect.least}{piece}/)" for piece in middle)
    folders = _FOLDERS if others or not last else ""
    below = f"(/{_FOLDERS}[^/]+)" + ("" if only_folders else "?")
    anything = "[^/]+/[^/]+" if only_folders and others else "[^/]+"
    return f"{start}{inner}{folders}" + (f"{last}{below}" if last else anything)


def _segment(segment: str, dialect: _Dialect) -> str:
    """Translate one path segment; a run of stars counts as one star."""
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
    """Translate the inside of ``[…]``; it never matches a slash."""
    negated = inside[0] in "!^"
    chars = inside[1:] if negated else inside
    if "[:" in chars or "\\" in chars:
        raise UsageError(f"path glob: [{inside}] is not supported; use characters or ranges, as in [a-z0-9_]")
    ranges = re.findall(r"(.)-(.)|(.)", chars, re.DOTALL)
    members = "".join(_range(low, high) if low else _literal(single) for low, high, single in ranges)
    return f"[^/{members}]" if negated else f"[{members}]"


def _range(low: str, high: str) -> str:
    if low > high:
        raise UsageError(f"path glob: the range {low}-{high} is reversed")
    if low < "/" < high:
        return f"{_literal(low)}-\\.0-{_literal(high)}"
    return f"{_literal(low)}-{_literal(high)}"
