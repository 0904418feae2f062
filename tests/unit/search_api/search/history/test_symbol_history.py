"""The history of a symbol over versions that are written straight through the port."""

from dataclasses import replace

import pytest

from codequarry.search_api.answers.json import to_json
from codequarry.search_api.query.symbol_request import history_request
from codequarry.search_api.search.engine import SearchEngine
from codequarry.search_api.search.history.symbol_history import symbol_history
from codequarry.shared.access.grants import Grant, Principal
from codequarry.shared.catalog.ledger import change_head, read_head
from codequarry.shared.errors import NotIndexed, UsageError
from codequarry.shared.model import PathGlobs
from codequarry.shared.settings.config import SettingsModel
from codequarry.shared.versions.transactions import abort, begin, raise_floor, rename_default, retire_version

C = [letter * 40 for letter in "0123456789abcdef"]


def load(value):
    return f"def load(key):\n    value = key + {value}\n    return value\n"


@pytest.fixture(params=["embedded", pytest.param("opensearch", marks=pytest.mark.opensearch)])
def index(request):
    """Return an empty index on each kind of store."""
    name = "versioned_index" if request.param == "embedded" else "versioned_opensearch_index"
    return request.getfixturevalue(name)


@pytest.fixture
def engine(index):
    return SearchEngine(index.store, index.embedder, SettingsModel())


def ask(engine, name="load", **filters):
    return to_json(symbol_history(engine, history_request(name, filters)))["declarations"]


def told(engine, name="load", **filters):
    """Return the events of all declarations: what happened, at which commit, after which."""
    return [
        [(event["event"], event["commit"][0], (event["previous_commit"] or "-")[0]) for event in item["events"]]
        for item in ask(engine, name, **filters)
    ]


def test_an_event_names_its_commits_dates_and_texts(index, engine):
    main = index.add("core", origin="https://github.com/team/core")
    index.publish(main, C[1], {"a.py": load(1)}, commits=[C[1]])
    index.publish(main, C[2], {"b.py": "x = 1\n"}, commits=[C[2]])
    index.publish(main, C[3], {"a.py": load(2)}, commits=[C[3]], commit_count=7, lost=[C[9]])
    (item,) = ask(engine)
    changed, present = item["events"]
    assert (item["path"], item["symbol"], item["symbol_type"], item["exists"]) == ("a.py", "load", "function", True)
    assert item["begins"] == {
        "ref": "main", "commit": C[1], "indexed_at": "2026-01-01T00:00:00Z", "reason": "first indexed",
    }  # fmt: skip
    assert (present["event"], present["range"], present["before"]) == ("present", None, None)
    assert (changed["event"], changed["commit_count"], changed["rewrote"]) == ("changed", 7, True)
    assert changed["range"] == f"{C[2]}..{C[3]}"
    assert changed["before"]["commit"] == C[2]
    assert changed["before"]["content_hash"] == present["after"]["content_hash"] != changed["after"]["content_hash"]
    assert changed["after"]["url"] == f"https://github.com/team/core/blob/{C[3]}/a.py#L1-L3"


def test_what_open_and_aborted_transactions_did_is_not_told(index, engine):
    main = index.add("core")
    index.publish(main, C[1], {"a.py": load(1)})
    for number_of_run, end in enumerate(("abort", "leave open")):
        number = change_head(index.store, lambda head: begin(head, main, "a run"))
        rows = list(index._rows("core", main, number, "b.py", load(number_of_run)))
        vectors = {row.vector_key: index.embedder.embed_query(row.chunk.text) for row in rows}
        index.store.create(rows, [], vectors)
        index.store.retire(main, number, ["a.py"], read_head(index.store).aborted)
        index.store.refresh()
        if end == "abort":
            change_head(index.store, lambda head, number=number: (abort(head, main, "a run", number), None))
        assert told(engine) == [[("present", "1", "-")]]


def test_history_begins_at_the_floor(index, engine):
    main = index.add("core")
    numbers = [index.publish(main, C[place], {"a.py": load(place)}) for place in range(1, 5)]
    change_head(index.store, lambda head: (raise_floor(head, main, numbers[3], numbers[1], ()), None))
    assert told(engine) == [[("changed", "4", "3"), ("changed", "3", "2"), ("present", "2", "-")]]
    assert ask(engine)[0]["begins"]["reason"] == "retention"


