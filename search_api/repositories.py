"""What the index has: `GET /repos`, `codequarry repos list`."""

from typing import Any

from codequarry.search_api.catalog import Catalog
from codequarry.search_api.scope import resolve
from codequarry.search_api.selection import Selection
from codequarry.search_api.states import RepositoryState, scope_states
from codequarry.shared.config import SettingsModel
from codequarry.shared.ledger import read_head
from codequarry.shared.store.identity import read_identity
from codequarry.shared.store.port import Store


def describe(store: Store, settings: SettingsModel) -> list[dict[str, Any]]:
    """Return every repository of the catalog with its state, by name."""
    known = Catalog(store)
    head = read_head(store)
    repositories = known.repositories(head)
    scope = resolve(head, repositories, Selection(), lambda _: ())
    everything = {*scope.views, *scope.pending}
    states = scope_states(known, scope, repositories, everything)
    identity = read_identity(store)
    model = identity.model if identity else None
    return [_to_json(state, model) for state in sorted(states, key=lambda state: state.name)]


def _to_json(state: RepositoryState, model: str | None) -> dict[str, Any]:
    return {
        "name": state.name,
        "origin": state.origin,
        "branch": state.branch,
        "indexed_commit": state.indexed_commit,
        "indexed_at": state.indexed_at,
        "head_commit": state.head_commit,
        "commits_behind": state.commits_behind,
        "files": state.files,
        "chunks": state.chunks,
        "skipped": dict(sorted(state.skipped.items())),
        "state": state.state,
        "percent": state.percent,
        "model": model,
    }
