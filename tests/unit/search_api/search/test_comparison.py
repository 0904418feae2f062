"""Two versions compared and searched side by side, on both stores."""

import pytest

from codequarry.search_api.answers.json import to_json
from codequarry.search_api.query.diff_request import parse_diff
from codequarry.search_api.search.comparison import compare
from codequarry.search_api.search.engine import SearchEngine, parse_request
from codequarry.shared.errors import NotIndexed, UsageError
from codequarry.shared.settings.config import SettingsModel

MAIN = {
    "stay.py": "def stay():\n    return 'same'\n\n\ndef grow():\n    return 1",
    "old/move.py": "def move():\n    return 'moved as it is'",
    "gone.py": "def vanish():\n    return 'no more'",
    "kind.py": "def twin():\n    return 'first'",
}
DEV = {
    "stay.py": "def first():\n    return 0\n\n\ndef stay():\n    return 'same'\n\n\ndef grow():\n    return 1, 2",
    "old/move.py": None,
    "new/move.py": MAIN["old/move.py"],
    "gone.py": None,
    "other.py": "def twin():\n    return 'second'",
}
DIFFERENCES = {
    ("added", "first"),
    ("added", "twin"),
    ("changed", "grow"),
    ("moved", "move"),
    ("removed", "vanish"),
}


@pytest.fixture(params=["versioned_index", pytest.param("versioned_opensearch_index", marks=pytest.mark.opensearch)])
def engine(request):
    """Return an engine over a repository and a branch stored as an overlay."""
    index = request.getfixturevalue(request.param)
    main, dev = index.add("core"), index.add("core", "refs/heads/dev")
    number = index.publish(main, "a" * 40, MAIN)
    overlay = {path: text for path, text in DEV.items() if text}
    index.publish(dev, "b" * 40, overlay, base=(main, number), mask=tuple(DEV))
    index.publish(main, "c" * 40, {"later.py": "def later(): ..."})
    return SearchEngine(index.store, index.embedder, SettingsModel())


def ask(engine, **fields):
    return to_json(compare(engine, parse_diff({"query": "def return", "top_k": 50, "max_per_file": 50, **fields})))


def test_added_removed_moved_and_changed_code_is_reported(engine):
    answer = ask(engine, **{"from": "a" * 40, "to": "dev"})
    assert {(hit["change"], hit["symbol"]) for hit in answer["results"]} == DIFFERENCES
    assert answer["counts"] == {"added": 2, "removed": 1, "moved": 1, "renamed": 0, "changed": 1, "unchanged": 2}
    moved = next(hit for hit in answer["results"] if hit["change"] == "moved")
    assert (moved["from"]["path"], moved["to"]["path"]) == ("old/move.py", "new/move.py")
    assert [entry["indexed_commit"] for entry in answer["freshness"]] == ["a" * 40, "b" * 40]
    scores = [hit["score"] for hit in answer["results"]]
    assert scores == sorted(scores, reverse=True)


def test_swapping_the_versions_swaps_added_and_removed(engine):
    turned = {"added": "removed", "removed": "added"}
    answer = ask(engine, **{"from": "dev", "to": "a" * 40})
    expected = {(turned.get(change, change), symbol) for change, symbol in DIFFERENCES}
    # Code that is only in dev now counts as removed. The twin in kind.py is in both versions.
    assert {(hit["change"], hit["symbol"]) for hit in answer["results"]} == expected


def test_a_version_does_not_differ_from_itself(engine):
    answer = ask(engine, **{"from": "main", "to": "main"})
    assert (answer["results"], answer["reason"]) == ([], "no hit differs")
    assert ask(engine, **{"from": "main", "to": "main", "all": True})["results"]


def test_top_k_and_max_per_file_limit_the_results(engine):
    answer = ask(engine, **{"from": "a" * 40, "to": "dev", "top_k": 2, "max_per_file": 1})
    assert len({hit["path"] for hit in answer["results"]}) == len(answer["results"]) == 2


def test_an_unknown_or_missing_version_is_refused(engine):
    with pytest.raises(NotIndexed):
        ask(engine, **{"from": "main", "to": "nope"})
    with pytest.raises(UsageError, match="'from'"):
        ask(engine, to="main")


def test_hits_of_several_versions_name_the_versions_that_contain_them(engine):
    fields = {"query": "def return", "top_k": 50, "max_per_file": 50, "filters": {"branch": ["main", "dev"]}}
    answer = to_json(engine.search(parse_request(fields)))
    holders = {
        (hit["path"], hit["symbol_name"]): [version["ref"] for version in hit["versions"]] for hit in answer["results"]
    }
    assert holders["kind.py", "twin"] == ["main", "dev"]
    assert holders["other.py", "twin"] == ["dev"]
    assert holders["gone.py", "vanish"] == ["main"]
    assert holders["later.py", "later"] == ["main"]
    assert ("old/move.py", "move") in holders and ("new/move.py", "move") in holders
