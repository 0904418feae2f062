"""Which versions have a symbol, compared with what git says about each branch."""

import ast
import random

import pytest

from codequarry.ingest.run.pipeline import IndexRequest, index_repository
from codequarry.search_api.answers.json import to_json
from codequarry.search_api.query.symbol_request import versions_request
from codequarry.search_api.search.engine import SearchEngine
from codequarry.search_api.search.symbol_versions import symbol_versions
from codequarry.shared.access.grants import Grant, Principal
from codequarry.shared.errors import NotIndexed, UsageError
from codequarry.shared.model import PathGlobs
from codequarry.shared.settings.config import SettingsModel
from codequarry.shared.versions.refs import Ref

PATHS = ("store.py", "lib/store.py")
BRANCHES = ("dev", "fix", "old")


def long_function(name, edit, indent=""):
    lines = [f"def {name}(self, key):", *(f"    total_{line} = key + {line + edit}" for line in range(40))]
    return "\n".join(indent + line for line in (*lines, "    return total_1"))


def short_function(name, edit):
    return f"def {name}(key):\n    return key + {edit}"


def module(chance):
    """Return a module with some of a few declarations, each in one of two texts."""
    edit = lambda: chance.choice((0, 1))  # noqa: E731
    parts = [
        long_function("load", edit()),
        long_function("save", edit()),
        "class Store:\n    size = 1\n\n" + long_function("load", edit(), "    "),
        short_function("small", edit()),
        short_function("tiny", edit()),
    ]
    kept = [part for part in parts if chance.random() < 0.75]
    chance.shuffle(kept)
    return "\n\n\n".join(kept or parts[:1]) + "\n"


def declared(text, qualified):
    """Return the text of a function by Python's own parser, or None."""
    tree, *scope = ast.parse(text), *qualified.split(".")[:-1]
    body = tree.body
    for name in scope:
        body = next((node.body for node in body if isinstance(node, ast.ClassDef) and node.name == name), [])
    last = qualified.split(".")[-1]
    node = next((node for node in body if isinstance(node, ast.FunctionDef) and node.name == last), None)
    return node and "\n".join(text.split("\n")[node.lineno - 1 : node.end_lineno])


@pytest.fixture
def world(make_repository, make_workshop):
    """Return a function that indexes a random repository with branches; the engine, and git's files by version."""

    def make(seed):
        chance = random.Random(seed)
        repository = make_repository(files={path: module(chance) for path in PATHS})
        workshop = make_workshop()
        index_repository(IndexRequest(repository.origin), workshop)
        for branch in BRANCHES:
            repository.git("checkout", "--quiet", "-b", branch, "main")
            for path in chance.sample(PATHS, chance.choice((0, 1, 2))):
                if chance.random() < 0.2:
                    repository.remove(path)
                else:
                    repository.write(path, module(chance))
            repository.commit(branch)
            index_repository(IndexRequest(repository.origin, Ref("branch", branch)), workshop)
        repository.git("checkout", "--quiet", "main")
        files = {
            branch: {
                path: repository.git("show", f"{branch}:{path}").decode()
                for path in repository.git("ls-tree", "-r", "--name-only", branch).decode().split()
            }
            for branch in ("main", *BRANCHES)
        }
        return SearchEngine(workshop.store, workshop.embedder, SettingsModel()), files

    return make


def ask(engine, name, **filters):
    return to_json(symbol_versions(engine, versions_request(name, filters)))["declarations"]


def refs(versions):
    return [version["ref"] for version in versions]


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("name", ["load", "save", "Store.load", "small"])
def test_versions_and_texts_are_those_that_git_shows(world, seed, name):
    engine, files = world(seed)
    found = [item for item in ask(engine, name) if name != "load" or item["symbol"] == "load"]
    for path in PATHS:
        expected = {ref: declared(of_ref.get(path, ""), name) for ref, of_ref in files.items()}
        items = [item for item in found if item["path"] == path]
        if not any(expected.values()):
            assert items == []
            continue
        (item,) = items
        having = [ref for text in item["texts"] for ref in refs(text["versions"])]
        assert sorted(having) == sorted(ref for ref, text in expected.items() if text)
        lacking = {version["ref"]: version["lack"] for version in item["lacking"]}
        assert lacking == {
            ref: "declaration missing" if path in files[ref] else "file missing"
            for ref, text in expected.items()
            if not text
        }
        if not any(text["shared"] for text in item["texts"]):
            groups = [sorted(refs(text["versions"])) for text in item["texts"]]
            by_text = {}
            for ref, text in expected.items():
                by_text.setdefault(text, []).append(ref)
            assert sorted(groups) == sorted(sorted(group) for text, group in by_text.items() if text)
        for text in item["texts"]:
            for version in text["versions"]:
                lines = files[version["ref"]][path].split("\n")[version["start_line"] - 1 : version["end_line"]]
                first = expected[version["ref"]].split("\n")[0]
                assert first in lines


