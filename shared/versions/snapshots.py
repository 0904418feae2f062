"""Snapshots: versions as filters. Pure functions; the rules are in docs/versioned-index.md."""

from collections.abc import Iterable

from codequarry.shared.filters import path_matches
from codequarry.shared.model import Layer, Snapshot
from codequarry.shared.versions.commit_log import log_timeline
from codequarry.shared.versions.head import Head
from codequarry.shared.versions.transactions import TransactionRecord

OPEN = 2**31 - 1
"""The ``died`` of a live row: the largest 32-bit integer, above any transaction number."""


def head_snapshot(head: Head, repos: Iterable[str] | None = None) -> Snapshot:
    """Return what readers of head see of ``repos`` (None: all): one layer, however many repositories (rule 11).

    Repositories that the index lacks are left out; a snapshot without timelines is empty.
    """
    wanted = head.defaults if repos is None else {name: head.defaults[name] for name in repos if name in head.defaults}
    timelines = tuple(sorted(key for key in wanted.values() if head.timelines[key].published))
    return Snapshot((Layer(timelines, head.counter, head.hidden),))


def snapshot_at(head: Head, timeline: int, number: int) -> Snapshot:
    """Return what ``timeline`` itself held right after transaction ``number`` (rule 10), without a base."""
    return Snapshot((Layer((timeline,), number, head.hidden),))


def version_layers(record: TransactionRecord, hidden: frozenset[int]) -> tuple[Layer, ...]:
    """Return a published version's layers: a single layer, or an overlay and its base, which has the mask (rule 12)."""
    own = Layer((record.timeline,), record.number, hidden)
    if record.base is None:
        return (own,)
    timeline, number = record.base
    return own, Layer((timeline,), number, hidden, frozenset(record.mask))


def version_snapshot(head: Head, record: TransactionRecord) -> Snapshot:
    """Return what readers see of the version that a transaction published."""
    return Snapshot(version_layers(record, head.hidden))


def log_snapshot(head: Head, record: TransactionRecord) -> Snapshot:
    """Return the commits of the version that a transaction published, as readers of all of its paths see them."""
    own = Layer((log_timeline(record.timeline),), record.number, head.hidden)
    if record.log_base is None:
        return Snapshot((own,))
    timeline, number = record.log_base
    mask = frozenset(record.log_mask or ())
    return Snapshot((own, Layer((log_timeline(timeline),), number, head.hidden, mask)))


def draft_snapshot(head: Head, record: TransactionRecord) -> Snapshot:
    """Return what readers will see once the open transaction of ``record`` is published."""
    return Snapshot(version_layers(record, head.hidden - {record.number}))


def is_live(layer: Layer, timeline: int, born: int, died: int, path: str) -> bool:
    """Return whether a row is in ``layer``; both stores' filters are tested against this definition."""
    return (
        timeline in layer.timelines
        and path not in layer.mask
        and (not layer.allowed or any(path_matches(globs, path) for globs in layer.allowed))
        and born <= layer.at
        and born not in layer.hidden
        and (died > layer.at or died in layer.hidden)
    )
