"""Definitions and edges, over real repositories that the real pipeline indexes."""

import pytest

from codequarry.ingest.run.pipeline import IndexRequest, index_repository
from codequarry.search_api.answers.json import to_json
from codequarry.search_api.query.relations_request import definitions_request, graph_request
from codequarry.search_api.search.engine import SearchEngine
from codequarry.search_api.search.relations.defined_symbols import defined_symbols
from codequarry.search_api.search.relations.edges import find_edges
from codequarry.shared.access.grants import Grant, Principal
from codequarry.shared.errors import UnknownName, UsageError
from codequarry.shared.model import PathGlobs
from codequarry.shared.settings.config import SettingsModel
from codequarry.shared.versions.refs import Ref

STORE = {
    "pyproject.toml": "[project]\nname = 'acme-store'\n",
    "src/acme_store/__init__.py": "from .store import Store\n",
    "src/acme_store/base.py": '''class Base:
    """Everything that is stored."""

    def check(self, key):
        return key

    def load(self, key):
        return self.check(key)
''',
    "src/acme_store/store.py": """from .base import Base


class Store(Base):
    def __init__(self):
        self.items = Items()

    def load(self, key):
        self.check(key)
        return self.items.fetch(key)


class Items:
    def fetch(self, key):
        return key
""",
    "secret/keys.py": "from acme_store import Store\n\n\ndef steal(store: Store):\n    return store.load('key')\n",
    "docs/guide.md": "# Guide\n\nSee [usage](usage.md#load-a-key) and `src/acme_store/store.py`.\n",
    "db/schema.sql": "CREATE TABLE owners (id int);\nCREATE TABLE pets (owner int REFERENCES owners(id));\n",
    "db/build.lua": "function owners() end\nfunction owners() end\nfunction build() owners() end\n",
    "db/settings.yaml": "Items:\n  most: 3\n",
    "docs/items.md": "# Items\n\nWhat a store keeps.\n",
    "docs/usage.md": "# Usage\n\n## Load a key\n\nCall load.\n",
}
APP = {
    "app.py": """from acme_store import Store


def main():
    store = Store()
    return show(store.load('a'))


def show(item):
    return item
""",
    "other/load.py": "def load():\n    return 1\n\n\ndef run(thing):\n    return load() + thing.check()\n",
}


@pytest.fixture
def engine(make_repository, make_workshop):
    workshop = make_workshop()
    for name, files in (("store", STORE), ("app", APP)):
        repository = make_repository(name, files=files)
        index_repository(IndexRequest(repository.origin), workshop)
    return SearchEngine(workshop.store, workshop.embedder, SettingsModel())


def edges(engine, name, direction="in", *kinds, **options):
    filters = {key: [options.pop(key)] for key in ("repo", "path", "ref") if key in options}
    answer = to_json(find_edges(engine, graph_request(name, filters, direction=direction, kinds=kinds, **options)))
    return answer["edges"]


def lines(found):
    return [(edge["from"]["path"], edge["from"]["symbol"], edge["to"] and edge["to"]["symbol"]) for edge in found]


def test_callers_are_found_through_imports_types_and_other_repositories(engine):
    found = edges(engine, "Store.load", "in", "call")
    assert lines(found) == [
        ("app.py", "main", "Store.load"),
        ("secret/keys.py", "steal", "Store.load"),
    ]
    assert {edge["found_by"] for edge in found} <= {"import", "receiver"}
    assert all(edge["confidence"] > 0.7 for edge in found)


def test_a_name_that_only_sounds_alike_is_no_caller(engine):
    assert ("other/load.py", "run", "load") in lines(edges(engine, "load", "in", "call"))
    assert all(edge["from"]["path"] != "other/load.py" for edge in edges(engine, "Store.load"))


def test_callees_are_followed_to_inherited_members(engine):
    found = edges(engine, "Store.load", "out", "call")
    assert lines(found) == [
        ("src/acme_store/store.py", "Store.load", "Base.check"),
        ("src/acme_store/store.py", "Store.load", "Items.fetch"),
    ]


def test_parents_and_children_are_the_same_edges(engine):
    parents = edges(engine, "Store", "out", "inherits")
    children = edges(engine, "Base", "in", "inherits")
    assert parents == children and lines(parents) == [("src/acme_store/store.py", "Store", "Base")]


