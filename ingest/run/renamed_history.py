"""Copies a repository's history to its new name: as drafts first, which one write publishes in place of the old name.

After an interruption, the next renaming drops the drafts and copies again. The index holds every vector, so a copy
costs reading and writing only.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace

from codequarry.ingest.request.index_request import ObserveRun, Workshop
from codequarry.ingest.request.progress import Watch
from codequarry.ingest.run.kept_history import KeptTimeline, kept_timelines, renamed_record
from codequarry.ingest.run.renamed_rows import RowCopier
from codequarry.ingest.transaction.chores import drop_draft, note_purge
from codequarry.ingest.transaction.holder import new_holder, retire_holder
from codequarry.ingest.transaction.lease import Heartbeat, Held, await_end
from codequarry.shared.catalog.ledger import change_head, read_head, record_transaction
from codequarry.shared.catalog.repositories import Repository, read_summary, save_summary
from codequarry.shared.errors import CodequarryError, Conflict
from codequarry.shared.store.port import Store
from codequarry.shared.timestamps import now
from codequarry.shared.versions.commit_log import log_timeline
from codequarry.shared.versions.head import Head, Lease, Timeline
from codequarry.shared.versions.renaming import begin_copies, replace_name, states_to_copy
from codequarry.shared.versions.transactions import check_held


class MovedOn(Conflict):
    """A run published or dropped a version of the old name after its history was copied."""


@dataclass(frozen=True, slots=True)
class CopiedHistory:
    """Complete copies that no reader sees yet: the timelines ``kept`` of ``old``, and the copy of each.

    ``seen`` is what was copied, to be compared with what there is when the copies are published.
    """

    old: str
    seen: Mapping[int, Timeline]
    kept: Sequence[KeptTimeline] = ()
    held: Held | None = None
    copies: Mapping[int, int] = field(default_factory=dict)

    def publish(self, store: Store, new: str) -> None:
        """Let readers see the history under the name ``new`` instead of the old name, in one write.

        Raise MovedOn, and leave everything as it is, if the old name has changed since the copy.
        """
        copied = {self.copies[item.source]: self._state(item) for item in self.kept}

        def change(head: Head) -> tuple[Head, None]:
            if states_to_copy(head, self.old) != self.seen:
                raise MovedOn(f"'{self.old}' was indexed during the renaming; run the command again")
            if self.held:
                check_held(head, self.held.timeline, self.held.holder, self.held.number)
            return replace_name(head, self.old, new, copied), None

        # Noted before the copies can be seen; the chores leave them until no overlay lies on them.
        for item in self.kept:
            if item.only_carries:
                note_purge(store, self.copies[item.source], new)
        change_head(store, change)

    def _state(self, item: KeptTimeline) -> Timeline:
        pins = frozenset((self.copies[owner], number) for owner, number in item.state.pins)
        return replace(item.state, pins=pins)


@contextmanager
def copied_history(
    repository: Repository, old: str, workshop: Workshop, observe: ObserveRun
) -> Iterator[CopiedHistory]:
    """Copy the history of ``old`` to the name of ``repository``; drop the copies if the caller does not publish them.

    The lease on the copies is held until the end. Raise LeaseHeld if another process took it.
    """
    store, new = workshop.store, repository.name
    head = read_head(store)
    kept, seen = kept_timelines(store, head, old, new, now("milliseconds")), states_to_copy(head, old)
    if not kept:
        yield CopiedHistory(old, seen)
        return
    holder = new_holder()
    try:
        held, copies = _begin(store, repository, kept, holder)
        try:
            with Heartbeat(store, held, workshop.settings.indexing.lease_seconds) as heartbeat:
                _copy(kept, copies, workshop, RowCopier(store, workshop.embedder, new, heartbeat), observe)
                yield CopiedHistory(old, seen, kept, held, copies)
        except BaseException:
            # Best effort: if this fails, the next renaming sees that the holder is gone, and drops the copies.
            with suppress(CodequarryError):
                drop_draft(store, held.timeline, held.number, holder)
            raise
    finally:
        retire_holder(holder)


def _begin(
    store: Store, repository: Repository, kept: Sequence[KeptTimeline], holder: str
) -> tuple[Held, Mapping[int, int]]:
    def change(head: Head) -> tuple[Head, tuple[int, Mapping[int, int]]]:
        sources = [item.source for item in kept]
        head, number, copies = begin_copies(head, repository.name, repository.id, holder, sources)
        return head, (number, copies)

    number, copies = change_head(store, change)
    return Held(min(copies.values()), number, holder, new=True), copies


def _copy(
    kept: Sequence[KeptTimeline], copies: Mapping[int, int], workshop: Workshop, copier: RowCopier, observe: ObserveRun
) -> None:
    store, new = workshop.store, copier.repo
    watch = Watch(store, observe, new, saves=False)
    watch.say("copying history")
    watch.expect(sum(record.changed_paths for item in kept for record in item.records))
    for item in kept:
        copy = copies[item.source]
        for files, chunks in copier.copy(item.extent, copy):
            watch.advance(files, chunks)
        log = replace(item.extent, timeline=log_timeline(item.source))
        for _, chunks in copier.copy(log, log_timeline(copy)):
            watch.advance(0, chunks)
        for record in item.records:
            copier.permit.check()
            record_transaction(store, renamed_record(record, new, copies))
            if summary := read_summary(store, record.timeline, record.number):
                save_summary(store, replace(summary, timeline=copy))


def drop_left_copies(workshop: Workshop, repo: str, observe: ObserveRun) -> None:
    """Drop the copies of an interrupted renaming to ``repo``; raise LeaseHeld if another process is writing them."""
    store = workshop.store
    watch = Watch(store, observe, repo, saves=False)
    while left := _left(read_head(store), repo):
        timeline, lease = left
        if await_end(store, timeline, lease, workshop.settings.indexing.lease_seconds, watch.say):
            with suppress(Conflict):  # another process was faster, or the holder came back to life
                drop_draft(store, timeline, lease.number, lease.holder)


def _left(head: Head, repo: str) -> tuple[int, Lease] | None:
    """Return the timeline of a repository's drafts of copies whose lease is renewed, and that lease."""
    for number, timeline in head.open.items():
        state = head.timelines.get(timeline)
        if state and state.repo == repo and state.gone and state.lease and state.lease.number == number:
            return timeline, state.lease
    return None
