"""How fresh an answer is, and waiting until it is fresh enough."""

from contextlib import ExitStack

import pytest

from codequarry.search_api.answers.json import to_json
from codequarry.search_api.search.engine import SearchEngine, parse_request
from codequarry.search_api.versions.commit_wait import await_commit
from codequarry.shared.catalog.repositories import RefHead, Repository, save_ref_head, save_repository
from codequarry.shared.errors import AmbiguousCommit, NotReached, TooManyRequests, UsageError
from codequarry.shared.settings.config import SettingsModel

A, B, C, D, E = (letter * 40 for letter in "abcde")


@pytest.fixture
def engine(versioned_index):
    """Give an engine over an index that a test fills."""
    return SearchEngine(versioned_index.store, versioned_index.embedder, SettingsModel())


@pytest.fixture
def core(versioned_index):
    """Give the timeline of `core`, which stood at A, then B (two commits later), and now stands at C (three later)."""
    timeline = versioned_index.add("core", head_commit=C)
    versioned_index.publish(timeline, A, {"a.py": "def a():\n    return 1"}, commits=(A,))
    versioned_index.publish(timeline, B, {"a.py": "def a():\n    return 2"}, commits=(B, "b1" * 20))
    versioned_index.publish(timeline, C, {"a.py": "def a():\n    return 3"}, commits=(C, "c1" * 20), commit_count=3)
    return timeline


def freshness(engine, **filters):
    (entry,) = engine.search(parse_request({"query": "a", "filters": {"repo": "core", **filters}})).freshness
    return to_json(entry)


def test_at_head_nothing_is_behind(engine, core):
    entry = freshness(engine)
    assert (entry["indexed_commit"], entry["head_commit"], entry["commits_behind"]) == (C, C, 0)
    assert (entry["ref"], entry["kind"], entry["state"], entry["skipped_files"]) == ("main", "branch", "ready", 0)


@pytest.mark.parametrize(("commit", "behind"), [(A, 5), (B, 3), (C, 0)])
def test_an_older_commit_is_behind_by_all_that_came_after_it(engine, core, commit, behind):
    assert freshness(engine, commit=commit)["commits_behind"] == behind


def test_a_head_that_a_fetch_has_seen_counts_too(engine, core, versioned_index):
    save_repository(versioned_index.store, Repository("core", "", "main", head_commit=D))
    assert freshness(engine)["commits_behind"] is None
    save_ref_head(versioned_index.store, RefHead("core", "", D, "", behind_of=C, behind=7))
    engine = SearchEngine(versioned_index.store, versioned_index.embedder, SettingsModel())
    assert (freshness(engine)["head_commit"], freshness(engine)["commits_behind"]) == (D, 7)
    assert freshness(engine, commit=B)["commits_behind"] == 10


def test_a_step_that_does_not_say_how_many_commits_it_was_leaves_the_distance_unknown(engine, core, versioned_index):
    save_repository(versioned_index.store, Repository("core", "", "main", head_commit=D))
    versioned_index.publish(core, D, {"a.py": "def a():\n    return 4"})
    assert freshness(engine)["commits_behind"] == 0
    assert freshness(engine, commit=B)["commits_behind"] is None


def test_across_a_force_push_only_the_commit_right_before_it_knows_its_distance(engine, core, versioned_index):
    save_repository(versioned_index.store, Repository("core", "", "main", head_commit=D))
    versioned_index.publish(core, D, {"a.py": "def a():\n    return 4"}, commits=(D,), lost=(C, "c1" * 20))
    assert [freshness(engine, commit=commit)["commits_behind"] for commit in (D, C, B)] == [0, 1, None]


def test_a_branch_has_a_head_of_its_own(engine, core, versioned_index):
    dev = versioned_index.add("core", "refs/heads/dev")
    number = engine.head().timelines[core].published
    versioned_index.publish(dev, D, {"b.py": "def b(): ..."}, base=(core, number), mask=("b.py",), commits=(D,))
    assert freshness(engine, branch="dev")["head_commit"] is None
    save_ref_head(versioned_index.store, RefHead("core", "refs/heads/dev", E, "", behind_of=D, behind=1))
    engine = SearchEngine(versioned_index.store, versioned_index.embedder, SettingsModel())
    entry = freshness(engine, branch="dev")
    assert (entry["ref"], entry["indexed_commit"], entry["head_commit"], entry["commits_behind"]) == ("dev", D, E, 1)