def test_a_deeper_walk_reaches_the_callers_of_callers(engine):
    found = edges(engine, "Base.check", "in", "call", depth=3)
    assert [(edge["depth"], edge["from"]["symbol"]) for edge in found] == [
        (1, "Base.load"),
        (1, "Store.load"),
        (2, "main"),
        (2, "steal"),
    ]


def test_what_is_defined_elsewhere_has_no_end(make_repository, make_workshop):
    workshop = make_workshop()
    repository = make_repository(files={"a.py": "import os\n\n\ndef f():\n    return os.getcwd()\n"})
    index_repository(IndexRequest(repository.origin), workshop)
    engine = SearchEngine(workshop.store, workshop.embedder, SettingsModel())
    (edge,) = edges(engine, "f", "out", "call")
    assert (edge["to"], edge["found_by"], edge["confidence"], edge["name"]) == (None, None, 0.0, "getcwd")


def test_the_result_of_a_call_flows_to_its_taker(engine):
    (found,) = edges(engine, "show", "out", "data_flow")
    assert (found["from"]["symbol"], found["to"]["symbol"], found["via"]["line"]) == ("show", "Store.load", 6)
    returned = {"from": "steal", "line": 5}
    into_load = edges(engine, "Store.load", "in", "data_flow")
    assert found in into_load and len(into_load) == 2
    assert {"from": into_load[1]["from"]["symbol"], "line": into_load[1]["from"]["line"]} == returned


POM = "<project><groupId>{}</groupId><artifactId>{}</artifactId><dependencies>{}</dependencies></project>"
NEEDS_PAY = "<dependency><groupId>org.acme</groupId><artifactId>pay</artifactId></dependency>"
TILL = "package org.acme.pay;\n\npublic class Till {\n  public void open() {}\n}\n"
MAIN = """package org.app;

import org.acme.pay.Till;

class Main {
  void run() { new Till().open(); }
}
"""


def test_a_pom_says_which_repository_is_meant(make_repository, make_workshop):
    """A fork has the same Java package under other coordinates."""
    workshop = make_workshop()
    repositories = {
        "fork": {"pom.xml": POM.format("org.fork", "pay", ""), "src/Till.java": TILL},
        "pay": {"pom.xml": POM.format("org.acme", "pay", ""), "src/Till.java": TILL},
        "app": {"pom.xml": POM.format("org.app", "app", NEEDS_PAY), "src/Main.java": MAIN},
    }
    for name, files in repositories.items():
        index_repository(IndexRequest(make_repository(name, files=files).origin), workshop)
    engine = SearchEngine(workshop.store, workshop.embedder, SettingsModel())
    found = edges(engine, "Main.run", "out", "call")
    assert [(edge["to"]["repo"], edge["to"]["symbol"]) for edge in found] == [("pay", "Till"), ("pay", "Till.open")]
    assert [edge["confidence"] for edge in edges(engine, "src/Main.java", "out", "import")] == [0.97]
    apart = engine.seen_by(
        Principal(
            "x",
            frozenset({"search"}),
            tuple(Grant(n, PathGlobs(), engine.head().id_of_repo(n)) for n in ("fork", "app")),
        )
    )
    assert [edge["confidence"] for edge in edges(apart, "src/Main.java", "out", "import")] == [0.679]


def test_documents_link_to_sections_and_to_source_files(engine):
    found = edges(engine, "docs/guide.md", "out", "link")
    assert [(edge["from"]["line"], edge["to"]["path"], edge["to"]["symbol"]) for edge in found] == [
        (3, "docs/usage.md", "Load a key"),
        (3, "src/acme_store/store.py", None),
    ]
    assert [edge["from"]["path"] for edge in edges(engine, "store.py", "in", "link")] == ["docs/guide.md"]


def test_a_module_can_be_asked_for_who_imports_it(engine):
    by_file = edges(engine, "src/acme_store/base.py", "in", "import")
    by_name = edges(engine, "Base", "in", "import")
    assert lines(by_name) == [("src/acme_store/store.py", None, "Base")] and by_file == by_name


