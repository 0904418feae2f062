"""`codequarry sync`: what it would do, and that it is enough to do it once."""

import pytest

from codequarry.ingest.remotes.hosting.groups import Hosted
from codequarry.ingest.remotes.sync import plan_sync, submit_action
from codequarry.ingest.run.pipeline import IndexRequest, index_repository
from codequarry.ingest.run.rename import rename_repository
from codequarry.ingest.workers.job_runner import run_job
from codequarry.shared.catalog.ledger import read_head
from codequarry.shared.catalog.repositories import Repository, claim_repository, list_repositories
from codequarry.shared.errors import GitError
from codequarry.shared.jobs.job import PRIORITIES
from codequarry.shared.jobs.job_list import claim
from codequarry.shared.versions.refs import Ref


@pytest.fixture
def core(make_repository):
    repository = make_repository("core", {"a.py": "a = 1\n", "b.go": "package b\n"})
    for branch in ("release/1", "release/2", "topic"):
        repository.git("branch", branch)
    return repository


@pytest.fixture
def workshop(make_workshop):
    return make_workshop()


@pytest.fixture
def plan(workshop):
    """Return a function that plans with some repositories in the settings, and some hosted in a group."""

    def run(*repositories, prune=False, hosted=None):
        groups = [{"github_org": "acme"}] if hosted is not None else []
        fields = {"repositories": list(repositories), "repository_groups": groups}
        run.settings = workshop.settings.model_validate(workshop.settings.model_dump() | fields)

        def list_hosted(*_):
            if isinstance(hosted, Exception):
                raise hosted
            return [Hosted(f"acme/{number}", origin) for number, origin in enumerate(hosted)]

        return plan_sync(workshop.store, run.settings, prune=prune, list_hosted=list_hosted)

    return run


@pytest.fixture
def carry_out(workshop):
    """Return a function that does what a plan says."""

    def run(planned):
        for action in planned.actions:
            if action.action == "rename":
                rename_repository(action.repo, action.new_name, workshop)
                continue
            job = submit_action(workshop.store, action)
            if taken := claim(workshop.store, job.id, "me"):
                assert run_job(taken, "me", lambda: workshop).state == "done"

    return run


def said(planned):
    return [(one.action, one.repo, one.ref) for one in planned.actions]


def versions(workshop, repo):
    head = read_head(workshop.store)
    return {head.timelines[one].ref for one in head.of_repo(repo)}


def test_what_is_named_is_added_with_its_versions_and_then_there_is_nothing_to_do(plan, carry_out, workshop, core):
    rules = {"origin": core.origin, "name": "main-core", "refs": ["release/*"]}
    first = plan(rules)
    assert said(first) == [
        ("add", "main-core", ""),
        ("index", "main-core", "refs/heads/release/1"),
        ("index", "main-core", "refs/heads/release/2"),
    ]
    carry_out(first)
    assert versions(workshop, "main-core") == {"", "refs/heads/release/1", "refs/heads/release/2"}
    assert plan(rules).actions == ()


def test_only_what_has_changed_is_indexed(plan, carry_out, core):
    rules = {"origin": core.origin, "refs": ["topic"]}
    carry_out(plan(rules))
    core.write("a.py", "a = 2\n")
    commit = core.commit()
    [action] = plan(rules).actions
    assert (action.action, action.ref, action.commit) == ("index", "", commit)


def test_what_is_not_named_any_more_goes_only_when_it_is_asked_for(plan, carry_out, workshop, core, make_repository):
    other = make_repository("other", {"x.py": "x = 1\n"})
    for origin, ref in ((core.origin, None), (core.origin, Ref("branch", "topic")), (other.origin, None)):
        index_repository(IndexRequest(origin, ref), workshop)
    rules = {"origin": core.origin}
    assert plan(rules).actions == ()
    pruned = plan(rules, prune=True)
    assert said(pruned) == [("remove", "core", "refs/heads/topic"), ("remove", "other", "")]
    carry_out(pruned)
    assert [one.name for one in list_repositories(workshop.store)] == ["core"]
    assert versions(workshop, "core") == {""}


def test_another_name_in_the_settings_renames(plan, carry_out, workshop, core):
    index_repository(IndexRequest(core.origin), workshop)
    renaming = plan({"origin": core.origin, "name": "better"})
    assert [(one.action, one.repo, one.new_name) for one in renaming.actions] == [("rename", "core", "better")]
    carry_out(renaming)
    assert [one.name for one in list_repositories(workshop.store)] == ["better"]


def test_a_name_that_another_has_is_a_problem(plan, workshop, core, make_repository):
    other = make_repository("other", {"x.py": "x = 1\n"})
    index_repository(IndexRequest(core.origin), workshop)
    [problem] = plan({"origin": other.origin, "name": "core"}).problems
    assert "'core' is the name of" in problem.detail


def test_a_group_is_added_and_what_is_named_by_itself_goes_by_its_own_rules(plan, core, make_repository):
    other = make_repository("other", {"x.py": "x = 1\n"})
    planned = plan({"origin": core.origin, "refs": ["topic"]}, hosted=[core.origin, other.origin])
    assert said(planned) == [("add", "core", ""), ("index", "core", "refs/heads/topic"), ("add", "other", "")]


def test_who_does_not_answer_is_told_and_takes_nothing_with_it(plan, workshop, core, tmp_path):
    index_repository(IndexRequest(core.origin), workshop)
    planned = plan({"origin": str(tmp_path / "nowhere")}, prune=True, hosted=GitError("down"))
    assert planned.actions == ()
    assert [one.where for one in planned.problems] == [str(tmp_path / "nowhere"), "acme"]


def test_files_are_chosen_by_each_repository_for_itself(plan, carry_out, workshop, core, make_repository):
    other = make_repository("other", {"a.py": "x = 1\n", "b.go": "package b\n"})
    planned = plan({"origin": core.origin, "include": ["*.go"]}, {"origin": other.origin})
    own = type(workshop)(workshop.store, workshop.embedder, plan.settings)
    reports = {one.origin: index_repository(IndexRequest(one.origin), own) for one in planned.actions}
    assert (reports[core.origin].files_indexed, reports[other.origin].files_indexed) == (1, 2)


def test_a_group_of_which_nothing_is_listed_any_more_removes_nothing(plan, workshop):
    """With an expired token a host answers as if there were no repository."""
    claim_repository(workshop.store, Repository("web", "https://github.com/acme/web", "main"))
    planned = plan(prune=True, hosted=[])
    assert said(planned) == []
    assert [one.where for one in planned.problems] == ["acme"]
    assert plan(hosted=[]).problems == ()
    claim_repository(workshop.store, Repository("else", "https://github.com/others/else", "main"))
    assert said(plan(prune=True)) == [("remove", "else", ""), ("remove", "web", "")]


def test_what_is_to_go_is_not_indexed_before(plan, carry_out, workshop, core):
    carry_out(plan({"origin": core.origin, "refs": ["topic"]}))
    core.git("checkout", "-q", "topic")
    core.write("a.py", "a = 2\n")
    core.commit()
    core.git("checkout", "-q", "main")
    assert said(plan({"origin": core.origin})) == [("index", "core", "refs/heads/topic")]
    assert said(plan({"origin": core.origin}, prune=True)) == [("remove", "core", "refs/heads/topic")]


def test_versions_of_a_repository_that_is_added_are_no_more_urgent_than_itself(plan, workshop, core):
    jobs = [
        submit_action(workshop.store, action) for action in plan({"origin": core.origin, "refs": ["topic"]}).actions
    ]
    assert [job.priority for job in jobs] == [PRIORITIES["import"]] * 2