def ask(engine, min_commit, wait_ms=0, **filters):
    body = {"query": "a", "min_commit": min_commit, "wait_ms": wait_ms, "filters": {"repo": "core", **filters}}
    return engine.search(parse_request(body))


@pytest.mark.parametrize("commit", [C, A, "b1" * 20, C[:7], "c1c1c1c1"])
def test_a_commit_that_came_with_any_transaction_is_held(engine, core, commit):
    assert ask(engine, commit).results


def test_a_commit_that_a_force_push_took_away_is_held_no_more(engine, core, versioned_index):
    """The one that they fork from still is, and the older version had it."""
    versioned_index.publish(core, D, {"a.py": "def a():\n    return 4"}, commits=(D,), lost=(C, "c1" * 20))
    for commit in (C, "c1" * 20):
        with pytest.raises(NotReached, match="core main at dddddddddddd"):
            ask(engine, commit)
    assert ask(engine, D).results and ask(engine, B).results
    assert ask(engine, "c1" * 20, commit=C).results


def test_a_commit_that_comes_back_is_held_again(engine, core, versioned_index):
    versioned_index.publish(core, D, {"a.py": "def a():\n    return 4"}, commits=(D,), lost=(C, "c1" * 20))
    versioned_index.publish(core, C, {"a.py": "def a():\n    return 3"}, commits=(C, "c1" * 20), lost=(D,))
    assert ask(engine, "c1" * 20).results
    with pytest.raises(NotReached):
        ask(engine, D)


def test_nothing_older_is_vouched_for_where_it_is_unknown_what_a_force_push_took(engine, core, versioned_index):
    versioned_index.publish(core, D, {"a.py": "def a():\n    return 4"}, commits=(D, "d1" * 20), lost=None)
    assert ask(engine, "d1" * 20).results
    for commit in (A, C):
        with pytest.raises(NotReached):
            ask(engine, commit)


def test_a_commit_that_does_not_come_is_told_with_the_freshness(engine, core):
    with pytest.raises(NotReached, match="core main at cccccccccccc") as caught:
        ask(engine, D)
    assert caught.value.freshness[0].indexed_commit == C


def test_an_older_version_never_holds_a_newer_commit(engine, core):
    """It is told at once, since no waiting can help."""
    with pytest.raises(NotReached):
        ask(engine, C, wait_ms=60_000, commit=B)


def test_a_commit_that_comes_in_time_is_waited_for(engine, core, versioned_index):
    pauses = []

    def pause(seconds):
        pauses.append(seconds)
        if len(pauses) == 3:
            versioned_index.publish(core, D, {"a.py": "def a():\n    return 4"}, commits=(D,))

    plan = engine_plan(D)
    found = await_commit(versioned_index.store, engine.catalog, lambda: engine.locate(plan), D, 60_000, pause)
    assert len(pauses) == 3
    assert found.scope.views["core"][0].commit == D


def test_half_of_the_threads_may_wait_and_the_others_answer_what_need_not(versioned_index, core):
    settings = SettingsModel.model_validate({"api": {"threads": 4}})
    engine = SearchEngine(versioned_index.store, versioned_index.embedder, settings)
    with ExitStack() as others:
        for _ in range(2):
            others.enter_context(engine.waiting_places.taken(lambda _: None))(0.1)
        with pytest.raises(TooManyRequests, match="are waiting for the index"):
            ask(engine, D, wait_ms=60_000)
        assert ask(engine, C, wait_ms=60_000).results
        with pytest.raises(NotReached):
            ask(engine, D)
    with pytest.raises(NotReached):
        ask(engine, D, wait_ms=1)


def engine_plan(commit):
    from codequarry.search_api.query.plan import make_plan

    return make_plan(parse_request({"query": "a", "min_commit": commit, "filters": {"repo": "core"}}))


def test_a_short_commit_that_fits_two_is_ambiguous(engine, core, versioned_index):
    versioned_index.publish(core, "c1c1c1c" + "0" * 33, {"a.py": "def a(): ..."})
    versioned_index.publish(core, E, {"a.py": "def a():\n    return 5"})
    with pytest.raises(AmbiguousCommit):
        ask(engine, "c1c1c1c")


def test_it_must_be_clear_which_version_is_to_hold_the_commit(engine, core, versioned_index):
    versioned_index.publish(versioned_index.add("site"), B, {"b.py": "def b(): ..."})
    with pytest.raises(UsageError, match="one repository"):
        engine.search(parse_request({"query": "a", "min_commit": C}))
