"""The commands about symbols and their neighbours, as a person uses them."""

import json
from collections.abc import Callable
from typing import Any

import pytest

FILES = {
    "src/base.py": "class Base:\n    def check(self, key):\n        return key\n",
    "src/store.py": "from base import Base\n\n\nclass Store(Base):\n    def load(self, key):\n"
    "        return self.check(key)\n",
    "src/app.py": "import os\nfrom store import Store\n\n\ndef main():\n    os.getcwd()\n    return Store().load(1)\n",
}


@pytest.fixture(scope="module")
def place(new_workspace: Callable[[], Any]) -> Any:
    """Return a workspace with an indexed repository, and a branch of it."""
    place = new_workspace()
    repository = place.indexed("project", FILES)
    repository.git("checkout", "--quiet", "-b", "dev")
    repository.commit({"src/more.py": "from store import Store\n\n\ndef more():\n    return Store().load(2)\n"})
    repository.git("checkout", "--quiet", "main")
    assert place.run("index", repository.folder, "--branch", "dev").code == 0
    return place


def test_symbols_shows_definitions_with_signatures(place: Any) -> None:
    shown = place.run("symbols", "Store.load")
    assert shown.code == 0
    assert shown.out.splitlines() == [
        "project  src/store.py:5-6  Store.load  method",
        "    def load(self, key)",
    ]
    assert json.loads(place.run("symbols", "load", "--json").out)["definitions"][0]["symbol_name"] == "load"
    nothing = place.run("symbols", "nowhere")
    assert nothing.code == 0 and "nothing defines nowhere" in nothing.err


def test_callers_are_a_tree(place: Any) -> None:
    shown = place.run("callers", "Base.check", "--depth", "2")
    assert shown.out.splitlines() == [
        "project  src/base.py  Base.check",
        "└─ src/store.py:6  Store.load  call  0.89 by receiver",
        "   └─ src/app.py:7  main  call  0.92 by import",
    ]
    shown = place.run("callers", "Store.load", "--branch", "dev")
    assert [line.split()[1] for line in shown.out.splitlines()[1:]] == ["src/app.py:7", "src/more.py:5"]


def test_callees_name_what_is_defined_elsewhere(place: Any) -> None:
    shown = place.run("callees", "main").out
    assert "getcwd  call  line 6, not defined here" in shown
    assert "src/store.py:5  Store.load  call" in shown


def test_parents_and_children(place: Any) -> None:
    assert "src/base.py:1  Base  inherits" in place.run("parents", "Store").out
    assert "src/store.py:4  Store  inherits" in place.run("children", "Base").out
    assert "(top of the file)  import" not in place.run("children", "Base").out


def test_files_have_their_imports_as_parents_and_children(place: Any) -> None:
    assert "src/base.py:1  Base  import" in place.run("parents", "src/store.py").out
    shown = place.run("children", "src/base.py").out
    assert "src/store.py:1  (top of the file)  import" in shown and "src/store.py:4  Store  inherits" not in shown


def test_refs_of_some_kinds_as_json(place: Any) -> None:
    answer = json.loads(place.run("refs", "Store", "--kind", "import", "--kind", "call", "--json").out)
    assert [(edge["kind"], edge["from"]["line"]) for edge in answer["edges"]] == [("import", 2), ("call", 7)]
    nothing = place.run("refs", "main")
    assert nothing.code == 0 and "no edge of main" in nothing.err


def test_files_that_changed_together(new_workspace: Callable[[], Any]) -> None:
    place = new_workspace()
    repository = place.indexed("shop", {"pay.py": "def pay():\n    return 1\n", "till.py": "x = 1\n"})
    repository.commit({"pay.py": "def pay():\n    return 2\n", "till.py": "x = 2\n"})
    repository.commit({"pay.py": "def pay():\n    return 3\n"})
    assert place.run("index", repository.folder).code == 0
    shown = place.run("refs", "pay", "--kind", "co_change")
    assert shown.out.splitlines() == ["shop  pay.py", "└─ till.py  co_change  2 commits, share 1.00"]
    (edge,) = place.run("refs", "till.py", "--kind", "co_change", "--json").json["edges"]
    assert (edge["from"]["path"], edge["to"]["path"], edge["commits"]) == ("pay.py", "till.py", 2)
    assert edge["confidence"] == pytest.approx(0.667)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("refs", "main", "--kind", "calls"), "calls"),
        (("callers", "main", "--repo", "nowhere"), "nowhere"),
        (("callers", "main", "--depth", "9"), "depth"),
        (("callers", "main", "--branch", "*"), "one version"),
    ],
)
def test_wrong_use_is_one_line(place: Any, arguments: tuple[str, ...], words: str) -> None:
    shown = place.run(*arguments)
    assert shown.code in {1, 2} and words in shown.err and "Traceback" not in shown.err
