"""Editions of an OpenSearch index: four indices each, and aliases that point to the active edition's indices."""

import re
from typing import Any

from codequarry.shared.errors import NotIndexed
from codequarry.shared.liveness.deadline import Deadline
from codequarry.shared.settings.config import OpenSearchSettings
from codequarry.shared.store.editions import FIRST
from codequarry.shared.store.opensearch.connection import ClusterConnection, connect
from codequarry.shared.store.opensearch.index_bodies import CATALOG, KINDS, alias_of, edition_alias_of, index_of
from codequarry.shared.store.opensearch.indices import Indices
from codequarry.shared.store.opensearch.mapping_version import check_versions, upgrade
from codequarry.shared.store.opensearch.store import OpenSearchStore
from codequarry.shared.store.port import Store

_NUMBERED = re.compile(r"-(\d{6,})$")
_IF_THERE = {"ignore_unavailable": "true", "allow_no_indices": "true"}


class OpenSearchEditions:
    """The editions behind one set of aliases."""

    def __init__(self, settings: OpenSearchSettings, connection: ClusterConnection | None = None) -> None:
        self._settings = settings
        self._connection = connection or connect(settings)
        self._deadline: Deadline | None = None

    def within(self, deadline: Deadline | None) -> "OpenSearchEditions":
        """Return the editions for requests that must end by ``deadline``, as must requests of the stores they open."""
        bound = OpenSearchEditions(self._settings, self._connection.within(deadline))
        bound._deadline = deadline
        return bound

    def active(self) -> int:
        """Return the edition that the catalog's alias points to, else the first; add the edition's alias if missing."""
        behind = self._behind(alias_of(CATALOG, self._settings))
        if not behind:
            return FIRST
        name = next(iter(behind))
        found = _NUMBERED.search(name)
        edition = int(found[1]) if found else FIRST
        if edition_alias_of(CATALOG, self._settings, edition) not in behind[name]["aliases"]:
            self._adopt(edition)
        return edition

    def present(self) -> list[int]:
        """Return the editions that have a catalog."""
        prefix = index_of(CATALOG, self._settings, 0).removesuffix("000000")
        names = self._behind(f"{prefix}*")
        return sorted(int(found[1]) for name in names if (found := _NUMBERED.fullmatch(name.removeprefix(prefix[:-1]))))

    def dimension(self, edition: int) -> int | None:
        """Return the length of the vectors in the chunk index, or None if there is no chunk index."""
        with self._connection.translated():
            found = Indices(self._connection, 0, edition).dimensions()
        return next(iter(found.values()), None)

    def open(self, edition: int, dimension: int) -> Store:
        """Return a store for an edition; raise StoreUnavailable if this release can't read its indices."""
        check_versions(self._connection, edition)
        return OpenSearchStore(self._settings, dimension, edition).within(self._deadline)

    def upgrade(self) -> tuple[int, int]:
        """Upgrade the mappings of the active edition, and return their version before and after."""
        edition = self.active()
        if edition not in self.present():
            raise NotIndexed(f"there is no index '{self._settings.index}'; create it with codequarry index")
        return upgrade(self._connection, edition)

    def activate(self, edition: int) -> None:
        """Move all aliases to another edition in one step."""
        actions: list[dict[str, Any]] = []
        for kind in KINDS:
            alias = alias_of(kind, self._settings)
            actions += [{"remove": {"index": name, "alias": alias}} for name in self._behind(alias)]
            actions.append({"add": {"index": index_of(kind, self._settings, edition), "alias": alias}})
        self._update(actions)

    def remove(self, edition: int) -> None:
        """Delete an edition's four indices, the catalog last, so that the others can still be found after a crash."""
        for kind in (*(kind for kind in KINDS if kind != CATALOG), CATALOG):
            name = index_of(kind, self._settings, edition)
            self._connection.patiently(lambda: self._connection.client.indices.delete(index=name, params=_IF_THERE))  # noqa: B023

    def close(self) -> None:
        """Close the connections."""
        self._connection.close()

    def _behind(self, name: str) -> dict[str, Any]:
        """Return the indices with a given name or alias, each with all its aliases."""
        with self._connection.translated():
            answer: dict[str, Any] = self._connection.client.indices.get_alias(
                index=name, params={**_IF_THERE, "ignore": 404}
            )
        return {index: body for index, body in answer.items() if isinstance(body, dict) and "aliases" in body}

    def _adopt(self, edition: int) -> None:
        """Add the edition's own aliases to the active indices."""
        self._update(
            [
                {"add": {"index": name, "alias": edition_alias_of(kind, self._settings, edition)}}
                for kind in KINDS
                for name in self._behind(alias_of(kind, self._settings))
            ]
        )

    def _update(self, actions: list[dict[str, Any]]) -> None:
        self._connection.patiently(lambda: self._connection.client.indices.update_aliases(body={"actions": actions}))
