"""Rules 13 to 15 of docs/versioned-index.md, on both stores, each with a test that fails without it."""

from dataclasses import replace

import pytest

from codequarry.ingest.run.pipeline import IndexRequest, index_repository
from codequarry.search_api.versions.views import DefaultViews
from codequarry.shared.access.grants import Grant, Principal, permitted_head
from codequarry.shared.access.key_list import ids_by_name
from codequarry.shared.catalog.ledger import read_head
from codequarry.shared.model import Filters, PathGlobs, Snapshot
from codequarry.shared.store.embedded import path_names
from codequarry.shared.store.opensearch.store import OpenSearchStore
from codequarry.shared.store.records import RecallQuery
from codequarry.shared.versions.commit_log import message_path
from codequarry.shared.versions.refs import Ref
from codequarry.shared.versions.snapshots import head_snapshot

WORDS = ("alpha", "beta", "common", "shared", "nowhere")
FILES = {
    "src/net/client.py": "def alpha():\n    common = beta\n",
    "src/net/server.py": "def shared():\n    common = shared\n",
    "src/network.py": "common = 1\n",
    "docs/read.py": "beta = common\n",
}


class Library:
    """Several repositories in one index."""

    def __init__(self, workshop, make_repository) -> None:
        self.workshop, self.store, self.make_repository = workshop, workshop.store, make_repository

    def add(self, name, files):
        repository = self.make_repository(name, files)
        self.index(repository)
        return repository

    def index(self, repository, ref=None):
        index_repository(IndexRequest(repository.origin, ref=ref), self.workshop)

    def snapshot(self, *repos):
        return head_snapshot(read_head(self.store), repos or None)

    def recall(self, *repos, snapshot=None):
        vector = self.workshop.embedder.embed_query("a common word")
        return self.store.recall(RecallQuery(snapshot or self.snapshot(*repos), Filters(), vector, WORDS))

    def paths(self, *grants):
        """Return the paths that a principal with these grants finds."""
        ids = ids_by_name(self.store)
        bound = tuple(replace(grant, repo_id=ids.get(grant.repos, "")) for grant in grants)
        head = permitted_head(read_head(self.store), Principal("somebody", frozenset({"search"}), bound))
        views = DefaultViews(head, {}, head.defaults)
        seen = Snapshot(tuple(layer for name in views for view in views[name] for layer in view.layers(head.hidden)))
        found = {candidate.chunk.path for candidate in self.recall(snapshot=seen).candidates.values()}
        assert self.store.count(seen, Filters()) == len(found), "one chunk for each file"
        return found


@pytest.fixture
def library(make_workshop_on_each, make_repository):
    """Return an empty index on each store."""
    return Library(make_workshop_on_each(), make_repository)


def told(found):
    """Return the inputs of the scores, and the engine's results."""
    return {
        "frequencies": found.document_frequencies,
        "live": found.live_chunks,
        "lengths": {name: round(value, 4) for name, value in found.average_lengths.items()},
        "terms": found.by_terms,
        "nearest": [(chunk, round(found.candidates[chunk].similarity, 4)) for chunk in found.by_vector],
        "tokens": {chunk: found.candidates[chunk].tokens for chunk in found.candidates},
    }


def test_rule_14_dead_rows_branches_and_hidden_repositories_change_no_count_or_score(library):
    mine = library.add("mine", FILES)
    before = told(library.recall("mine"))
    assert before["frequencies"] == {"alpha": 1, "beta": 2, "common": 4, "shared": 1, "nowhere": 0}
    assert before["live"] == 4

    for text in ("alpha = common * common\n" * 20, FILES["src/network.py"]):
        mine.write("src/network.py", text)
        mine.write("gone.py", "nowhere = alpha\n" * 9)
        mine.commit()
        library.index(mine)
        mine.remove("gone.py")
    mine.commit()
    library.index(mine)
    assert told(library.recall("mine")) == before, "dead rows are not counted"

    mine.git("checkout", "--quiet", "-b", "dev")
    mine.write("docs/read.py", "nowhere = alpha + beta\n" * 9)
    mine.commit()
    library.index(mine, Ref("branch", "dev"))
    assert told(library.recall("mine")) == before, "branches are not counted"

    library.add("hidden", {f"{name}.py": "nowhere = alpha + beta + shared + common\n" * 9 for name in "abcdef"})
    assert told(library.recall("mine")) == before, "hidden repositories are not counted"
    assert library.recall().live_chunks == 10, "although they exist"


