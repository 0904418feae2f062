"""Readers: they take H and O once, read rows in several later steps, and compare the rows with the truth."""

from collections import Counter

from codequarry.shared.model import Snapshot
from codequarry.shared.versions.head import Head
from codequarry.shared.versions.snapshots import head_snapshot
from tests.property.simulator.rules import Rule
from tests.property.simulator.world import GRACE, Steps, Violation, World

Seen = Counter[tuple[str, int]]


def read_head(world: World) -> Steps:
    """Read every repository at head: each must show the one commit that its default timeline had."""
    yield
    head = world.head
    rows = yield from _read(world, head, lambda head: head_snapshot(head), dict(head.defaults), head)
    if rows is None:
        return
    for repo, timeline in head.defaults.items():
        state = head.timelines[timeline]
        if state.published:
            _compare(world, f"head of {repo}", rows[timeline], int(state.commit))


def read_version(world: World) -> Steps:
    """Read one published commit of one timeline, possibly an overlay."""
    yield
    head = world.head
    overlays_only = world.chance.random() < world.habits.overlay_reads
    choices = [
        (key, number)
        for key, state in head.timelines.items()
        if state.pins or not overlays_only
        for number in world.retained(head, key)
    ]
    if not choices:
        return
    timeline, number = world.chance.choice(choices)
    yield from check_version(world, head, timeline, number)


def check_version(world: World, head: Head, timeline: int, number: int) -> Steps:
    snapshot = world.snapshot_of(head, timeline, number)
    layers = [layer.timelines[0] for layer in snapshot.layers]
    rows = yield from _read(world, head, lambda head: world.snapshot_of(head, timeline, number), layers, head)
    if rows is not None:
        seen = sum((rows[layer] for layer in set(layers)), Counter())
        _compare(world, f"transaction {number} of timeline {timeline}", seen, world.commits[number])


def _read(world: World, head: Head, snapshot_of, timelines, first: Head) -> Steps:
    """Read path by path; return the rows by timeline, or None if the read took longer than a request may."""
    since = world.clock
    rows: dict[int, Seen] = {}
    for timeline in timelines.values() if isinstance(timelines, dict) else timelines:
        rows[timeline] = Counter()
    paths = list(world.habits.paths)
    world.chance.shuffle(paths)
    snapshot: Snapshot = snapshot_of(first)
    for path in paths:
        yield
        if world.clock - since > GRACE:
            return None
        if not world.keeps(Rule.LOOKED_UP_ONCE):
            snapshot = snapshot_of(world.head)
        for row in world.rows.live(snapshot, (path,)):
            rows.setdefault(row.timeline, Counter())[row.path, row.blob] += 1
    world.events["read"] += 1
    return rows


def _compare(world: World, what: str, seen: Seen, commit: int) -> None:
    expected = world.expected(commit)
    if seen != expected:
        raise Violation(f"{what} shows {dict(seen)}, commit {commit} holds {dict(expected)}")


def audit(world: World) -> None:
    """Check every commit that can be read, after all rows have become visible."""
    world.rows.refresh()
    head = world.head
    for timeline in head.timelines:
        for number in world.retained(head, timeline):
            for _ in check_version(world, head, timeline, number):
                pass
    for _ in read_head(world):
        pass
