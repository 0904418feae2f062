"""Freshness of answers, and waiting for a commit."""

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
    """Return an engine over an index that the test fills."""
    return SearchEngine(versioned_index.store, versioned_index.embedder, SettingsModel())


@pytest.fixture
def core(versioned_index):
    """Return the timeline of `core`: published at A, then B (two commits later), and now C (three commits later)."""
    timeline = versioned_index.add("core", head_commit=C)
    versioned_index.publish(timeline, A, {"a.py": "def a():\n    return 1"}, commits=(A,))
    versioned_index.publish(timeline, B, {"a.py": "def a():\n    return 2"}, commits=(B, "b1" * 20))
    versioned_index.publish(timeline, C, {"a.py": "def a():\n    return 3"}, commits=(C, "c1" * 20), commit_count=3)
    return timeline


def freshness(engine, **filters):
    (entry,) = engine.search(parse_request({"query": "a", "filters": {"repo": "core", **filters}})).freshness
    return to_json(entry)


def test_at_head_no_commits_are_behind(engine, core):
    entry = freshness(engine)
    assert (entry["indexed_commit"], entry["head_commit"], entry["commits_behind"]) == (C, C, 0)
    assert (entry["ref"], entry["kind"], entry["state"], entry["skipped_files"]) == ("main", "branch", "ready", 0)


@pytest.mark.parametrize(("commit", "behind"), [(A, 5), (B, 3), (C, 0)])
def test_an_older_commit_is_behind_by_all_later_commits(engine, core, commit, behind):
    assert freshness(engine, commit=commit)["commits_behind"] == behind


def test_a_newer_head_seen_by_a_fetch_counts(engine, core, versioned_index):
    save_repository(versioned_index.store, Repository("core", "", "main", head_commit=D))
    assert freshness(engine)["commits_behind"] is None
    save_ref_head(versioned_index.store, RefHead("core", "", D, "", behind_of=C, behind=7))
    engine = SearchEngine(versioned_index.store, versioned_index.embedder, SettingsModel())
    assert (freshness(engine)["head_commit"], freshness(engine)["commits_behind"]) == (D, 7)
    assert freshness(engine, commit=B)["commits_behind"] == 10


def test_a_publication_without_a_commit_count_makes_the_distance_unknown(engine, core, versioned_index):
    save_repository(versioned_index.store, Repository("core", "", "main", head_commit=D))
    versioned_index.publish(core, D, {"a.py": "def a():\n    return 4"})
    assert freshness(engine)["commits_behind"] == 0
    assert freshness(engine, commit=B)["commits_behind"] is None


def test_across_a_force_push_only_the_commit_just_before_has_a_distance(engine, core, versioned_index):
    save_repository(versioned_index.store, Repository("core", "", "main", head_commit=D))
    versioned_index.publish(core, D, {"a.py": "def a():\n    return 4"}, commits=(D,), lost=(C, "c1" * 20))
    assert [freshness(engine, commit=commit)["commits_behind"] for commit in (D, C, B)] == [0, 1, None]


def test_each_branch_has_its_own_head(engine, core, versioned_index):
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
def test_a_commit_of_any_transaction_is_contained(engine, core, commit):
    assert ask(engine, commit).results


def test_a_commit_lost_by_a_force_push_is_not_contained(engine, core, versioned_index):
    """The fork point is still contained, and the older version still contains its commits."""
    versioned_index.publish(core, D, {"a.py": "def a():\n    return 4"}, commits=(D,), lost=(C, "c1" * 20))
    for commit in (C, "c1" * 20):
        with pytest.raises(NotReached, match="core main at dddddddddddd"):
            ask(engine, commit)
    assert ask(engine, D).results and ask(engine, B).results
    assert ask(engine, "c1" * 20, commit=C).results


def test_a_commit_that_returns_is_contained_again(engine, core, versioned_index):
    versioned_index.publish(core, D, {"a.py": "def a():\n    return 4"}, commits=(D,), lost=(C, "c1" * 20))
    versioned_index.publish(core, C, {"a.py": "def a():\n    return 3"}, commits=(C, "c1" * 20), lost=(D,))
    assert ask(engine, "c1" * 20).results
    with pytest.raises(NotReached):
        ask(engine, D)


def test_older_commits_are_uncertain_if_the_loss_of_a_force_push_is_unknown(engine, core, versioned_index):
    versioned_index.publish(core, D, {"a.py": "def a():\n    return 4"}, commits=(D, "d1" * 20), lost=None)
    assert ask(engine, "d1" * 20).results
    for commit in (A, C):
        with pytest.raises(NotReached):
            ask(engine, commit)


def test_a_missing_commit_is_reported_with_the_freshness(engine, core):
    with pytest.raises(NotReached, match="core main at cccccccccccc") as caught:
        ask(engine, D)
    assert caught.value.freshness[0].indexed_commit == C


def test_an_older_version_never_contains_a_newer_commit(engine, core):
    """The error comes at once, because waiting cannot help."""
    with pytest.raises(NotReached):
        ask(engine, C, wait_ms=60_000, commit=B)


def test_a_search_waits_for_a_commit_that_arrives_in_time(engine, core, versioned_index):
    pauses = []

    def pause(seconds):
        pauses.append(seconds)
        if len(pauses) == 3:
            versioned_index.publish(core, D, {"a.py": "def a():\n    return 4"}, commits=(D,))

    plan = engine_plan(D)
    found = await_commit(versioned_index.store, engine.catalog, lambda: engine.locate(plan), D, 60_000, pause)
    assert len(pauses) == 3
    assert found.scope.views["core"][0].commit == D


def test_at_most_half_of_the_threads_wait_for_commits(versioned_index, core):
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


def test_an_abbreviation_of_two_commits_is_ambiguous(engine, core, versioned_index):
    versioned_index.publish(core, "c1c1c1c" + "0" * 33, {"a.py": "def a(): ..."})
    versioned_index.publish(core, E, {"a.py": "def a():\n    return 5"})
    with pytest.raises(AmbiguousCommit):
        ask(engine, "c1c1c1c")


def test_min_commit_needs_a_single_repository(engine, core, versioned_index):
    versioned_index.publish(versioned_index.add("site"), B, {"b.py": "def b(): ..."})
    with pytest.raises(UsageError, match="one repository"):
        engine.search(parse_request({"query": "a", "min_commit": C}))
