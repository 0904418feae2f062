"""Working trees whose folders were deleted: nothing else tells the index, so they are looked for on demand."""

from collections.abc import Collection
from pathlib import Path

from codequarry.ingest.transaction.chores import finish_chores
from codequarry.ingest.transaction.version_removal import drop_version
from codequarry.shared.catalog.ledger import read_head
from codequarry.shared.store.port import DocumentStore, Store
from codequarry.shared.versions.refs import Ref


def is_deleted(ref: Ref) -> bool:
    """Tell whether a version is a working tree of which this machine has no folder.

    One that may not be looked at counts as there. A folder of another machine is not here either: who asks must know.
    """
    if ref.kind != "workspace":
        return False
    try:
        return not Path(ref.value).exists()
    except OSError:
        return False


def gone_workspaces(store: DocumentStore, repos: Collection[str]) -> list[tuple[str, Ref]]:
    """Return the repository and the version of every indexed working tree that is gone."""
    states = read_head(store).timelines.values()
    named = sorted({(state.repo, state.ref) for state in states if state.ref and state.repo in repos})
    return [(repo, ref) for repo, key in named if is_deleted(ref := Ref.of_key(key))]


def drop_gone_workspaces(store: Store, repos: Collection[str], grace_seconds: float) -> list[tuple[str, Ref]]:
    """Drop the working trees that are gone, and return them; their rows go when searches have had their time."""
    dropped = [(repo, ref) for repo, ref in gone_workspaces(store, repos) if drop_version(store, repo, ref)]
    finish_chores(store, grace_seconds)
    return dropped
