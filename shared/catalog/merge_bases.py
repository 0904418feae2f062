"""The merge bases of commits that git has found: facts that never change, kept in one document per repository."""

from collections.abc import Iterable, Sequence
from dataclasses import astuple, dataclass

from codequarry.shared.catalog.documents import write_settled
from codequarry.shared.errors import Conflict
from codequarry.shared.store.port import DocumentStore
from codequarry.shared.store.records import Document

MERGE_BASES_PREFIX = "merge-bases:"
# The oldest facts are dropped beyond this number; git finds them again. A fact takes about 140 bytes.
MOST_KEPT = 1_000


@dataclass(frozen=True, slots=True)
class MergeBase:
    """The merge base of two commits, as ``git diff one...other`` takes it; "" if they have no common history.

    ``is_only`` is False if git found several (a criss-cross merge): which of them comes first may then depend on the
    order of the two commits.
    """

    one: str
    other: str
    commit: str
    is_only: bool = True

    def answers(self, one: str, other: str) -> bool:
        """Return whether this is the merge base of ``one`` and ``other``, in this order."""
        return (self.one, self.other) == (one, other) or (self.is_only and (self.one, self.other) == (other, one))


def read_merge_base(store: DocumentStore, repo_id: str, one: str, other: str) -> str | None:
    """Return the merge base of two commits, "" if they have no common history, or None if git was not asked yet."""
    return known_merge_base(read_merge_bases(store, repo_id), one, other)


def known_merge_base(known: Iterable[MergeBase], one: str, other: str) -> str | None:
    """Return the merge base of two commits among ``known``, "" for no common history, or None if it is not there."""
    if one == other:
        return one
    return next((found.commit for found in known if found.answers(one, other)), None)


def read_merge_bases(store: DocumentStore, repo_id: str) -> tuple[MergeBase, ...]:
    """Return the known merge bases of a repository, newest first."""
    return _of(store.read_document(MERGE_BASES_PREFIX + repo_id)) if repo_id else ()


def save_merge_bases(store: DocumentStore, repo_id: str, found: Sequence[MergeBase]) -> None:
    """Add merge bases to those of a repository; the oldest are dropped beyond ``MOST_KEPT``."""
    key = MERGE_BASES_PREFIX + repo_id
    while found and repo_id:
        document = store.read_document(key)
        known = _of(document)
        kept = list(dict.fromkeys((*found, *known)))[:MOST_KEPT]
        if set(kept) == set(known):
            return
        try:
            write_settled(store, key, {"found": list(map(astuple, kept))}, document.version if document else None)
        except Conflict:
            continue
        return


def forget_merge_bases(store: DocumentStore, repo_id: str) -> None:
    """Delete the merge bases of a repository that is gone."""
    store.delete_document(MERGE_BASES_PREFIX + repo_id)


def _of(document: Document | None) -> tuple[MergeBase, ...]:
    listed = document.body.get("found") if document else ()
    return tuple(MergeBase(*entry) for entry in listed) if isinstance(listed, list | tuple) else ()
