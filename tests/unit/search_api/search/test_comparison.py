"""Two versions side by side and compared, on both stores."""

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
    """Give an engine over a repository and a branch that lies over it."""
    index = request.getfixturevalue(request.param)
    main, dev = index.add("core"), index.add("core", "refs/heads/dev")
    number = index.publish(main, "a" * 40, MAIN)
    overlay = {path: text for path, text in DEV.items() if text}
    index.publish(dev, "b" * 40, overlay, base=(main, number), mask=tuple(DEV))
    index.publish(main, "c" * 40, {"later.py": "def later(): ..."})
    return SearchEngine(index.store, index.embedder, SettingsModel())


def ask(engine, **fields):
    return to_json(compare(engine, parse_diff({"query": "def return", "top_k": 50, "max_per_file": 50, **fields})))


def test_what_was_added_removed_moved_and_changed(engine):
    answer = ask(engine, **{"from": "a" * 40, "to": "dev"})
    assert {(one["change"], one["symbol"]) for one in answer["results"]} == DIFFERENCES
    assert answer["counts"] == {"added": 2, "removed": 1, "moved": 1, "changed": 1, "unchanged": 2}
    moved = next(one for one in answer["results"] if one["change"] == "moved")
    assert (moved["from"]["path"], moved["to"]["path"]) == ("old/move.py", "new/move.py")
    assert [entry["indexed_commit"] for entry in answer["freshness"]] == ["a" * 40, "b" * 40]
    scores = [one["score"] for one in answer["results"]]
    assert scores == sorted(scores, reverse=True)


def test_the_other_way_round_added_and_removed_change_places(engine):
    turned = {"added": "removed", "removed": "added"}
    answer = ask(engine, **{"from": "dev", "to": "a" * 40})
    expected = {(turned.get(change, change), symbol) for change, symbol in DIFFERENCES}
    # What was new in dev is gone, and the other way round; the twin of kind.py was there all the time.
    assert {(one["change"], one["symbol"]) for one in answer["results"]} == expected


def test_a_version_is_the_same_as_itself(engine):
    answer = ask(engine, **{"from": "main", "to": "main"})
    assert (answer["results"], answer["reason"]) == ([], "no hit differs")
    assert ask(engine, **{"from": "main", "to": "main", "all": True})["results"]


def test_the_best_are_kept_with_few_of_a_file(engine):
    answer = ask(engine, **{"from": "a" * 40, "to": "dev", "top_k": 2, "max_per_file": 1})
    assert len({one["path"] for one in answer["results"]}) == len(answer["results"]) == 2


def test_a_version_that_no_repository_has_beside_the_other_is_refused(engine):
    with pytest.raises(NotIndexed):
        ask(engine, **{"from": "main", "to": "nope"})
    with pytest.raises(UsageError, match="'from'"):
        ask(engine, to="main")


def test_hits_of_versions_side_by_side_name_those_that_hold_them(engine):
    fields = {"query": "def return", "top_k": 50, "max_per_file": 50, "filters": {"branch": ["main", "dev"]}}
    answer = to_json(engine.search(parse_request(fields)))
    holders = {(hit["path"], hit["symbol_name"]): [one["ref"] for one in hit["versions"]] for hit in answer["results"]}
    assert holders["kind.py", "twin"] == ["main", "dev"]
    assert holders["other.py", "twin"] == ["dev"]
    assert holders["gone.py", "vanish"] == ["main"]
    assert holders["later.py", "later"] == ["main"]
    assert ("old/move.py", "move") in holders and ("new/move.py", "move") in holders