def test_a_branch_has_edges_of_its_own(make_repository, make_workshop):
    repository = make_repository(files={"a.py": "def f():\n    return 1\n", "b.py": "from a import f\n\n\nf()\n"})
    workshop = make_workshop()
    index_repository(IndexRequest(repository.origin), workshop)
    repository.git("checkout", "--quiet", "-b", "dev")
    repository.write("c.py", "import a\n\n\ndef g():\n    return a.f()\n")
    repository.write("a.py", "\n\ndef f():\n    return 2\n")
    repository.commit("dev")
    index_repository(IndexRequest(repository.origin, Ref("branch", "dev")), workshop)
    engine = SearchEngine(workshop.store, workshop.embedder, SettingsModel())
    assert [(edge["from"]["path"], edge["to"]["line"]) for edge in edges(engine, "f", "in", "call")] == [("b.py", 1)]
    found = edges(engine, "f", "in", "call", ref="dev")
    assert [(edge["from"]["path"], edge["to"]["line"]) for edge in found] == [("b.py", 3), ("c.py", 3)]
    with pytest.raises(UsageError, match="one version of each repository"):
        edges(engine, "f", ref="*")


def reader(engine, repo, globs=PathGlobs()):  # noqa: B008 -- frozen
    """Return the engine for a caller who sees some paths of one repository."""
    repo_id = engine.head().id_of_repo(repo)
    return engine.seen_by(Principal("reader", frozenset({"search"}), (Grant(repo, globs, repo_id),)))


def test_both_ends_of_an_edge_must_be_visible(engine):
    limited = reader(engine, "store", PathGlobs(exclude=("secret/",)))
    assert lines(edges(limited, "Store.load", "in", "call")) == []
    assert lines(edges(limited, "Store.load", "out", "call", path="src/")) == lines(
        edges(engine, "Store.load", "out", "call")
    )
    apart = reader(engine, "app")
    assert lines(edges(apart, "main", "out", "call")) == [
        ("app.py", "main", None),
        ("app.py", "main", "show"),
        ("app.py", "main", None),
    ]


def test_pages_together_are_the_whole_answer(engine):
    whole = to_json(find_edges(engine, graph_request("load", {}, limit=100)))
    pages, cursor = [], None
    while True:
        page = to_json(find_edges(engine, graph_request("load", {}, limit=2, cursor=cursor)))
        assert page["total"] == whole["total"]
        pages += page["edges"]
        cursor = page["next_cursor"]
        if cursor is None:
            break
    assert pages == whole["edges"] and len(pages) == whole["total"] > 2
    cursor = find_edges(engine, graph_request("load", {}, limit=2)).next_cursor
    with pytest.raises(UsageError, match="belongs to another request"):
        find_edges(engine, graph_request("check", {}, limit=2, cursor=cursor))


def test_definitions_have_place_kind_and_container(engine):
    answer = to_json(defined_symbols(engine, definitions_request("Store.load", {})))
    (found,) = answer["definitions"]
    assert (found["path"], found["start_line"], found["end_line"]) == ("src/acme_store/store.py", 8, 10)
    assert (found["qualified_name"], found["container"], found["symbol_kind"]) == ("Store.load", "Store", "method")
    assert found["signature"] == "def load(self, key)" and found["exported"] is True
    names = {
        item["qualified_name"]
        for item in to_json(defined_symbols(engine, definitions_request("load", {})))["definitions"]
    }
    assert names == {"Base.load", "Store.load", "load"}
    (attribute,) = defined_symbols(engine, definitions_request("items", {})).definitions
    assert (attribute.qualified_name, attribute.symbol_kind) == ("Store.items", "variable")


def test_sections_of_documents_come_after_code(engine):
    found = defined_symbols(engine, definitions_request("Items", {})).definitions
    assert [symbol.path for symbol in found] == ["src/acme_store/store.py", "db/settings.yaml", "docs/items.md"]


def test_foreign_keys_lead_to_tables(engine):
    (edge,) = edges(engine, "owners", "in", "type")
    assert (edge["from"]["symbol"], edge["to"]["path"], edge["to"]["line"]) == ("pets", "db/schema.sql", 1)
    assert (edge["found_by"], edge["confidence"]) == ("unique_name", pytest.approx(0.49))


def test_what_a_name_may_mean_in_a_language_without_rules_is_below_the_default_confidence(engine):
    assert edges(engine, "owners", "in", "call") == []
    found = to_json(find_edges(engine, graph_request("build", {}, direction="out", kinds=["call"], min_confidence=0.1)))
    (edge,) = found["edges"]
    assert (edge["found_by"], edge["confidence"]) == ("name", pytest.approx(0.14))


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"kinds": ["calls"]}, UnknownName, "calls"),
        ({"direction": "up"}, UnknownName, "up"),
        ({"chunk_id": "x"}, UsageError, "either 'name' or 'chunk_id'"),
    ],
)
def test_a_request_that_makes_no_sense_is_refused(options, error, message):
    with pytest.raises(error, match=message):
        graph_request("load", {}, **options)
