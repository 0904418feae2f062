"""The version of the mappings: checked when an edition is opened, and brought up to date in place.

Releases before version 1 wrote none: their indices count as version 0 and have the fields of version 1.
"""

from typing import Any

from opensearchpy import OpenSearch
from opensearchpy.exceptions import RequestError

from codequarry.opensearch.bodies import CHUNKS, KINDS, edition_alias_of, index_body
from codequarry.shared.errors import OldFormat, StoreError, StoreUnavailable
from codequarry.shared.settings.config import OpenSearchSettings
from codequarry.shared.store.opensearch.connection import reason_of, translated

VERSION = "schema_version"
# The version of this release's mappings, which is the one in each of the JSON files.
SCHEMA = 1
# From this version on, the mappings have only gained fields, and put_mapping is all that an index needs. When a release
# changes the type of a field, raise this number to its version, and let `upgrade` copy older indices to a new edition.
ADDITIVE_SINCE = 0
# Any length: the field of the vectors is left out of what is sent.
_ANY_DIMENSION = 1


def read_versions(client: OpenSearch, settings: OpenSearchSettings, edition: int) -> dict[str, int]:
    """Return the version of each kind of index that exists; 0 for an index of a release that wrote none."""
    aliases = {edition_alias_of(kind, settings, edition): kind for kind in KINDS}
    found: dict[str, int] = {}
    with translated(settings):
        for alias, kind in aliases.items():
            answer: dict[str, Any] = client.indices.get_mapping(
                index=alias, params={"ignore_unavailable": "true", "allow_no_indices": "true"}
            )
            for body in answer.values():
                found[kind] = int(body["mappings"].get("_meta", {}).get(VERSION, 0))
    return found


def check_versions(client: OpenSearch, settings: OpenSearchSettings, edition: int) -> dict[str, int]:
    """Return the versions of an edition that this release can read.

    StoreUnavailable if a newer release wrote one of its indices, OldFormat if one can't be brought up to date in place.
    An index that only lacks fields or its version is fine: the first write adds them (``upgrade``).
    """
    versions = read_versions(client, settings, edition)
    for kind, version in versions.items():
        name = edition_alias_of(kind, settings, edition)
        if version > SCHEMA:
            raise StoreUnavailable(
                f"a newer release of Codequarry wrote the index {name} (mapping {version}, this release reads up to "
                f"{SCHEMA}); use that release, or set opensearch.index to another name and index again"
            )
        if version < ADDITIVE_SINCE:
            raise OldFormat(
                f"an older release wrote the index {name} (mapping {version}, this release reads {SCHEMA}); stop what "
                "uses it and run codequarry migrate --schema"
            )
    return versions


def upgrade(client: OpenSearch, settings: OpenSearchSettings, edition: int) -> tuple[int, int]:
    """Bring the mappings of an edition up to date, and return the lowest version before and after.

    Several processes may do this at once: each sends the same fields, and the server applies a mapping in one step.
    """
    before = check_versions(client, settings, edition)
    for kind, version in before.items():
        if version < SCHEMA:
            _put(client, settings, kind, edition)
    after = read_versions(client, settings, edition)
    return min(before.values(), default=0), min(after.values(), default=0)


def _put(client: OpenSearch, settings: OpenSearchSettings, kind: str, edition: int) -> None:
    mappings = index_body(kind, settings, _ANY_DIMENSION, edition)["mappings"]
    if kind == CHUNKS:
        # Its length and its graph are those that the index was made with, whatever the settings say today.
        del mappings["properties"]["embedding"]
    name = edition_alias_of(kind, settings, edition)
    with translated(settings):
        try:
            client.indices.put_mapping(index=name, body=mappings)
        except RequestError as error:
            raise StoreError(
                f"the index {name} has fields of other types than any release gave them ({reason_of(error.info)}); set "
                "opensearch.index to another name and index again"
            ) from error
