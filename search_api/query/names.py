"""Names of symbols and files in a query, recognised by their form."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

# A dotted, arrowed or scoped chain of identifiers: `Foo::bar`, `user.save`, `a->b`, `Array#map`, `$var`, `save!`.
_CHAIN = re.compile(r"[A-Za-z_$@~][\w$]*(?:(?:\.|::|->|#|\\)[~A-Za-z_$@][\w$]*)*[!?]?")
_SEPARATOR = re.compile(r"\.|::|->|#|\\")
_CAMEL = re.compile(r"[a-z0-9][A-Z]|[A-Z]{2}[a-z]")
_PATH = re.compile(
    r"(?<![\w:/])(?:[\w@.+-]+/)*[\w@+-][\w@.+-]*\.[A-Za-z][A-Za-z0-9]{0,4}(?![\w/])|(?<![\w:/])(?:[\w@.+-]+/)+[\w@.+-]+"
)
_URL = re.compile(r"(?<!\w)\w+://\S+")
# A query with more names is pasted code: its words are searched, but further names are not looked up.
MAX_NAMES = 16
# An extension makes `util.go` a file, not the member `go` of `util`.
_EXTENSIONS = """
c cc cfg clj cmake conf cpp cs css csv cxx dart ex exs fs go gradle h hpp hs htm html ini ipynb java js json jsx kt kts
less lock lua m md mjs mm mod php pl proto ps1 py pyi rb rs rst scala scss sh sql sum svelte swift tf toml ts tsx txt
vue xml yaml yml zig
"""
EXTENSIONS = frozenset(_EXTENSIONS.split())
# Longer text is pasted code; names and paths are read only from its beginning.
MAX_READ_CHARACTERS = 1_000
# A query of at most this many words may be a name even if it looks like an ordinary word.
MAX_BARE_NAME_WORDS = 1


@dataclass(frozen=True, slots=True)
class Name:
    """A symbol named in a query: its last part, and the parts before it, outermost first."""

    last: str
    scope: tuple[str, ...] = ()

    @property
    def qualified(self) -> str:
        """The whole name with dots between its parts."""
        return ".".join((*self.scope, self.last))


def find_names(text: str) -> tuple[Name, ...]:
    """Return the identifiers in a query, in order; a single bare word counts as a name too."""
    is_bare = len(text.split()) <= MAX_BARE_NAME_WORDS
    found: dict[Name, None] = {}
    for match in _CHAIN.finditer(text[:MAX_READ_CHARACTERS]):
        written = match.group()
        called = text[match.end() : match.end() + 1] == "("
        if is_bare or called or looks_like_identifier(written):
            found |= dict.fromkeys(_readings(written, is_bare))
    return tuple(found)[:MAX_NAMES]


def _readings(written: str, is_bare: bool) -> Iterator[Name]:
    """Yield possible readings of a name: a final `?` may end the question or belong to the name (Ruby's `empty?`)."""
    asked = (written,) if is_bare else tuple(dict.fromkeys((written.rstrip("!?"), written)))
    for reading in asked:
        name = split_name(reading)
        if name is not None and (is_bare or not _is_file_or_abbreviation(name)):
            yield name


def _is_file_or_abbreviation(name: Name) -> bool:
    """Return whether a dotted name is a file or an abbreviation: `util.go`, `e.g.`."""
    last = name.last.rstrip("!?").lower()
    return bool(name.scope) and (len(last) == 1 or (len(name.scope) == 1 and last in EXTENSIONS))


def looks_like_identifier(word: str) -> bool:
    """Return whether a word has the form of an identifier: ``camelCase``, ``snake_case``, ``a.b``, ``A::b``, ``$x``."""
    return bool(
        "_" in word.strip("_") or word.startswith(("_", "$", "@")) or _CAMEL.search(word) or _SEPARATOR.search(word)
    )


def split_name(written: str) -> Name | None:
    """Split a qualified name into parts; return None if its last part has no letter."""
    parts = [part.lstrip("$@") for part in _SEPARATOR.split(written)]
    parts = [part for part in parts if part]
    if not parts or not any(char.isalpha() for char in parts[-1]):
        return None
    return Name(parts[-1], tuple(parts[:-1]))


def find_paths(text: str) -> tuple[str, ...]:
    """Return the words that look like file names or path tails, lower-case, in order."""
    found = {
        match.group().strip("./").lower(): None for match in _PATH.finditer(_URL.sub(" ", text[:MAX_READ_CHARACTERS]))
    }
    return tuple(path for path in found if path)[:MAX_NAMES]


def symbol_queries(names: Iterable[Name]) -> tuple[str, ...]:
    """Return the lower-case names to look up in the symbol channel; keys of configuration are also found in full."""
    looked_up = (part.lower() for name in names for part in (name.last, name.qualified))
    return tuple(dict.fromkeys(looked_up))
