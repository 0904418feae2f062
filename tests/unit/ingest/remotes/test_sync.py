"""`codequarry sync`: its plan, and that carrying it out once leaves nothing to do."""

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
    """Return a function that plans with repositories in the settings and hosted in a group."""

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
    """Return a function that carries out a plan."""

    def run(planned):
        for action in planned.actions:
            if action.action == "rename":
                rename_repository(action.repo, action.new_name, workshop)
                continue
            job = submit_action(workshop.store, action)
            if taken := claim(workshop.store, job.id, "me"):
                assert run_job(taken, "me", lambda: workshop).state == "done"

    return run


def actions(planned):
    return [(action.action, action.repo, action.ref) for action in planned.actions]


def versions(workshop, repo):
    head = read_head(workshop.store)
    return {head.timelines[timeline].ref for timeline in head.of_repo(repo)}


def test_named_repositories_and_versions_are_added_once(plan, carry_out, workshop, core):
    rules = {"origin": core.origin, "name": "main-core", "refs": ["release/*"]}
    first = plan(rules)
    assert actions(first) == [
        ("add", "main-core", ""),
        ("index", "main-core", "refs/heads/release/1"),
        ("index", "main-core", "refs/heads/release/2"),
    ]
    carry_out(first)
    assert versions(workshop, "main-core") == {"", "refs/heads/release/1", "refs/heads/release/2"}
    assert plan(rules).actions == ()


def test_only_changed_versions_are_indexed(plan, carry_out, core):
    rules = {"origin": core.origin, "refs": ["topic"]}
    carry_out(plan(rules))
    core.write("a.py", "a = 2\n")
    commit = core.commit()
    [action] = plan(rules).actions
    assert (action.action, action.ref, action.commit) == ("index", "", commit)


def test_unnamed_repositories_and_versions_go_only_with_prune(plan, carry_out, workshop, core, make_repository):
    other = make_repository("other", {"x.py": "x = 1\n"})
    for origin, ref in ((core.origin, None), (core.origin, Ref("branch", "topic")), (other.origin, None)):
        index_repository(IndexRequest(origin, ref), workshop)
    rules = {"origin": core.origin}
    assert plan(rules).actions == ()
    pruned = plan(rules, prune=True)
    assert actions(pruned) == [("remove", "core", "refs/heads/topic"), ("remove", "other", "")]
    carry_out(pruned)
    assert [known.name for known in list_repositories(workshop.store)] == ["core"]
    assert versions(workshop, "core") == {""}


def test_another_name_in_the_settings_renames_the_repository(plan, carry_out, workshop, core):
    index_repository(IndexRequest(core.origin), workshop)
    renaming = plan({"origin": core.origin, "name": "better"})
    assert [(action.action, action.repo, action.new_name) for action in renaming.actions] == [
        ("rename", "core", "better")
    ]
    carry_out(renaming)
    assert [known.name for known in list_repositories(workshop.store)] == ["better"]


def test_a_name_of_another_repository_is_a_problem(plan, workshop, core, make_repository):
    other = make_repository("other", {"x.py": "x = 1\n"})
    index_repository(IndexRequest(core.origin), workshop)
    [problem] = plan({"origin": other.origin, "name": "core"}).problems
    assert "'core' is the name of" in problem.detail


def test_repositories_of_a_group_are_added_unless_they_have_their_own_rules(plan, core, make_repository):
    other = make_repository("other", {"x.py": "x = 1\n"})
    planned = plan({"origin": core.origin, "refs": ["topic"]}, hosted=[core.origin, other.origin])
    assert actions(planned) == [("add", "core", ""), ("index", "core", "refs/heads/topic"), ("add", "other", "")]


def test_unreachable_origins_and_hosts_are_problems_and_remove_nothing(plan, workshop, core, tmp_path):
    index_repository(IndexRequest(core.origin), workshop)
    planned = plan({"origin": str(tmp_path / "nowhere")}, prune=True, hosted=GitError("down"))
    assert planned.actions == ()
    assert [problem.where for problem in planned.problems] == [str(tmp_path / "nowhere"), "acme"]


def test_each_repository_has_its_own_file_patterns(plan, carry_out, workshop, core, make_repository):
    other = make_repository("other", {"a.py": "x = 1\n", "b.go": "package b\n"})
    planned = plan({"origin": core.origin, "include": ["*.go"]}, {"origin": other.origin})
    own = type(workshop)(workshop.store, workshop.embedder, plan.settings)
    reports = {action.origin: index_repository(IndexRequest(action.origin), own) for action in planned.actions}
    assert (reports[core.origin].files_indexed, reports[other.origin].files_indexed) == (1, 2)


def test_an_empty_group_removes_nothing(plan, workshop):
    """With an expired token, a host answers as if there were no repositories."""
    claim_repository(workshop.store, Repository("web", "https://github.com/acme/web", "main"))
    planned = plan(prune=True, hosted=[])
    assert actions(planned) == []
    assert [problem.where for problem in planned.problems] == ["acme"]
    assert plan(hosted=[]).problems == ()
    claim_repository(workshop.store, Repository("else", "https://github.com/others/else", "main"))
    assert actions(plan(prune=True)) == [("remove", "else", ""), ("remove", "web", "")]


def test_a_version_to_be_removed_is_not_indexed_first(plan, carry_out, workshop, core):
    carry_out(plan({"origin": core.origin, "refs": ["topic"]}))
    core.git("checkout", "-q", "topic")
    core.write("a.py", "a = 2\n")
    core.commit()
    core.git("checkout", "-q", "main")
    assert actions(plan({"origin": core.origin})) == [("index", "core", "refs/heads/topic")]
    assert actions(plan({"origin": core.origin}, prune=True)) == [("remove", "core", "refs/heads/topic")]


def test_versions_of_a_new_repository_have_the_priority_of_its_import(plan, workshop, core):
    jobs = [
        submit_action(workshop.store, action) for action in plan({"origin": core.origin, "refs": ["topic"]}).actions
    ]
    assert [job.priority for job in jobs] == [PRIORITIES["import"]] * 2
