"""Snapshots: versions as filters. Pure functions; the rules are in docs/versioned-index.md."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from codequarry.shared.filters import path_matches
from codequarry.shared.model import Layer, LayerState, PathGlobs, Snapshot
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


def disjoint(layers: Sequence[Layer]) -> tuple[Layer, ...]:
    """Return the same rows as layers with no timeline in common: one with many states for a timeline in several."""
    by_timeline: dict[int, list[Layer]] = {}
    for layer in layers:
        for timeline in layer.timelines:
            by_timeline.setdefault(timeline, []).append(layer)
    shared = {timeline: found for timeline, found in by_timeline.items() if len(found) > 1}
    if not shared:
        return tuple(layers)
    rest = [
        replace(layer, timelines=tuple(timeline for timeline in layer.timelines if timeline not in shared))
        for layer in layers
    ]
    return (
        *(layer for layer in rest if layer.timelines),
        *(layer for timeline, found in sorted(shared.items()) for layer in _joined(timeline, found)),
    )


def _joined(timeline: int, layers: Sequence[Layer]) -> Iterator[Layer]:
    """Yield one layer of a timeline for all ``layers`` that differ only in their states."""
    groups: dict[tuple[frozenset[int], tuple[PathGlobs, ...]], dict[int, frozenset[str]]] = {}
    for layer in layers:
        masks = groups.setdefault((layer.hidden, layer.allowed), {})
        for state in layer.states:
            # A path is hidden only if every version on this state replaces it.
            known = masks.get(state.at)
            masks[state.at] = state.mask if known is None else known & state.mask
    for (hidden, allowed), masks in groups.items():
        newest, *others = sorted(masks, reverse=True)
        states = tuple(LayerState(number, masks[number]) for number in others)
        yield Layer((timeline,), newest, hidden, masks[newest], allowed, states)


def is_live(layer: Layer, timeline: int, born: int, died: int, path: str) -> bool:
    """Return whether a row is in ``layer``; both stores' filters are tested against this definition."""
    return (
        timeline in layer.timelines
        and (not layer.allowed or any(path_matches(globs, path) for globs in layer.allowed))
        and born not in layer.hidden
        and any(
            born <= state.at and (died > state.at or died in layer.hidden) and path not in state.mask
            for state in layer.states
        )
    )
