"""The version of the mappings: checked when an edition is opened, and upgraded in place.

Early releases wrote no version: their indices count as version 0 and have the fields of version 1. Version 2 dropped
fields that nothing used, among them `acl`; rows in an older index keep them, but nothing reads them. Version 3 added
the fields of commits. Version 4 added definitions and references, derived chunks, commentary and history.
"""

from typing import Any

from opensearchpy.exceptions import RequestError

from codequarry.shared.errors import OldFormat, StoreError, StoreUnavailable
from codequarry.shared.store.opensearch.connection import ClusterConnection, reason_of
from codequarry.shared.store.opensearch.index_bodies import CHUNKS, KINDS, edition_alias_of, index_body

VERSION = "schema_version"
# The version of this release's mappings, which each of the JSON files also gives.
SCHEMA = 4
# Since this version the mappings have only gained fields, so put_mapping can upgrade an index. When a release changes
# the type of a field, raise this number to the new version, and make `upgrade` copy older indices to a new edition.
ADDITIVE_SINCE = 0
# Any length will do, because the vector field is not sent.
_ANY_DIMENSION = 1


def read_versions(connection: ClusterConnection, edition: int) -> dict[str, int]:
    """Return the version of each kind of index that exists, or 0 if its release wrote no version."""
    aliases = {edition_alias_of(kind, connection.settings, edition): kind for kind in KINDS}
    found: dict[str, int] = {}
    with connection.translated():
        for alias, kind in aliases.items():
            answer: dict[str, Any] = connection.client.indices.get_mapping(
                index=alias, params={"ignore_unavailable": "true", "allow_no_indices": "true"}
            )
            for body in answer.values():
                found[kind] = int(body["mappings"].get("_meta", {}).get(VERSION, 0))
    return found


def check_versions(connection: ClusterConnection, edition: int) -> dict[str, int]:
    """Return the versions of an edition, and check that this release can read them.

    Raise StoreUnavailable if a newer release wrote an index, OldFormat if an index can't be upgraded in place. If an
    index only lacks fields or its version, the first write adds them (``upgrade``).
    """
    versions = read_versions(connection, edition)
    for kind, version in versions.items():
        name = edition_alias_of(kind, connection.settings, edition)
        if version > SCHEMA:
            raise StoreUnavailable(
                f"a newer release of Codequarry wrote the index {name} (mapping {version}, this release reads up to "
                f"{SCHEMA}); use that release, or set opensearch.index to another name and index the repositories again"
            )
        if version < ADDITIVE_SINCE:
            raise OldFormat(
                f"an older release wrote the index {name} (mapping {version}, this release reads {SCHEMA}); stop all "
                "processes that use it and run codequarry migrate --schema"
            )
    return versions


def upgrade(connection: ClusterConnection, edition: int) -> tuple[int, int]:
    """Upgrade an edition's mappings, even in several processes at once; return the lowest version before and after."""
    before = check_versions(connection, edition)
    for kind, version in before.items():
        if version < SCHEMA:
            _put(connection, kind, edition)
    after = read_versions(connection, edition)
    return min(before.values(), default=0), min(after.values(), default=0)


def _put(connection: ClusterConnection, kind: str, edition: int) -> None:
    mappings = index_body(kind, connection.settings, _ANY_DIMENSION, edition)["mappings"]
    if kind == CHUNKS:
        # The index keeps its dimension and graph parameters, whatever the settings say now.
        del mappings["properties"]["embedding"]
    name = edition_alias_of(kind, connection.settings, edition)
    with connection.translated():
        try:
            connection.client.indices.put_mapping(index=name, body=mappings)
        except RequestError as error:
            raise StoreError(
                f"the index {name} has field types that no release used ({reason_of(error.info)}); set "
                "opensearch.index to another name and index the repositories again"
            ) from error
