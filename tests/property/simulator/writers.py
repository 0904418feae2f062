"""Workers: they take a lease, write, retire, check and publish, and can die or stall at every step."""

from dataclasses import dataclass, replace

from codequarry.shared.errors import Conflict, LeaseHeld
from codequarry.shared.model import Snapshot
from codequarry.shared.versions import transactions
from codequarry.shared.versions.head import Head, Lease, Place, Timeline
from codequarry.shared.versions.snapshots import OPEN
from codequarry.shared.versions.transactions import TransactionRecord
from tests.property.simulator.chores import abandon, discard, drop, end, finish_chores
from tests.property.simulator.rows import CHUNK, RECORD, Row
from tests.property.simulator.rules import Rule
from tests.property.simulator.world import GRACE, LEASE, Steps, World, own_layer, unless_conflict

ROUNDS = 8
BATCH = 2


@dataclass(frozen=True)
class Held:
    """An open transaction whose lease a worker holds."""

    timeline: int
    number: int
    holder: str
    resumed: bool = False


@dataclass(frozen=True)
class Plan:
    """The writes and retirements that bring a timeline to a commit."""

    changed: dict[str, int]
    retired: frozenset[str]
    base: Place | None
    mask: tuple[str, ...]


class Worker:
    """A process that brings a version of a repository to the state of the origin, as ``ingest.run.pipeline`` does."""

    def __init__(self, world: World, repo: str, ref: str, full: bool, spawn) -> None:
        self.world, self.repo, self.ref, self.full, self.spawn = world, repo, ref, full, spawn
        self.name = world.new_name()

    def run(self) -> Steps:
        world = self.world
        yield from finish_chores(world)
        target = world.origin.get((self.repo, self.ref))
        if target is None:
            yield from self._drop_version()
            return
        held = yield from self._acquire(target)
        if held is None:
            return
        try:
            yield from self._transact(held, target)
        except Conflict:
            world.events["lost its lease"] += 1

    def _drop_version(self) -> Steps:
        """Drop a version, or end it, after which its commits can still be read."""
        yield
        leave = end if self.world.chance.random() < 0.5 else drop
        for timeline, state in list(self.world.head.timelines.items()):
            if (state.repo, state.ref) == (self.repo, self.ref):
                yield from leave(self.world, timeline)

    # Acquiring

    def _timelines(self, head: Head) -> dict[int, Timeline]:
        """Return the timelines of this version: the current one and a draft that will replace it."""
        default = head.defaults.get(self.repo)
        return {
            key: state
            for key, state in head.timelines.items()
            if (state.repo, state.ref) == (self.repo, self.ref) and (self.ref or key == default or not state.published)
        }

    def _destination(self, head: Head, full: bool) -> int | None:
        known = self._timelines(head)
        settled = [key for key, state in known.items() if state.published]
        drafts = [key for key, state in known.items() if not state.published]
        if settled and not full:
            return settled[0]
        return drafts[0] if drafts else None

    def _acquire(self, target: int) -> Steps:
        world = self.world
        for _ in range(ROUNDS):
            yield
            head = world.head
            leased = next(((key, state.lease) for key, state in self._timelines(head).items() if state.lease), None)
            if leased is None:
                if not self.full and self._is_published(head, target):
                    return None
                held = yield from self._begin(head, target)
                if held:
                    return held
                continue
            seen = yield from self._await_end(*leased)
            if seen is None:
                return None
            held = Held(leased[0], seen.number, self.name, resumed=True)
            if seen.holder not in world.gone and self._gives_up_silent():
                world.events["silent run undone"] += 1
                yield from self._give_up(replace(held, holder=seen.holder))
                continue
            taken = world.change(lambda head, at=leased[0], was=seen: (self._take_over(head, at, was), None))
            if not (yield from unless_conflict(taken)):
                continue
            if (yield from self._may_resume(held, seen, target)):
                world.events["resumed"] += 1
                return held
            yield from self._give_up(held)
        return None

    def _gives_up_silent(self) -> bool:
        return self.world.keeps(Rule.GIVEN_UP_WITH_LEASE) and self.world.keeps(Rule.SILENT_IS_NOT_RESUMED)

    def _take_over(self, head: Head, timeline: int, seen: Lease) -> Head:
        taken = transactions.take_over(head, timeline, seen, self.name)
        self.world.events["taken over"] += 1
        return taken

    def _is_published(self, head: Head, target: int) -> bool:
        timeline = self._destination(head, full=False)
        return timeline is not None and head.timelines[timeline].commit == str(target)

    def _await_end(self, timeline: int, lease: Lease) -> Steps:
        """Watch a lease by the worker's own clock (rule 8); return None once a beat shows that the holder lives."""
        world = self.world
        since = world.clock
        while lease.holder not in world.gone and world.clock - since < LEASE:
            yield world.clock + LEASE // 4
            state = world.head.timelines.get(timeline)
            if state is None or state.lease != lease:
                return None
        return lease

    def _may_resume(self, held: Held, seen: Lease, target: int) -> Steps:
        world = self.world
        yield
        if seen.holder not in world.gone and world.keeps(Rule.SILENT_IS_NOT_RESUMED):
            return False
        if held.timeline != self._destination(world.head, self.full):
            return False
        record = world.records.get((held.timeline, held.number))
        if record is None and not world.keeps(Rule.RECORD_FIRST):
            return False
        return record is None or record.commit == str(target) or not world.keeps(Rule.FIXED_TARGET)

    def _begin(self, head: Head, target: int) -> Steps:
        """Begin a transaction; an overlay gets a base."""
        world = self.world
        base = self._choose_base(head) if self.ref and not self.full and world.chance.random() < 0.9 else None
        pinned = base if world.keeps(Rule.PINNED_WITH_NUMBER) else None

        def change(head: Head) -> tuple[Head, Held]:
            if any(state.lease for state in self._timelines(head).values()):
                raise LeaseHeld("another run was faster")
            timeline = self._destination(head, full=self.full)
            if timeline is None:
                head, timeline = self._new_timeline(head)
            head, number = self._numbered(head, timeline, pinned)
            return head, Held(timeline, number, self.name)

        try:
            held = yield from world.change(change)
        except (Conflict, LeaseHeld):
            return None
        if not world.keeps(Rule.OPEN_WITH_NUMBER):
            yield from world.change(lambda head: (replace(head, open={**head.open, held.number: held.timeline}), None))
        self._chosen = base
        return held

    def _new_timeline(self, head: Head) -> tuple[Head, int]:
        if self.ref and not self.world.keeps(Rule.NEW_BRANCH_NEW_TIMELINE) and not self._timelines(head):
            timeline = 1_000_000 + sum(map(ord, self.repo + self.ref))
            return replace(head, timelines={**head.timelines, timeline: Timeline(self.repo, ref=self.ref)}), timeline
        return transactions.new_timeline(head, self.repo, self.ref)

    def _numbered(self, head: Head, timeline: int, base: Place | None) -> tuple[Head, int]:
        world = self.world
        if base and not world.keeps(Rule.BASE_IS_NO_OVERLAY) and base[0] in head.timelines:
            pins = head.timelines[base[0]].pins
            bare = replace(head.timelines[base[0]], pins=frozenset())
            head, number = transactions.begin(
                replace(head, timelines={**head.timelines, base[0]: bare}), timeline, self.name, base
            )
            head = replace(head, timelines={**head.timelines, base[0]: replace(head.timelines[base[0]], pins=pins)})
        else:
            head, number = transactions.begin(head, timeline, self.name, base)
        if not world.keeps(Rule.OPEN_WITH_NUMBER):
            head = replace(head, open={key: value for key, value in head.open.items() if key != number})
        return head, number

    def _choose_base(self, head: Head) -> Place | None:
        world = self.world
        overlays_too = not world.keeps(Rule.BASE_IS_NO_OVERLAY)
        places = [
            (key, number)
            for key, state in head.timelines.items()
            if state.repo == self.repo and state.ref != self.ref and (overlays_too or not state.pins)
            for number in world.retained(head, key)[-2:]
        ]
        return world.chance.choice(places) if places else None

    def _give_up(self, held: Held) -> Steps:
        world = self.world
        yield
        state = world.head.timelines.get(held.timeline)
        if state is None:
            return
        if state.published:
            yield from unless_conflict(abandon(world, held.timeline, held.number, held.holder))
        else:
            yield from discard(world, held.timeline, held.number, held.holder)

    # Writing

    def _transact(self, held: Held, target: int) -> Steps:
        world = self.world
        yield
        head = world.head
        state = transactions.check_held(head, held.timeline, held.holder, held.number)
        assert state.lease is not None
        base = state.lease.base if world.keeps(Rule.PINNED_WITH_NUMBER) or held.resumed else self._chosen
        plan = self._plan(head, held, base, target)
        record = TransactionRecord(
            held.timeline, held.number, self.repo, self.ref, str(target), "", 0, "",
            base_timeline=base[0] if base else None, base_number=base[1] if base else None, mask=plan.mask,
        )  # fmt: skip
        yield
        if world.keeps(Rule.RECORD_FIRST):
            world.records.setdefault((held.timeline, held.number), record)
        yield from self._write(held, plan)
        yield
        aborted = world.head.aborted
        if plan.retired:
            yield from world.rows.retire(held.timeline, held.number, plan.retired, aborted)
        yield
        if world.keeps(Rule.REFRESH_FIRST):
            world.rows.refresh()
        yield
        if not self._tallies(held, plan):
            world.events["tally differed"] += 1
            yield from self._give_up(held)
            return
        yield from self._publish(held, target, base)
        world.events["published an overlay" if base else "published"] += 1
        yield
        world.records.setdefault((held.timeline, held.number), record)

    def _plan(self, head: Head, held: Held, base: Place | None, target: int) -> Plan:
        world = self.world
        published = head.timelines[held.timeline].published
        own = dict(world.records_in(own_layer(head, held.timeline, published))) if published else {}
        below = dict(world.records_in(self._base_snapshot(head, base))) if base else {}
        tree = world.trees[target]
        wanted = {path: blob for path, blob in tree.items() if below.get(path) != blob}
        mask = tuple(path for path, blob in below.items() if tree.get(path) != blob)
        changed = {path: blob for path, blob in wanted.items() if own.get(path) != blob}
        retired = frozenset(path for path, blob in own.items() if wanted.get(path) != blob)
        return Plan(changed, retired, base, mask)

    def _base_snapshot(self, head: Head, base: Place) -> Snapshot:
        if self.world.keeps(Rule.BASE_IS_NO_OVERLAY):
            return own_layer(head, *base)
        return self.world.snapshot_of(head, *base)

    def _write(self, held: Held, plan: Plan) -> Steps:
        world = self.world
        if held.resumed:
            world.rows.refresh()
        written = {row.path for row in world.rows.written(held.timeline, held.number) if row.part == RECORD}
        left = [path for path in sorted(plan.changed) if path not in written]
        for at in range(0, len(left), BATCH):
            files = [(path, plan.changed[path]) for path in left[at : at + BATCH]]
            yield
            if world.keeps(Rule.BATCH_NEEDS_OPEN_NUMBER):
                transactions.check_held(world.head, held.timeline, held.holder, held.number)
            if world.chance.random() < world.habits.losses:
                world.events["batch lost"] += 1
                continue
            yield from create(world, held, files)
            if world.chance.random() < world.habits.redeliveries:
                self.spawn(redeliver(world, held, files))
            yield from self._beat(held)

    def _beat(self, held: Held) -> Steps:
        if self.world.chance.random() < 0.5:
            yield from self.world.change(
                lambda head: (transactions.beat(head, held.timeline, held.holder, held.number), None)
            )

    # Publishing

    def _tallies(self, held: Held, plan: Plan) -> bool:
        world = self.world
        rows = world.rows.written(held.timeline, held.number)
        counts = {sum(row.part == part for row in rows) for part in (CHUNK, RECORD)}
        if counts != {len(plan.changed)} and world.keeps(Rule.ROWS_COUNTED):
            return False
        left = world.rows.retirable(held.timeline, held.number, plan.retired, world.head.aborted)
        return not left or not world.keeps(Rule.RETIRED_COUNTED)

    def _publish(self, held: Held, target: int, base: Place | None) -> Steps:
        world = self.world

        def change(head: Head) -> tuple[Head, None]:
            if not world.keeps(Rule.LEASE_TO_PUBLISH):
                head = self._as_if_held(head, held)
            transactions.check_held(head, held.timeline, held.holder, held.number)
            if not world.keeps(Rule.PINNED_WITH_NUMBER):
                head = self._pinned_late(head, held, base)
            replaced = [key for key, state in self._timelines(head).items() if state.published]
            replaces = next((key for key in replaced if key != held.timeline), None) if self.ref else None
            default = not self.ref and not head.timelines[held.timeline].published
            changed = transactions.publish(head, held.timeline, held.holder, held.number, str(target), default=default)
            if replaces is not None:
                changed = transactions.drop_timeline(changed, replaces)
                world.purges.add(replaces)
            world.note_published(held.timeline, held.number, target)
            return changed, None

        if not (yield from unless_conflict(world.change(change))):
            world.events["publication refused"] += 1
            yield from self._give_up(held)
            raise Conflict("not published")

    def _as_if_held(self, head: Head, held: Held) -> Head:
        state = head.timelines.get(held.timeline)
        if state is None:
            raise Conflict("the timeline was dropped")
        lease = Lease(held.holder, held.number, base=state.lease.base if state.lease else None)
        stolen = replace(state, lease=lease, published=min(state.published, held.number - 1))
        return replace(
            head,
            open={**head.open, held.number: held.timeline},
            aborted=head.aborted - {held.number},
            timelines={**head.timelines, held.timeline: stolen},
        )

    def _pinned_late(self, head: Head, held: Held, base: Place | None) -> Head:
        state = transactions.check_held(head, held.timeline, held.holder, held.number)
        assert state.lease is not None
        lease = replace(state.lease, base=base)
        return replace(head, timelines={**head.timelines, held.timeline: replace(state, lease=lease)})


def create(world: World, held: Held, files: list[tuple[str, int]]) -> Steps:
    """Create the rows of a batch, then its file records, one write each."""
    for part in (CHUNK, RECORD):
        for path, blob in files:
            yield
            world.rows.create(Row(held.timeline, held.number, OPEN, path, part, blob))


def redeliver(world: World, held: Held, files: list[tuple[str, int]]) -> Steps:
    """Deliver a batch again at any later time. Retention is longer than a delivery takes (rule 2)."""
    yield world.clock + world.chance.choice((5, 50, 300))
    if world.keeps(Rule.BATCH_NEEDS_OPEN_NUMBER) and held.number not in world.head.open:
        return
    world.events["redelivered"] += 1
    since = world.clock
    for step in create(world, held, files):
        yield step
        if world.clock - since > GRACE:
            return
