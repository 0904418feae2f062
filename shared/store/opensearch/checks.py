"""Checks for `codequarry doctor`: whether a cluster provides the guarantees that the index relies on."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from codequarry.shared.errors import StoreError
from codequarry.shared.store.opensearch.indices import Indices
from codequarry.shared.store.opensearch.overview import Cluster, IndexFacts, read_cluster, read_indices
from codequarry.shared.store.opensearch.store import OpenSearchStore

IndexCheckState = Literal["ok", "warn", "fail"]

# The first version whose lucene engine accepts `ef_search` per query and filters during the search.
OLDEST_VERSION = (2, 19)
REPLICATION = "index.replication.type"
DURABILITY = "index.translog.durability"
BLOCKS = ("index.blocks.read_only_allow_delete", "index.blocks.read_only", "index.blocks.write")


@dataclass(frozen=True, slots=True)
class IndexCheck:
    """The result of a check; ``remedy`` says what to do if ``state`` is not ok."""

    name: str
    state: IndexCheckState
    message: str
    remedy: str = ""


def check_cluster(store: OpenSearchStore) -> list[IndexCheck]:
    """Check version, indices, replication, durability, blocks, health, vectors and shards."""
    try:
        return list(_checks(store))
    except StoreError as error:
        return [IndexCheck("cluster", "fail", str(error), "check the server and the [opensearch] settings")]


def _checks(store: OpenSearchStore) -> Iterator[IndexCheck]:
    yield check_version(read_cluster(store))
    found = read_indices(store)
    yield check_indices(found, store.settings.index)
    if found:
        yield check_replication(found)
        yield check_durability(found)
        yield check_blocks(found)
        yield check_health(found)
        yield check_dimension(store.indices)
        yield _check_shards(store)


def check_version(cluster: Cluster) -> IndexCheck:
    """Check that the server is a supported version of OpenSearch."""
    wanted = ".".join(map(str, OLDEST_VERSION))
    message = f"{cluster.distribution} {cluster.version}, cluster {cluster.name}"
    if cluster.distribution == "opensearch" and cluster.numbers >= OLDEST_VERSION:
        return IndexCheck("version", "ok", message)
    return IndexCheck("version", "fail", message, f"use OpenSearch {wanted} or newer")


def check_indices(found: Sequence[IndexFacts], index: str) -> IndexCheck:
    """Check that each alias points to one index."""
    aliases = [facts.alias for facts in found]
    doubled = sorted({alias for alias in aliases if aliases.count(alias) > 1})
    if doubled:
        return IndexCheck(
            "indices", "fail", f"alias of several indices: {', '.join(doubled)}", "remove the alias from all but one"
        )
    if not found:
        return IndexCheck("indices", "ok", f"the first write creates '{index}'")
    return IndexCheck("indices", "ok", f"{sum(facts.documents for facts in found):,} documents in {len(found)} indices")


def check_replication(found: Sequence[IndexFacts]) -> IndexCheck:
    """Check that a refresh reaches every copy; with segment replication, replicas still show old rows afterwards."""
    wrong = [facts.name for facts in found if str(facts.settings.get(REPLICATION, "DOCUMENT")).upper() != "DOCUMENT"]
    return _verdict("replication", wrong, "by document", f"reindex into an index with {REPLICATION}: DOCUMENT")


def check_durability(found: Sequence[IndexFacts]) -> IndexCheck:
    """Check that writes are on disk when they return."""
    wrong = [facts.name for facts in found if str(facts.settings.get(DURABILITY, "request")).lower() != "request"]
    return _verdict("durability", wrong, "every request is synced", f"set {DURABILITY} to request")


def check_blocks(found: Sequence[IndexFacts]) -> IndexCheck:
    """Check that writes are allowed; OpenSearch blocks them when the disk is nearly full."""
    wrong = [facts.name for facts in found if any(str(facts.settings.get(name)) == "true" for name in BLOCKS)]
    return _verdict("writing", wrong, "allowed", "free disk space on the server, then remove the block")


def check_health(found: Sequence[IndexFacts]) -> IndexCheck:
    """Check that every shard has all its copies."""
    red = [facts.name for facts in found if facts.health == "red"]
    if red:
        return _verdict("health", red, "", "see the cluster's log; data in these indices cannot be read")
    yellow = [facts.name for facts in found if facts.health == "yellow"]
    if yellow:
        return IndexCheck("health", "warn", f"copies missing: {', '.join(yellow)}", "add nodes, or use fewer replicas")
    return IndexCheck("health", "ok", "green")


def check_dimension(indices: Indices) -> IndexCheck:
    """Check that the vectors of the index and of the model have the same length."""
    wrong = [name for name, dimension in indices.dimensions().items() if dimension != indices.dimension]
    return _verdict("vectors", wrong, f"{indices.dimension} dimensions", "use the embedding model that made the index")


def _check_shards(store: OpenSearchStore) -> IndexCheck:
    try:
        store.refresh()
    except StoreError as error:
        return IndexCheck(
            "shards", "fail", str(error), "see the cluster's log; nothing is published while a shard is failing"
        )
    return IndexCheck("shards", "ok", "all shards answer")


def _verdict(name: str, wrong: Sequence[str], fine: str, remedy: str) -> IndexCheck:
    if not wrong:
        return IndexCheck(name, "ok", fine)
    return IndexCheck(name, "fail", f"wrong in {', '.join(wrong)}", remedy)