def test_former_timelines_of_a_version_are_its_earlier_history(index, engine):
    main = index.add("core")
    index.publish(main, C[1], {"a.py": load(1)})
    old = index.add("core", "refs/heads/dev")
    index.publish(old, C[2], {"a.py": load(2)})
    index.publish(old, C[3], {"a.py": load(3)})
    change_head(index.store, lambda head: (retire_version(head, old, "2026-01-01T00:00:00Z"), None))
    new = index.add("core", "refs/heads/dev")
    index.publish(new, C[4], {"a.py": load(3)})
    index.publish(new, C[5], {"b.py": load(3), "a.py": None})
    (item,) = ask(engine, branch=["dev"])
    assert told(engine, branch=["dev"]) == [[("moved", "5", "4"), ("changed", "3", "2"), ("present", "2", "-")]]
    assert {event["ref"] for event in item["events"]} == {"dev"}
    assert told(engine) == [[("present", "1", "-")]]
    assert told(engine, commit=[C[3]]) == [[("changed", "3", "2"), ("present", "2", "-")]]


def test_a_new_timeline_is_compared_with_the_former_one(index, engine):
    index.publish(index.add("core"), C[1], {"b.py": "x = 1\n"})
    old = index.add("core", "refs/heads/dev")
    index.publish(old, C[2], {"a.py": load(2)})
    change_head(index.store, lambda head: (retire_version(head, old, "2026-01-01T00:00:00Z"), None))
    new = index.add("core", "refs/heads/dev")
    index.publish(new, C[4], {"a.py": load(9)})
    (item,) = ask(engine, branch=["dev"])
    assert [(event["event"], event["commit_count"]) for event in item["events"]] == [
        ("changed", None),
        ("present", None),
    ]


def test_a_branch_lies_on_the_history_of_its_base(index, engine):
    main, dev = index.add("core"), index.add("core", "refs/heads/dev")
    index.publish(main, C[1], {"a.py": load(1), "b.py": "x = 1\n"})
    number = index.publish(main, C[2], {"a.py": load(2)})
    index.publish(main, C[3], {"a.py": load(3)})
    index.publish(dev, C[4], {"b.py": "x = 2\n"}, base=(main, number), mask=("b.py",))
    index.publish(dev, C[5], {"c.py": load(2)}, base=(main, number), mask=("b.py", "a.py"))
    (item,) = ask(engine, branch=["dev"])
    events = [(event["event"], event["ref"], event["commit"][0]) for event in item["events"]]
    assert events == [("moved", "dev", "5"), ("changed", "main", "2"), ("present", "main", "1")]
    assert (item["events"][0]["before"]["path"], item["path"]) == ("a.py", "c.py")


@pytest.fixture
def several(index, engine):
    """Return an engine over two repositories, with several declarations of one name."""
    for repo in ("core", "site"):
        main = index.add(repo)
        index.publish(main, C[1], {f"lib/{number}.py": load(10 * number) for number in range(3)})
        index.publish(main, C[2], {"lib/0.py": load(77), "lib/1.py": None})
    return engine


def test_declarations_are_listed_apart_those_that_exist_first(several):
    items = ask(several)
    assert [(item["repo"], item["path"], item["exists"]) for item in items] == [
        ("core", "lib/0.py", True), ("core", "lib/2.py", True), ("site", "lib/0.py", True), ("site", "lib/2.py", True),
        ("core", "lib/1.py", False), ("site", "lib/1.py", False),
    ]  # fmt: skip
    assert [event["event"] for event in items[4]["events"]] == ["vanished", "present"]
    assert items[4]["events"][0]["after"] is None


def test_filters_narrow_the_declarations(several):
    assert [item["path"] for item in ask(several, repo=["core"], path=["lib/1.py"])] == ["lib/1.py"]
    assert [item["repo"] for item in ask(several, path=["0.py"])] == ["core", "site"]
    assert ask(several, language=["go"]) == []
    assert len(ask(several, language=["python"])) == 6
    with pytest.raises(NotIndexed, match="'nope' is not indexed"):
        ask(several, repo=["nope"])


@pytest.mark.parametrize("limit", [1, 3, 4, 100])
def test_pages_hold_every_event_once(several, limit):
    seen, cursor = [], None
    while True:
        page = symbol_history(several, history_request("load", {}, limit, cursor))
        assert (page.total, page.total_events) == (6, 10)
        events = [(item.repo, item.path, event) for item in page.declarations for event in item.events]
        assert 0 < len(events) <= limit
        seen += events
        cursor = page.next_cursor
        if cursor is None:
            break
    whole = symbol_history(several, history_request("load", {}))
    assert seen == [(item.repo, item.path, event) for item in whole.declarations for event in item.events]


def test_later_pages_show_the_state_of_the_first(several, index):
    page = symbol_history(several, history_request("load", {}, 9))
    index.publish(several.head().defaults["core"], C[3], {"lib/0.py": load(78)})
    later = symbol_history(several, history_request("load", {}, 9, page.next_cursor))
    assert [event.event for item in later.declarations for event in item.events] == ["present"]
    with pytest.raises(UsageError, match="another request"):
        symbol_history(several, history_request("load", {}, 8, page.next_cursor))


