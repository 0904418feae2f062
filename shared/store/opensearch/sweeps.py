"""Changes to many rows: update-by-query and delete-by-query in bounded steps, repeated until nothing is left."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from codequarry.shared.errors import StoreFull, StoreUnavailable
from codequarry.shared.store.opensearch.clauses import EngineClause
from codequarry.shared.store.opensearch.connection import ClusterConnection, is_disk_full, reason_of
from codequarry.shared.versions.snapshots import OPEN

# Rewriting a row takes about a millisecond, so a step stays far below any time limit.
ROWS_PER_STEP = 2_000
# A step that finds rows but changes none has lost to other writers. This many such steps in succession are an error.
MAX_FRUITLESS_STEPS = 100
STEP_SECONDS = 300.0
# An index that does not exist yet counts as empty.
IF_THERE = {"ignore_unavailable": "true", "allow_no_indices": "true"}

# The script checks again, because the query sees rows as of the last refresh (rule 3).
RETIRE = (
    "if (ctx._source.born < params.number && (ctx._source.died == params.open"
    " || params.aborted.contains(ctx._source.died))) { ctx._source.died = params.number }"
    " else { ctx.op = 'noop' }"
)
REVIVE = "if (ctx._source.died == params.number) { ctx._source.died = params.open } else { ctx.op = 'noop' }"


@dataclass(frozen=True, slots=True)
class Sweeper:
    """Refreshes indices, and updates or deletes rows by query."""

    connection: ClusterConnection

    def refresh(self, *names: str) -> None:
        """Make all writes to the indices visible; raise StoreUnavailable if a shard failed."""
        answer = self.connection.patiently(
            lambda: self.connection.client.indices.refresh(index=",".join(names), params=IF_THERE)
        )
        shards = answer["_shards"]
        if shards["failed"]:
            raise StoreUnavailable(
                f"{shards['failed']} of {shards['total']} shards of {', '.join(names)} could not be refreshed; "
                "run `codequarry doctor`"
            )

    def retire(self, names: Sequence[str], query: EngineClause, number: int, aborted: Collection[int]) -> int:
        """Set ``died`` on rows that match the query and the script's check, and return how many changed."""
        script = {"source": RETIRE, "params": {"number": number, "open": OPEN, "aborted": sorted(aborted)}}
        return self._until_done(names, {"query": query, "script": {"lang": "painless", **script}}, deleting=False)

    def revive(self, names: Sequence[str], query: EngineClause, number: int) -> int:
        """Set ``died`` back to OPEN on rows that ``number`` retired, and return how many changed."""
        script = {"source": REVIVE, "params": {"number": number, "open": OPEN}}
        return self._until_done(names, {"query": query, "script": {"lang": "painless", **script}}, deleting=False)

    def delete(self, names: Sequence[str], query: EngineClause) -> int:
        """Delete the documents that match the query, and return how many."""
        return self._until_done(names, {"query": query}, deleting=True)

    def _until_done(self, names: Sequence[str], body: dict[str, Any], *, deleting: bool) -> int:
        """Refresh and take a step until a step finds nothing, which covers conflicts and new rows (rule 3)."""
        changed, fruitless = 0, 0
        while fruitless < MAX_FRUITLESS_STEPS:
            self.refresh(*names)
            answer = self._step(names, body, deleting=deleting)
            if not answer["total"]:
                return changed
            done = int(answer["deleted" if deleting else "updated"])
            changed += done
            fruitless = 0 if done else fruitless + 1
        raise StoreUnavailable(f"other writers kept changing rows of {', '.join(names)}; run the command again")

    def _step(self, names: Sequence[str], body: dict[str, Any], *, deleting: bool) -> dict[str, Any]:
        client = self.connection.client
        run = client.delete_by_query if deleting else client.update_by_query
        params = {
            **IF_THERE,
            "conflicts": "proceed",
            "request_timeout": max(STEP_SECONDS, self.connection.settings.timeout_seconds),
        }
        asked = {**body, "max_docs": ROWS_PER_STEP}
        answer: dict[str, Any] = self.connection.patiently(
            lambda: run(index=",".join(names), body=asked, params=params)
        )
        if answer["failures"] or answer["timed_out"]:
            reason = next(iter(map(_reason, answer["failures"])), "it took too long")
            kind = StoreFull if is_disk_full(reason) else StoreUnavailable
            raise kind(f"an update of {', '.join(names)} failed ({reason}); run the command again")
        return answer


def _reason(failure: dict[str, Any]) -> str:
    return reason_of(failure.get("cause") or failure.get("reason")) or str(failure)[:300]
