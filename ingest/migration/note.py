"""A migration's note in the edition that it fills; it stops a second migration and lets a crashed migration resume."""

import threading
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from codequarry.ingest.transaction.holder import describe_holder, has_ended
from codequarry.shared.catalog.ledger import change_head
from codequarry.shared.errors import Conflict, LeaseHeld, StoreError
from codequarry.shared.store.editions import Editions
from codequarry.shared.store.port import DocumentStore
from codequarry.shared.store.records import Document
from codequarry.shared.timestamps import now
from codequarry.shared.versions.moves import beat as beat_move

NOTE_KEY = "migration"
# Well below ledger.MOVE_SECONDS, after which waiting writers assume that a migration is dead.
BEAT_SECONDS = 2.0
# Interval between reads of another migration's note.
_POLL_SECONDS = 0.5


@dataclass(frozen=True, slots=True)
class MigrationNote:
    """``copied`` maps each timeline (its id as text) to the transaction up to which it has been copied."""

    model: str
    setting: str
    holder: str
    started_at: str
    updated_at: str
    phase: str = ""
    files_done: int = 0
    files_total: int = 0
    chunks_done: int = 0
    beat: int = 0
    copied: dict[str, int] = field(default_factory=dict)
    strides: str = ""

    @property
    def percent(self) -> int:
        """Whole percentage of files done, at most 99."""
        return min(99, 100 * self.files_done // self.files_total) if self.files_total else 0


@dataclass(frozen=True, slots=True)
class Unfinished:
    """An edition that a migration is filling or left unfinished."""

    edition: int
    note: MigrationNote

    @property
    def is_running(self) -> bool:
        """Return whether the migration may be running: True unless its process is known to be gone."""
        return not has_ended(self.note.holder)


def read_note(store: DocumentStore) -> MigrationNote | None:
    """Return the note of an edition, or None if the edition is complete."""
    document = store.read_document(NOTE_KEY)
    return document.decode(MigrationNote) if document else None


def unfinished_migrations(editions: Editions) -> list[Unfinished]:
    """Return the editions that migrations are filling or left unfinished."""
    found = []
    active = editions.active()
    for edition in editions.present():
        dimension = editions.dimension(edition) if edition > active else None
        if dimension is None:
            continue
        with closing(editions.open(edition, dimension)) as store:
            if note := read_note(store):
                found.append(Unfinished(edition, note))
    return found


def claim_note(
    store: DocumentStore, note: MigrationNote, seconds: float, say: Callable[[str], None]
) -> tuple[MigrationNote, bool]:
    """Write our note, or take over a dead migration's (then True); raise LeaseHeld if that migration is alive."""
    while True:
        document = await_end(store, seconds, say)
        left = document.decode(MigrationNote) if document else None
        ours = replace(note, copied=dict(left.copied), started_at=left.started_at) if left else note
        try:
            store.write_document(NOTE_KEY, asdict(ours), document.version if document else None)
        except Conflict:
            continue
        return ours, left is not None


def await_end(store: DocumentStore, seconds: float, say: Callable[[str], None]) -> Document | None:
    """Return any note once its process is gone or silent for ``seconds`` (rule 8); raise LeaseHeld on a heartbeat."""
    document = seen = store.read_document(NOTE_KEY)
    since = time.monotonic()
    while document and seen and time.monotonic() - since < seconds:
        note = document.decode(MigrationNote)
        if has_ended(note.holder):
            break
        if document.version != seen.version:
            raise LeaseHeld(
                f"a migration to '{note.setting}' is running in {describe_holder(note.holder)}; wait for it or stop it"
            )
        say(f"waiting for {describe_holder(note.holder)}")
        time.sleep(min(_POLL_SECONDS, seconds))
        document = store.read_document(NOTE_KEY)
    return document


class MigrationHeartbeat:
    """A thread that renews a migration's note and, at the end, its hold on the old edition."""

    def __init__(self, old: DocumentStore, new: DocumentStore, note: MigrationNote) -> None:
        self.holds = False
        self._old, self._new, self._note = old, new, note
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._lost = ""
        self._thread = threading.Thread(target=self._run, name="migration", daemon=True)

    def __enter__(self) -> "MigrationHeartbeat":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    @property
    def note(self) -> MigrationNote:
        """The current note."""
        with self._lock:
            return self._note

    def update(self, **changes: Any) -> MigrationNote:  # noqa: ANN401 - the fields of a note
        """Change the note; it is written with the next beat."""
        with self._lock:
            self._note = replace(self._note, **changes)
            return self._note

    def check(self) -> None:
        """Raise LeaseHeld if another migration has taken over."""
        if self._lost:
            raise LeaseHeld(f"another migration took over ({self._lost}); this migration did not switch the index")

    def save(self) -> None:
        """Write the note."""
        with self._lock:
            self._note = replace(self._note, beat=self._note.beat + 1, updated_at=now("seconds"))
            document = self._new.read_document(NOTE_KEY)
            if document is None or document.body["holder"] != self._note.holder:
                self._lost = "the note is no longer ours"
                return
            self._write(document)

    def _write(self, document: Document) -> None:
        try:
            self._new.write_document(NOTE_KEY, asdict(self._note), document.version)
        except Conflict as error:
            self._lost = str(error)

    def _run(self) -> None:
        while not self._stop.wait(BEAT_SECONDS) and not self._lost:
            try:
                if self.holds:
                    change_head(self._old, lambda head: (beat_move(head, self._note.holder), None), self._note.holder)
                self.save()
            except StoreError:
                # A failing store is reported by the migration itself; the switch notices a lost hold.
                continue
