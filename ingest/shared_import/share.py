"""The batches of a transaction as documents of the catalog: what is to be read, who reads it, what came of it.

Files are named, never held. The plan is written last and removed first, so that where it is, all of it is. Whoever
claims a batch creates its claim; later changes are made by compare-and-set, and only by its claimant.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, fields, replace
from typing import Any, Self

from codequarry.ingest.chunking.pieces import Sizes
from codequarry.ingest.chunking.source_file import PathLabels
from codequarry.ingest.files.reader import ReadingRules
from codequarry.ingest.files.scan import FileTask
from codequarry.ingest.secrets.policy import SecretRules
from codequarry.ingest.transaction.chores import PLAN, batches_prefix
from codequarry.ingest.transaction.holder import NO_HOLDER
from codequarry.ingest.transaction.writer import Written
from codequarry.shared.errors import Conflict
from codequarry.shared.secret_counts import SecretCounts
from codequarry.shared.store.port import DocumentStore


@dataclass(frozen=True, slots=True)
class SharedPlan:
    """What everybody who takes part has to know: ``holder`` has the lease, ``rules`` decide as where it was planned."""

    holder: str
    origin: str
    commit: str
    batches: int
    rules: ReadingRules
    guarded: bool = False

    def to_json(self) -> dict[str, Any]:
        """Return the document."""
        plain = {name: getattr(self, name) for name in ("holder", "origin", "commit", "batches", "guarded")}
        # Not "rules", as it was: a process of a version that masks no secrets must not take part.
        return {**plain, "reading": _rules_body(self.rules)}

    @classmethod
    def from_json(cls, body: Mapping[str, Any]) -> Self:
        """Read the document."""
        rules = _rules(body["reading"])
        return cls(body["holder"], body["origin"], body["commit"], body["batches"], rules, body["guarded"])


def _rules_body(rules: ReadingRules) -> dict[str, Any]:
    plain = {each.name: getattr(rules, each.name) for each in fields(rules)}
    return {**plain, "sizes": asdict(rules.sizes), "secrets": rules.secrets.to_json()}


def _rules(body: Mapping[str, Any]) -> ReadingRules:
    sizes, secrets = Sizes(**body["sizes"]), SecretRules.from_json(body["secrets"])
    return ReadingRules(**{**body, "sizes": sizes, "languages_on": tuple(body["languages_on"]), "secrets": secrets})


@dataclass(frozen=True, slots=True)
class Claim:
    """Who is at a batch, NOBODY if it was given back, and what was written once it is done.

    ``beats`` counts up while the claimant lives.
    """

    claimant: str
    beats: int = 0
    written: Written | None = None

    @property
    def is_free(self) -> bool:
        """Tell whether somebody may take the batch."""
        return self.written is None and self.claimant == NO_HOLDER

    def to_json(self) -> dict[str, Any]:
        """Return the document."""
        return {"claimant": self.claimant, "beats": self.beats, "written": _counts(self.written)}

    @classmethod
    def from_json(cls, body: Mapping[str, Any]) -> Self:
        """Read the document."""
        written = body["written"]
        return cls(body["claimant"], body["beats"], _written(written) if written else None)


def _counts(written: Written | None) -> dict[str, Any] | None:
    if written is None:
        return None
    return vars(written) | {"verdicts": dict(written.verdicts), "secrets": asdict(written.secrets)}


def _written(counts: Mapping[str, Any]) -> Written:
    changed = {"verdicts": Counter(counts["verdicts"]), "secrets": SecretCounts(**counts["secrets"])}
    return Written(**{**counts, **changed})


class SharedImport:
    """The shared batches of one transaction."""

    def __init__(self, store: DocumentStore, timeline: int, number: int) -> None:
        self._store = store
        self._prefix = batches_prefix(timeline, number)

    def offer(self, plan: SharedPlan, batches: Sequence[Sequence[FileTask]]) -> None:
        """Write the batches, and then the plan that says that they are there."""
        for at, batch in enumerate(batches):
            self._store.write_document(self._files_key(at), {"files": [asdict(task) for task in batch]}, None)
        self._store.write_document(self._plan_key, plan.to_json(), None)

    def plan(self) -> SharedPlan | None:
        """Return the plan; None where there is nothing to do any more."""
        document = self._store.read_document(self._plan_key)
        return SharedPlan.from_json(document.body) if document else None

    def files(self, at: int) -> list[FileTask]:
        """Return the files of a batch; Conflict where it is gone."""
        document = self._store.read_document(self._files_key(at))
        if document is None:
            raise Conflict(f"batch {at} is gone")
        return document.decode(_tasks)

    def claims(self) -> dict[int, Claim]:
        """Return what was claimed so far."""
        documents = self._store.list_documents(self._claims)
        return {int(one.key.removeprefix(self._claims)): Claim.from_json(one.body) for one in documents}

    def take(self, at: int, claimant: str) -> bool:
        """Claim a batch that is free; False where somebody else was faster."""
        key = self._claims + f"{at:06d}"
        known = self._store.read_document(key)
        if known and not Claim.from_json(known.body).is_free:
            return False
        try:
            self._store.write_document(key, Claim(claimant).to_json(), known.version if known else None)
        except Conflict:
            return False
        return True

    def beat(self, at: int, claimant: str) -> None:
        """Show that the claimant lives; Conflict if it has the batch no more."""
        self._change(at, claimant, lambda claim: replace(claim, beats=claim.beats + 1))

    def finish(self, at: int, claimant: str, written: Written) -> None:
        """Note what was written; Conflict if the claimant has the batch no more."""
        self._change(at, claimant, lambda claim: replace(claim, written=written))

    def free(self, at: int, claimant: str) -> None:
        """Give a batch back, one's own or that of a claimant that is gone."""
        with suppress(Conflict):
            self._change(at, claimant, lambda claim: replace(claim, claimant=NO_HOLDER))

    def withdraw(self, at: int, claimant: str) -> None:
        """Remove one's claim on something that is not shared any more."""
        key = self._claims + f"{at:06d}"
        document = self._store.read_document(key)
        if document and document.body["claimant"] == claimant:
            self._store.delete_document(key)

    def clear(self) -> None:
        """Remove all of it."""
        plan = self.plan()
        if plan:
            self._store.delete_document(self._plan_key)
            for at in range(plan.batches):
                self._store.delete_document(self._files_key(at))
        # Without a plan some files may have been left by a crash while they were written.
        for left in self._store.list_documents(self._claims if plan else self._prefix):
            self._store.delete_document(left.key)

    def _change(self, at: int, claimant: str, change: Callable[[Claim], Claim]) -> None:
        key = self._claims + f"{at:06d}"
        while True:
            document = self._store.read_document(key)
            claim = Claim.from_json(document.body) if document else None
            if document is None or claim is None or claim.claimant != claimant or claim.written:
                raise Conflict(f"batch {at} was taken over or withdrawn")
            try:
                self._store.write_document(key, change(claim).to_json(), document.version)
            except Conflict:
                continue
            return

    @property
    def _plan_key(self) -> str:
        return self._prefix + PLAN

    @property
    def _claims(self) -> str:
        return f"{self._prefix}claim:"

    def _files_key(self, at: int) -> str:
        return f"{self._prefix}files:{at:06d}"


def _tasks(files: list[Mapping[str, Any]]) -> list[FileTask]:
    return [_task(file) for file in files]


def _task(body: Mapping[str, Any]) -> FileTask:
    labels = body["labels"]
    kept = PathLabels(labels["microservice"], labels["aggregate"], tuple(labels["tags"]))
    return FileTask(**{**body, "labels": kept})