def test_rule_15_a_grant_covers_only_its_repository_or_folder(library):
    library.add("mine", FILES)
    library.add("mine-too", {"src/net/other.py": "common = 2\n"})
    assert library.paths() == set()
    assert library.paths(Grant("mine")) == set(FILES)
    assert library.paths(Grant("mine*")) == {*FILES, "src/net/other.py"}
    assert library.paths(below("src")) == {"src/net/client.py", "src/net/server.py", "src/network.py"}
    assert library.paths(below("src/net")) == {"src/net/client.py", "src/net/server.py"}
    too = Grant("mine-too", PathGlobs(("src/",)))
    assert library.paths(below("docs"), too) == {"docs/read.py", "src/net/other.py"}
    assert library.paths(Grant("mine", PathGlobs((), ("src/",)))) == {"docs/read.py"}
    for nothing in ("src/ne", "ocs", "docs/read.py"):
        assert library.paths(below(nothing)) == set(), nothing
    assert library.paths(Grant("min"), Grant("elsewhere*")) == set()


def below(folder):
    return Grant("mine", PathGlobs((f"{folder}/",)))


def test_rule_13_cached_state_is_updated_only_by_what_a_transaction_changed(make_workshop, make_repository):
    """The embedded store examines neither known rows nor known paths again."""
    library = Library(make_workshop(), make_repository)
    library.add("mine", FILES)
    below = Filters(paths=PathGlobs(("src/",)))
    assert library.store.count(library.snapshot(), below) == 3
    with pytest.MonkeyPatch.context() as patched:
        matched = []
        patched.setattr(path_names, "path_matches", lambda _, path: matched.append(path) or path.startswith("src/"))
        known = library.store._columns._columns
        library.add("another", {"src/new.py": "common = 1\n"})
        assert library.store.count(library.snapshot(), below) == 4
    assert [path for path in matched if message_path("") not in path] == ["src/new.py"]
    assert len(matched) == 2, "the other path is that of the new commit's message"
    assert library.store._columns._columns.born[: len(known.born)].tolist() == known.born.tolist()


@pytest.mark.opensearch
def test_rule_13_counts_of_a_head_are_cached_until_it_changes(opensearch_node, make_workshop, make_repository):
    """OpenSearch: the counts of a snapshot are a separate request, which the next query finds in the cache."""
    workshop = make_workshop()
    dimension = workshop.embedder.dimension
    with opensearch_node.empty_index(dimension) as settings:
        store = OpenSearchStore(settings, dimension)
        library = Library(replace(workshop, store=store), make_repository)

        def answered_from_cache(*words):
            stats = {"index": settings.index, "metric": "request_cache"}
            before = store.client.indices.stats(**stats)["_all"]["total"]["request_cache"]["hit_count"]
            found = store.recall(RecallQuery(library.snapshot(), terms=words))
            after = store.client.indices.stats(**stats)["_all"]["total"]["request_cache"]["hit_count"]
            return found.live_chunks, after > before

        mine = library.add("mine", FILES)
        assert answered_from_cache("alpha") == (4, False)
        assert answered_from_cache("beta") == (4, True)
        mine.write("new.py", "common = 2\n")
        mine.commit()
        library.index(mine)
        assert answered_from_cache("common") == (5, False)
        assert answered_from_cache("shared") == (5, True)
        store.close()
