"""The query language: plain text, ``word:value`` filters, "exact phrases" and ``-`` before a filter.

An unknown filter is an error that names it; it is never ignored. But a query may also be code, so the rule for a filter
is narrow. A filter stands at the start of a word (after an optional ``-``): two or more lower-case letters, one colon,
and directly after it a value that does not begin with ``:``, ``//``, or a digit. So ``std::vector``, ``http://host``,
``localhost:8080`` and ``error: not found`` are text. An unknown filter is also text if the query has code punctuation
or the value contains another colon (``urn:isbn:1``). Otherwise it is rejected; quotes turn it into searchable text.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from codequarry.search_api.query.commit_filters import TYPE, TYPES
from codequarry.shared.errors import UnknownName, UsageError
from codequarry.shared.model import CODE_TYPES, KINDS_OF_FILE

FILTER_WORDS: tuple[str, ...] = (
    "repo", "lang", "path", "symbol", "kind", "ref", "branch", "tag", "commit",
    "type", "author", "since", "until",
)  # fmt: skip
FILTER_ALIASES: Mapping[str, str] = MappingProxyType(
    {"language": "lang", "file": "path", "repository": "repo", "after": "since", "before": "until"}
)
# Common names of languages whose id is different.
LANGUAGE_ALIASES: Mapping[str, str] = MappingProxyType(
    {
        "py": "python", "js": "javascript", "jsx": "javascript", "ts": "typescript", "tsx": "typescript",
        "golang": "go", "rb": "ruby", "rs": "rust", "kt": "kotlin", "cs": "csharp", "c#": "csharp", "c++": "cpp",
        "sh": "bash", "shell": "bash", "md": "markdown", "yml": "yaml",
    }
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Clause:
    """A ``word:value`` in a query; ``negated`` if a ``-`` precedes it."""

    word: str
    value: str
    negated: bool = False


@dataclass(frozen=True, slots=True)
class ParsedQuery:
    """A parsed query. ``text`` is the remaining text to search for, including phrases without their quotes."""

    text: str
    phrases: tuple[str, ...] = ()
    clauses: tuple[Clause, ...] = field(default=())


_PIECE = re.compile(
    r"""(?P<clause>(?<!\S)(?P<negated>-?)(?P<word>[a-z]{2,}):(?P<value>"[^"]*"|(?!:|//|\s|")\S+))"""
    r"""|(?P<negative>(?<!\S)-"[^"]*")"""
    r"""|(?P<regex>(?<!\S)/(?:[^/\s\\]|\\.)+/[a-z]*(?!\S))"""
    r"""|(?<![\w"])"(?P<phrase>[^"]*)"(?![\w"])""",
)
_REGEX = re.compile(r"[\\\[\](){}.*+?^$|]")
_CODE_PUNCTUATION = re.compile(r"[{}();=<>\[\]]")


def parse_query(query: str) -> ParsedQuery:
    """Parse a query; raise UnknownName for an unknown filter, UsageError for unsupported syntax."""
    text: list[str] = []
    phrases: list[str] = []
    clauses: list[Clause] = []
    is_code = bool(_CODE_PUNCTUATION.search(query))
    position = 0
    for match in _PIECE.finditer(query):
        text.append(query[position : match.start()])
        position = match.end()
        clause = _read_clause(match, is_code)
        if clause is not None:
            clauses.append(clause)
        elif match["phrase"] is not None:
            phrases.extend(_phrase(match["phrase"]))
            text.append(match["phrase"])
        else:
            text.append(match.group())
    text.append(query[position:])
    return ParsedQuery(" ".join("".join(text).split()), tuple(phrases), tuple(clauses))


def _phrase(quoted: str) -> Iterator[str]:
    if quoted.strip():
        yield quoted


def _read_clause(match: re.Match[str], is_code: bool) -> Clause | None:
    """Return the filter in a match, or None if it is text; raise UsageError for unsupported syntax."""
    if match["negative"]:
        raise UsageError('phrases can\'t be excluded yet; remove the - before the "quotes"')
    if match["regex"] and _is_regex(match):
        raise UsageError(f"regular expressions are not available yet: {match['regex']}; quote it to search for it")
    if not match["clause"]:
        return None
    word = FILTER_ALIASES.get(match["word"], match["word"])
    value = match["value"].strip('"')
    if word in FILTER_WORDS and not (is_code and word == TYPE and value not in TYPES):
        if not value:
            raise UsageError(f"the filter '{word}:' has no value")
        return Clause(word, value, bool(match["negated"]))
    if is_code or _is_plain_text(match["value"]):
        return None
    raise UnknownName("filter", word, FILTER_WORDS)


def _is_regex(match: re.Match[str]) -> bool:
    """Return whether a piece is a regular expression: outside code, it has a metacharacter or is the whole query."""
    around = match.string[: match.start()] + match.string[match.end() :]
    return not _CODE_PUNCTUATION.search(around) and (not around.strip() or bool(_REGEX.search(match["regex"])))


def _is_plain_text(value: str) -> bool:
    """Return whether a value can't be a filter's: it is a port, line number, version, path, or name with colons."""
    return value[0].isdigit() or value[0] in "/\\" or ":" in value


def language_id(name: str) -> str:
    """Return the id of the language with this name."""
    return LANGUAGE_ALIASES.get(name.lower(), name.lower())


def kind_field(value: str) -> str:
    """Return the field that ``kind:value`` filters on; raise UnknownName for an unknown kind."""
    if value in CODE_TYPES:
        return "symbol_type"
    if value in KINDS_OF_FILE:
        return "kind_of_file"
    raise UnknownName("kind", value, (*CODE_TYPES, *(kind for kind in KINDS_OF_FILE if kind not in CODE_TYPES)))
