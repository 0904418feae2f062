"""Files that changed together, over real histories that the real pipeline indexes."""

import pytest

from codequarry.ingest.run.pipeline import IndexRequest, index_repository
from codequarry.search_api.answers.json import to_json
from codequarry.search_api.query.relations_request import graph_request
from codequarry.search_api.search.engine import SearchEngine
from codequarry.search_api.search.pages import Page
from codequarry.search_api.search.relations.edges import find_edges
from codequarry.shared.access.grants import Grant, Principal
from codequarry.shared.model import PathGlobs
from codequarry.shared.settings.config import SettingsModel
from codequarry.shared.versions.refs import Ref

FILES = {
    "src/pay.py": "def pay():\n    return 1\n",
    "src/till.py": "def open_till():\n    return 1\n",
    "docs/pay.md": "# Pay\n\nHow to pay.\n",
    "secret/keys.py": "KEY = 1\n",
    "gone.py": "x = 1\n",
    "notes.txt": "nothing\n",
}


@pytest.fixture
def origin(make_repository):
    """Return a repository in which `src/pay.py` changed alone, and along with other files."""
    repository = make_repository("shop", files=FILES)
    for number, together in enumerate(("src/till.py docs/pay.md gone.py", "src/till.py secret/keys.py", "notes.txt")):
        for path in ("src/pay.py", *together.split()):
            repository.write(path, FILES[path] + "\n" * (number + 1))
        repository.commit(f"change {number}")
    (repository.folder / "gone.py").unlink()
    repository.commit("without gone.py")
    return repository


@pytest.fixture
def workshop(make_workshop):
    return make_workshop()


@pytest.fixture
def engine(origin, workshop):
    index_repository(IndexRequest(origin.origin), workshop)
    return SearchEngine(workshop.store, workshop.embedder, SettingsModel())


def edges(engine, name, direction="in", kinds=("co_change",), filters=(), **options):
    given = {key: [value] for key, value in dict(filters).items()}
    request = graph_request(name, given, direction=direction, kinds=kinds, **options)
    return to_json(find_edges(engine, request))["edges"]


def pairs(found):
    return [(edge["from"]["path"], edge["to"]["path"], edge["commits"], edge["confidence"]) for edge in found]


def test_a_file_is_joined_to_those_that_changed_with_it(engine):
    """The share is that of the commits of the file in `from`; a file that is gone is no edge."""
    assert pairs(edges(engine, "src/pay.py", "out")) == [
        ("src/pay.py", "src/till.py", 3, 0.75),
        ("src/pay.py", "docs/pay.md", 2, 0.5),
        ("src/pay.py", "notes.txt", 2, 0.5),
        ("src/pay.py", "secret/keys.py", 2, 0.5),
    ]
    assert pairs(edges(engine, "src/pay.py", "in")) == [
        ("docs/pay.md", "src/pay.py", 2, 1.0),
        ("notes.txt", "src/pay.py", 2, 1.0),
        ("secret/keys.py", "src/pay.py", 2, 1.0),
        ("src/till.py", "src/pay.py", 3, 1.0),
    ]
    assert pairs(edges(engine, "src/pay.py", "both")) == pairs(edges(engine, "src/pay.py", "out"))


def test_a_symbol_stands_for_its_file(engine):
    (edge, *_) = edges(engine, "pay", "out")
    assert (edge["from"]["symbol"], edge["from"]["line"], edge["found_by"]) == (None, 1, "history")
    assert pairs(edges(engine, "pay", "out")) == pairs(edges(engine, "src/pay.py", "out"))


def test_a_chunk_without_definitions_stands_for_its_file(engine):
    located = Page.located(engine, graph_request("pay", {}).selection, None, "", 1).found
    (chunk, *_) = engine.store.chunks(located.scope.snapshot, "notes.txt", "shop")
    request = graph_request(None, {}, chunk_id=chunk.id, direction="out", kinds=["co_change"])
    assert pairs(to_json(find_edges(engine, request))["edges"]) == [("notes.txt", "src/pay.py", 2, 1.0)]


def test_they_are_shown_only_if_asked_for(engine):
    assert all(edge["kind"] != "co_change" for edge in edges(engine, "src/pay.py", "both", kinds=()))


def test_rare_pairs_can_be_left_out_and_filters_select_the_sources(engine):
    assert len(edges(engine, "src/pay.py", "out", min_confidence=0.6)) == 1
    assert [edge["from"]["path"] for edge in edges(engine, "src/pay.py", filters={"path": "src/"})] == ["src/till.py"]
    found = edges(engine, "src/pay.py", filters={"language": "markdown"})
    assert [edge["from"]["path"] for edge in found] == ["docs/pay.md"]


def test_a_deeper_walk_goes_from_file_to_file(engine):
    found = edges(engine, "docs/pay.md", "out", depth=2)
    assert (1, "docs/pay.md", "src/pay.py") in [(e["depth"], e["from"]["path"], e["to"]["path"]) for e in found]
    assert (2, "src/pay.py", "secret/keys.py") in [(e["depth"], e["from"]["path"], e["to"]["path"]) for e in found]


@pytest.mark.parametrize("direction", ["in", "out", "both"])
def test_both_files_must_be_visible(engine, direction):
    repo_id = engine.head().id_of_repo("shop")
    grant = Grant("shop", PathGlobs(exclude=("secret/",)), repo_id)
    limited = engine.seen_by(Principal("reader", frozenset({"search"}), (grant,)))
    assert "secret" not in str(edges(limited, "src/pay.py", direction))
    assert len(edges(limited, "src/pay.py", direction)) == 3
    assert edges(limited, "secret/keys.py", direction) == []


def test_a_branch_has_the_files_of_its_own(origin, workshop, engine):
    """On the branch, a file that is gone elsewhere exists again, and another is gone."""
    origin.git("checkout", "--quiet", "-b", "dev")
    origin.write("gone.py", "x = 2\n")
    origin.write("src/pay.py", "def pay():\n    return 5\n")
    (origin.folder / "docs/pay.md").unlink()
    origin.commit("dev")
    index_repository(IndexRequest(origin.origin, Ref("branch", "dev")), workshop)
    found = {edge["to"]["path"] for edge in edges(engine, "src/pay.py", "out", filters={"ref": "dev"})}
    assert "docs/pay.md" not in found and "gone.py" in found
    assert "gone.py" not in {edge["to"]["path"] for edge in edges(engine, "src/pay.py", "out")}
