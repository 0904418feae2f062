"""The batches of a transaction as catalog documents: the files to read, the claims, and what was written.

The documents name files and never hold their text. The plan is written last and removed first, so a plan means that all
batches exist. A claimant creates a batch's claim; later changes, by compare-and-set, require the same claimant.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, fields, replace
from typing import Any, Self

from codequarry.ingest.chunking.installed_plugins import ChunkerPlugin
from codequarry.ingest.chunking.pieces import Sizes
from codequarry.ingest.chunking.source_file import PathLabels
from codequarry.ingest.files.read_file import ReadingRules
from codequarry.ingest.files.scan import FileTask
from codequarry.ingest.secrets.policy import SecretRules
from codequarry.ingest.transaction.chores import PLAN, batches_prefix
from codequarry.ingest.transaction.holder import NO_HOLDER
from codequarry.ingest.transaction.written import Written
from codequarry.shared.errors import Conflict
from codequarry.shared.secret_counts import SecretCounts
from codequarry.shared.store.port import DocumentStore


@dataclass(frozen=True, slots=True)
class SharedPlan:
    """What every helper must know: ``holder`` has the lease, and ``rules`` are the coordinator's reading rules."""

    holder: str
    origin: str
    commit: str
    batches: int
    rules: ReadingRules
    guarded: bool = False

    def to_json(self) -> dict[str, Any]:
        """Return the catalog document."""
        plain = {name: getattr(self, name) for name in ("holder", "origin", "commit", "batches", "guarded")}
        # Not "rules", the former key: a process of an old version that masks no secrets must not take part.
        return {**plain, "reading": _rules_body(self.rules)}

    @classmethod
    def from_json(cls, body: Mapping[str, Any]) -> Self:
        """Read the catalog document."""
        rules = _rules(body["reading"])
        return cls(body["holder"], body["origin"], body["commit"], body["batches"], rules, body["guarded"])


def _rules_body(rules: ReadingRules) -> dict[str, Any]:
    plain = {each.name: getattr(rules, each.name) for each in fields(rules)}
    plugins = [asdict(plugin) for plugin in rules.plugins]
    return {**plain, "sizes": asdict(rules.sizes), "secrets": rules.secrets.to_json(), "plugins": plugins}


def _rules(body: Mapping[str, Any]) -> ReadingRules:
    sizes, secrets = Sizes(**body["sizes"]), SecretRules.from_json(body["secrets"])
    plugins = tuple(ChunkerPlugin(**plugin) for plugin in body.get("plugins", ()))
    lists = {"languages_on": tuple(body["languages_on"]), "plugins": plugins}
    return ReadingRules(**{**body, "sizes": sizes, "secrets": secrets, **lists})


@dataclass(frozen=True, slots=True)
class Claim:
    """The claimant of a batch (NO_HOLDER if freed), its heartbeats so far, and at the end what was written."""

    claimant: str
    beats: int = 0
    written: Written | None = None

    @property
    def is_free(self) -> bool:
        """Return whether a process may claim the batch."""
        return self.written is None and self.claimant == NO_HOLDER

    def to_json(self) -> dict[str, Any]:
        """Return the catalog document."""
        return {"claimant": self.claimant, "beats": self.beats, "written": _counts(self.written)}

    @classmethod
    def from_json(cls, body: Mapping[str, Any]) -> Self:
        """Read the catalog document."""
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
        """Write the batches, then the plan that makes them available."""
        for at, batch in enumerate(batches):
            self._store.write_document(self._files_key(at), {"files": [asdict(task) for task in batch]}, None)
        self._store.write_document(self._plan_key, plan.to_json(), None)

    def plan(self) -> SharedPlan | None:
        """Return the plan, or None if the import is over."""
        document = self._store.read_document(self._plan_key)
        return SharedPlan.from_json(document.body) if document else None

    def files(self, at: int) -> list[FileTask]:
        """Return the files of a batch; raise Conflict if it is gone."""
        document = self._store.read_document(self._files_key(at))
        if document is None:
            raise Conflict(f"batch {at} is gone")
        return document.decode(_tasks)

    def claims(self) -> dict[int, Claim]:
        """Return the claims by batch number."""
        documents = self._store.list_documents(self._claims)
        return {int(each.key.removeprefix(self._claims)): Claim.from_json(each.body) for each in documents}

    def take(self, at: int, claimant: str) -> bool:
        """Claim a free batch; return False if another process was faster."""
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
        """Show that the claimant is alive; raise Conflict if it no longer has the batch."""
        self._change(at, claimant, lambda claim: replace(claim, beats=claim.beats + 1))

    def finish(self, at: int, claimant: str, written: Written) -> None:
        """Record what was written; raise Conflict if the claimant no longer has the batch."""
        self._change(at, claimant, lambda claim: replace(claim, written=written))

    def free(self, at: int, claimant: str) -> None:
        """Free a batch of this claimant, or of a claimant that is gone."""
        with suppress(Conflict):
            self._change(at, claimant, lambda claim: replace(claim, claimant=NO_HOLDER))

    def withdraw(self, at: int, claimant: str) -> None:
        """Delete the caller's claim on a batch that is no longer shared."""
        key = self._claims + f"{at:06d}"
        document = self._store.read_document(key)
        if document and document.body["claimant"] == claimant:
            self._store.delete_document(key)

    def clear(self) -> None:
        """Delete the plan, the batches and the claims."""
        plan = self.plan()
        if plan:
            self._store.delete_document(self._plan_key)
            for at in range(plan.batches):
                self._store.delete_document(self._files_key(at))
        # If there is no plan, a crash during ``offer`` may have left some batches.
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