def test_a_cursor_is_refused_once_commits_were_dropped(several, index):
    page = symbol_history(several, history_request("load", {}, 1))
    main = several.head().defaults["core"]
    published = several.head().timelines[main].published
    change_head(index.store, lambda head: (raise_floor(head, main, published, published, ()), None))
    with pytest.raises(UsageError, match="commits were dropped"):
        symbol_history(several, history_request("load", {}, 1, page.next_cursor))


def test_hidden_repositories_and_paths_do_not_count(several):
    repo_id = several.head().id_of_repo("core")
    reader = Principal("reader", frozenset({"search"}), (Grant("core", PathGlobs(("lib/0.py",)), repo_id),))
    assert [(item["repo"], item["path"]) for item in ask(several.seen_by(reader))] == [("core", "lib/0.py")]


def test_a_move_out_of_a_hidden_path_appears(index, engine):
    main = index.add("core")
    index.publish(main, C[1], {"secret/a.py": load(1)})
    index.publish(main, C[2], {"secret/a.py": None, "lib/a.py": load(1)})
    grant = Grant("core", PathGlobs(("lib/",)), engine.head().id_of_repo("core"))
    assert told(engine) == [[("moved", "2", "1"), ("present", "1", "-")]]
    assert told(engine.seen_by(Principal("reader", frozenset({"search"}), (grant,)))) == [[("appeared", "2", "1")]]


@pytest.mark.parametrize("name", ["", "  ", "?!", "1"])
def test_text_that_is_no_name_is_refused(name):
    with pytest.raises(UsageError, match="not the name of a symbol"):
        history_request(name, {})


def test_a_name_that_nothing_declares_has_no_history(several):
    assert ask(several, "absent") == []
    assert ask(several, "Store.load") == []
    assert symbol_history(several, replace(history_request("absent", {}))).total_events == 0


def test_an_empty_index_has_no_history(engine):
    assert ask(engine) == []


def test_a_pinned_base_below_the_floor_is_where_a_branch_begins(index, engine):
    main, dev = index.add("core"), index.add("core", "refs/heads/dev")
    index.publish(main, C[1], {"a.py": load(1), "b.py": "x = 1\n"})
    number = index.publish(main, C[2], {"a.py": load(2)})
    newest = index.publish(main, C[3], {"a.py": load(3)})
    index.publish(dev, C[4], {"b.py": "x = 2\n"}, base=(main, number), mask=("b.py",))
    change_head(index.store, lambda head: (raise_floor(head, main, newest, newest, ()), None))
    (item,) = ask(engine, branch=["dev"])
    assert told(engine, branch=["dev"]) == [[("present", "2", "-")]]
    assert (item["begins"]["commit"], item["begins"]["reason"]) == (C[2], "retention")


def test_a_branch_that_moves_to_another_base_is_compared_as_a_whole(index, engine):
    main, dev = index.add("core"), index.add("core", "refs/heads/dev")
    first = index.publish(main, C[1], {"a.py": load(1), "b.py": load(50), "c.py": "x = 1\n"})
    second = index.publish(main, C[2], {"a.py": load(2)})
    index.publish(dev, C[3], {"c.py": "x = 2\n"}, base=(main, first), mask=("c.py",))
    # The branch was rebased: it takes over the change of main, and its own file stays.
    index.publish(dev, C[4], {}, base=(main, second), mask=("c.py",))
    assert told(engine, branch=["dev"], path=["a.py"]) == [[("changed", "4", "3"), ("present", "1", "-")]]
    assert told(engine, branch=["dev"], path=["b.py"]) == [[("present", "1", "-")]]


def test_a_branch_that_became_the_default_branch_keeps_its_own_earlier_history(index, engine):
    default = index.add("core", branch="master")
    old = index.publish(default, C[1], {"a.py": load(1)})
    branch = index.add("core", "refs/heads/main")
    index.publish(branch, C[2], {"a.py": load(2)}, base=(default, old), mask=("a.py",))
    index.publish(default, C[3], {"a.py": load(3)})
    index.publish(branch, C[4], {"a.py": load(4)}, base=(default, old), mask=("a.py",))
    change_head(index.store, lambda head: (retire_version(head, branch, "2026-01-01T00:00:00Z"), None))
    change_head(index.store, lambda head: (rename_default(head, "core", "main"), None))
    index.publish(default, C[5], {"a.py": load(5)})
    # What the default timeline showed in between was another branch.
    assert told(engine) == [
        [("changed", "5", "4"), ("changed", "4", "2"), ("changed", "2", "1"), ("present", "1", "-")]
    ]
