"""Where a declaration is: which versions have it with the same text, and which with another text."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from codequarry.search_api.answers.hits import HitVariant, HitVersion
from codequarry.search_api.ranking.declarations import (
    Declarations,
    VersionedDeclaration,
    family_of,
    text_of,
)
from codequarry.search_api.versions.membership import records_by_version, versions_by_blob
from codequarry.search_api.versions.scope import VersionScope
from codequarry.search_api.versions.views import View
from codequarry.shared.model import Chunk, Filters
from codequarry.shared.store.port import RowReader

# More chunks than the texts of two hundred declarations in hundreds of versions.
MAX_LOOKED_UP = 100_000


@dataclass(frozen=True, slots=True)
class HitPlacement:
    """A chunk in the first of the versions that have its text.

    ``versions`` have the same text of the declaration, ``variants`` another one; None if one version was searched.
    """

    chunk: Chunk
    view: View | None = None
    versions: tuple[HitVersion, ...] | None = None
    variants: tuple[HitVariant, ...] | None = None


@dataclass(frozen=True, slots=True)
class FoundDeclaration:
    """A chunk that was found, and the chunks of its declaration that were found too, with their scores by id."""

    chunk: Chunk
    others: tuple[Chunk, ...] = ()
    scores: Mapping[str, float] = field(default_factory=dict)


def placements(
    store: RowReader, scope: VersionScope, shown: Sequence[FoundDeclaration], found: Iterable[FoundDeclaration]
) -> dict[str, HitPlacement]:
    """Return where each shown declaration is, by the id of its chunk; ``found`` are all declarations that were found.

    Only repositories of which the scope has several versions need the store.
    """
    by_repo: dict[str, list[FoundDeclaration]] = {}
    for item in shown:
        by_repo.setdefault(item.chunk.repo, []).append(item)
    everything = list(found)
    placed: dict[str, HitPlacement] = {}
    for repo, items in by_repo.items():
        views = scope.searched(repo)
        if len(views) > 1:
            placed |= _Repository(store, scope, repo, views).placements(items, everything)
        else:
            placed |= {item.chunk.id: HitPlacement(item.chunk, views[0] if views else None) for item in items}
    return placed


@dataclass(frozen=True, slots=True)
class _Repository:
    """Several versions of one repository."""

    store: RowReader
    scope: VersionScope
    repo: str
    views: Sequence[View]

    def placements(
        self, shown: Sequence[FoundDeclaration], found: Iterable[FoundDeclaration]
    ) -> Iterator[tuple[str, HitPlacement]]:
        paths = {item.chunk.path for item in shown}
        records = records_by_version(self.store, self.views, self.scope.hidden, paths)
        holders = {path: versions_by_blob(of_path) for path, of_path in records.items()}
        changed = {path for path, blobs in holders.items() if len(blobs) > 1}
        in_changed = [item.chunk for item in shown if item.chunk.path in changed]
        families = {family_of(chunk) for chunk in in_changed}
        declarations = Declarations()
        for item in found:
            if family_of(item.chunk) in families:
                declarations.add_declaration((item.chunk, *item.others))
        declarations.add(self._other_texts(in_changed, holders), again=True)
        for item in shown:
            if item.chunk.path in changed:
                declaration = declarations.of(item.chunk)
            else:
                declaration = VersionedDeclaration()
                declaration.put(item.chunk)
            yield item.chunk.id, self._placement(item, declaration, holders[item.chunk.path])

    def _other_texts(self, shown: Sequence[Chunk], holders: Mapping[str, Mapping[str, Sequence[int]]]) -> list[Chunk]:
        """Return the chunks of some declarations in all versions, by the first version that has the file."""
        families = set(map(family_of, shown))
        first = {
            (path, blob): positions[0]
            for path in {chunk.path for chunk in shown}
            for blob, positions in holders[path].items()
        }
        # A chunk without a qualified name is identified by its symbol's name, or else by its type and text. Many chunks
        # have its type, so each field is looked up only in the files whose chunks need it.
        by_field: dict[str, list[Chunk]] = {}
        for chunk in shown:
            name = "qualified_name" if chunk.qualified_name else "symbol_name" if chunk.symbol_name else "symbol_type"
            by_field.setdefault(name, []).append(chunk)
        chunks: dict[str, Chunk] = {}
        for field_name, identified in by_field.items():
            values = tuple(sorted({getattr(chunk, field_name) for chunk in identified}))
            blobs = tuple(sorted({blob for path in {chunk.path for chunk in identified} for blob in holders[path]}))
            terms = (("repo", (self.repo,)), ("blob", blobs), (field_name, values))
            found = self.store.find(self.scope.snapshot, Filters(terms=terms), MAX_LOOKED_UP)
            chunks |= {chunk.id: chunk for chunk in found if family_of(chunk) in families}
        known = [chunk for chunk in chunks.values() if (chunk.path, chunk.blob) in first]
        return sorted(known, key=lambda chunk: (first[chunk.path, chunk.blob], chunk.ordinal, chunk.start_char))

    def _placement(
        self, item: FoundDeclaration, declaration: VersionedDeclaration, holders: Mapping[str, Sequence[int]]
    ) -> HitPlacement:
        held = {text: _places(chunks, holders) for text, chunks in declaration.texts.items()}
        same = held.pop(text_of(item.chunk))
        others = sorted(((places, text) for text, places in held.items() if places), key=lambda other: other[0][0][0])
        variants = tuple(self._variant(places, item, declaration.texts[text]) for places, text in others)
        if not same:
            return HitPlacement(item.chunk, None, (), variants)
        first, chunk = same[0]
        # The strides of a chunk are found by their vectors, so only the chunk that was found has the right one.
        shown = item.chunk if item.chunk.stride_info else chunk
        return HitPlacement(shown, self.views[first], self._versions(same), variants)

    def _variant(
        self, places: Sequence[tuple[int, Chunk]], item: FoundDeclaration, chunks: Iterable[Chunk]
    ) -> HitVariant:
        scores = [item.scores[chunk.id] for chunk in chunks if chunk.id in item.scores]
        chunk = places[0][1]
        return HitVariant(
            versions=self._versions(places),
            id=chunk.id,
            blob=chunk.blob,
            content_hash=chunk.content_hash,
            start_line=chunk.start_line,
            end_line=chunk.end_line,
            score=max(scores, default=None),
        )

    def _versions(self, places: Sequence[tuple[int, Chunk]]) -> tuple[HitVersion, ...]:
        return tuple(
            HitVersion(self.views[position].ref.name, self.views[position].commit, chunk.start_line, chunk.end_line)
            for position, chunk in places
        )


def _places(chunks: Sequence[Chunk], holders: Mapping[str, Sequence[int]]) -> list[tuple[int, Chunk]]:
    """Return the versions that have any of the chunks, each with the first of its chunks, in order."""
    found: dict[int, Chunk] = {}
    for chunk in chunks:
        for position in holders.get(chunk.blob, ()):
            found.setdefault(position, chunk)
    return sorted(found.items(), key=lambda place: place[0])
