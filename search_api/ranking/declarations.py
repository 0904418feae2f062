"""Declarations: chunks of several versions of a file that are the same piece of code, whatever changed around it.

Chunks of one path with the same name and type are one declaration, each text of it in any number of file versions. If a
file has several such chunks (overloads, the parts of a long symbol), those with the same text belong together, then the
most similar ones. Chunks without a name are the same piece only if they have the same text or much of it.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby

from codequarry.shared.model import Chunk

# Two chunks without names are the same piece of a file in two versions if at least this share of their lines is equal.
MIN_LIKENESS = 0.25

DeclarationFamily = tuple[str, str, str, str]
"""The repository, path, name ("" if there is none) and type that the chunks of a declaration have in common."""


def family_of(chunk: Chunk) -> DeclarationFamily:
    """Return what a chunk has in common with the other texts of its declaration."""
    return chunk.repo, chunk.path, chunk.qualified_name or chunk.symbol_name or "", chunk.symbol_type


def text_of(chunk: Chunk) -> str:
    """Return the text that decides whether two versions have the same: without the blank lines around it.

    These belong to a chunk or not depending on what follows; a vector is that of the text without them too.
    """
    return chunk.text.rstrip().lstrip("\r\n")


def likeness(first: str, second: str) -> float:
    """Return the share of lines that both texts have, 0 to 1, in time linear in their length."""
    return _shared(_lines(first), _lines(second))


def _lines(text: str) -> frozenset[str]:
    return frozenset(map(str.strip, text.split("\n"))) - {""}


def _shared(lines: frozenset[str], others: frozenset[str]) -> float:
    common = len(lines & others)
    return common / max(1, len(lines) + len(others) - common)


@dataclass(slots=True)
class VersionedDeclaration:
    """One declaration: its chunks by text (``text_of``), usually one chunk of each file version."""

    texts: dict[str, list[Chunk]] = field(default_factory=dict)
    blobs: set[str] = field(default_factory=set)
    _first_lines: frozenset[str] | None = None

    def put(self, chunk: Chunk) -> None:
        """Add a chunk of a file version that the declaration lacks."""
        self.texts.setdefault(text_of(chunk), []).append(chunk)
        self.blobs.add(chunk.blob)

    def likeness(self, chunk: Chunk, lines: frozenset[str]) -> float:
        """Return how similar a chunk, whose lines are given, is to the first text."""
        first = next(iter(self.texts.values()))[0]
        if not family_of(chunk)[2] and set(first.defines) & set(chunk.defines):
            return 1.0
        # Hundreds of versions of a file compare their chunks with the same first text.
        if self._first_lines is None:
            self._first_lines = _lines(first.text)
        return _shared(self._first_lines, lines)


@dataclass(slots=True)
class _DeclarationsOfFamily:
    all: list[VersionedDeclaration] = field(default_factory=list)
    by_text: dict[str, list[VersionedDeclaration]] = field(default_factory=dict)

    def put(self, chunk: Chunk, declaration: VersionedDeclaration | None) -> VersionedDeclaration:
        if declaration is None:
            declaration = VersionedDeclaration()
            self.all.append(declaration)
        if text_of(chunk) not in declaration.texts:
            self.by_text.setdefault(text_of(chunk), []).append(declaration)
        declaration.put(chunk)
        return declaration

    def with_text(self, chunk: Chunk, *, again: bool) -> VersionedDeclaration | None:
        fitting = self.by_text.get(text_of(chunk), [])
        free = (known for known in fitting if chunk.blob not in known.blobs)
        return next(free, fitting[0] if again and fitting else None)

    def most_alike(self, chunk: Chunk) -> VersionedDeclaration | None:
        free = [known for known in self.all if chunk.blob not in known.blobs]
        named = bool(family_of(chunk)[2])
        if len(free) == 1 and named:
            return free[0]
        lines = _lines(chunk.text)
        likenesses = [known.likeness(chunk, lines) for known in free]
        best = max(likenesses, default=0.0)
        return free[likenesses.index(best)] if free and (named or best >= MIN_LIKENESS) else None


class Declarations:
    """The declarations of some chunks."""

    def __init__(self) -> None:
        self._families: dict[DeclarationFamily, _DeclarationsOfFamily] = {}
        self._of_chunk: dict[str, VersionedDeclaration] = {}

    def of(self, chunk: Chunk) -> VersionedDeclaration:
        """Return the declaration of a chunk that was added."""
        return self._of_chunk[chunk.id]

    def add_declaration(self, chunks: Iterable[Chunk]) -> None:
        """Add chunks that are known to be one declaration."""
        declaration = None
        for chunk in chunks:
            family = self._families.setdefault(family_of(chunk), _DeclarationsOfFamily())
            declaration = self._of_chunk[chunk.id] = family.put(chunk, declaration)

    def add(self, chunks: Iterable[Chunk], *, again: bool = False) -> None:
        """Add chunks, and decide which declaration each of them is; the file versions that come first decide first.

        If a declaration has the text of a chunk but has a chunk of that file version too, the chunk is another
        declaration, or with ``again`` the same one: a search finds equal texts only once.
        """
        for family, of_version in _by_family_and_version(chunk for chunk in chunks if chunk.id not in self._of_chunk):
            known = self._families.setdefault(family, _DeclarationsOfFamily())
            changed = []
            for chunk in of_version:
                if same := known.with_text(chunk, again=again):
                    self._of_chunk[chunk.id] = known.put(chunk, same)
                else:
                    changed.append(chunk)
            for chunk in changed:
                self._of_chunk[chunk.id] = known.put(chunk, known.most_alike(chunk))


def _by_family_and_version(chunks: Iterable[Chunk]) -> Iterator[tuple[DeclarationFamily, Sequence[Chunk]]]:
    """Yield the chunks of each family and file version in file order; families and versions in order of appearance."""
    families: dict[DeclarationFamily, dict[str, list[Chunk]]] = {}
    for chunk in chunks:
        families.setdefault(family_of(chunk), {}).setdefault(chunk.blob, []).append(chunk)
    for family, versions in families.items():
        for of_version in versions.values():
            yield family, sorted(of_version, key=lambda chunk: (chunk.ordinal, chunk.start_char))


def of_several_versions(chunks: Iterable[Chunk]) -> bool:
    """Return whether any path has chunks of several file versions."""
    places = sorted({(chunk.repo, chunk.path, chunk.blob) for chunk in chunks})
    return any(len(list(versions)) > 1 for _, versions in groupby(places, key=lambda place: place[:2]))