A, B = "a" * 40, "b" * 40


def test_texts_that_differ_only_at_the_end_of_a_long_function_differ(make_repository, make_workshop):
    lines = ["def long_one(key):", *(f"    total_{line} = key + {line}  # a line of it" for line in range(150))]
    repository = make_repository(files={"a.py": "\n".join((*lines, "    return 1")) + "\n"})
    workshop = make_workshop()
    index_repository(IndexRequest(repository.origin), workshop)
    repository.git("checkout", "--quiet", "-b", "dev")
    repository.write("a.py", "\n".join((*lines, "    return 2")) + "\n")
    repository.commit()
    index_repository(IndexRequest(repository.origin, Ref("branch", "dev")), workshop)
    engine = SearchEngine(workshop.store, workshop.embedder, workshop.settings)
    [found] = ask(engine, "long_one")
    texts = [(refs(text["versions"]), text["end_line"]) for text in found["texts"]]
    assert texts == [(["main"], 152), (["dev"], 152)]


@pytest.fixture
def core(versioned_index):
    """Return an engine over two versions of core, and of a fork."""
    index = versioned_index
    for repo in ("core", "fork"):
        main, dev = index.add(repo), index.add(repo, "refs/heads/dev")
        files = {f"lib/{number}.py": f"def load():\n    return {number}" for number in range(5)}
        number = index.publish(main, A, files)
        index.publish(dev, B, {"lib/0.py": "def load():\n    return 9"}, base=(main, number), mask=("lib/0.py",))
    return SearchEngine(index.store, index.embedder, SettingsModel())


def test_versions_can_be_narrowed(core):
    (item,) = ask(core, "load", repo=["core"], path=["lib/0.py"])
    assert [refs(text["versions"]) for text in item["texts"]] == [["main"], ["dev"]]
    (item,) = ask(core, "load", repo=["core"], path=["lib/0.py"], branch=["d*"])
    assert [refs(text["versions"]) for text in item["texts"]] == [["dev"]]
    with pytest.raises(NotIndexed, match="no indexed branch matches 'x"):
        ask(core, "load", branch=["x*"])


def test_pages_hold_every_declaration_once(core):
    seen, cursor = [], None
    while True:
        page = symbol_versions(core, versions_request("load", {}, 4, cursor))
        assert (page.total, page.versions_searched) == (10, 4)
        seen += [(item.repo, item.path) for item in page.declarations]
        cursor = page.next_cursor
        if cursor is None:
            break
    assert seen == [(repo, f"lib/{number}.py") for repo in ("core", "fork") for number in range(5)]


def test_a_cursor_of_another_request_is_refused(core):
    cursor = symbol_versions(core, versions_request("load", {}, 4)).next_cursor
    with pytest.raises(UsageError, match="another request"):
        symbol_versions(core, versions_request("save", {}, 4, cursor))


def test_later_pages_show_the_state_of_the_first(core, versioned_index):
    cursor = symbol_versions(core, versions_request("load", {"repo": ["core"]}, 4)).next_cursor
    head = core.head()
    versioned_index.publish(head.defaults["core"], "c" * 40, {"lib/4.py": None})
    page = symbol_versions(core, versions_request("load", {"repo": ["core"]}, 4, cursor))
    assert [(item.path, refs(to_json(item.texts[0])["versions"])) for item in page.declarations] == [
        ("lib/4.py", ["main", "dev"])
    ]


def test_hidden_repositories_and_paths_are_not_shown(core):
    head = core.head()
    repo_id = head.id_of_repo("core")
    reader = Principal("reader", frozenset({"search"}), (Grant("core", PathGlobs(("lib/3.py",)), repo_id),))
    assert [(item["repo"], item["path"]) for item in ask(core.seen_by(reader), "load")] == [("core", "lib/3.py")]


@pytest.mark.parametrize("name", ["", "  ", "?!", "1"])
def test_text_that_is_no_name_is_refused(name):
    with pytest.raises(UsageError, match="not the name of a symbol"):
        versions_request(name, {})


def test_a_name_that_nothing_declares_has_no_declarations(core):
    assert ask(core, "absent") == []
    assert ask(core, "Store.load") == []
