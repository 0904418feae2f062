"""Hostile repositories: each is indexed or refused within seconds and with little memory, and can be stopped."""

import json
import signal
import subprocess
import time
from pathlib import Path

import pytest

from tests.gate import hostile
from tests.gate.hostile import HostileRepository
from tests.gate.running import CODEQUARRY, MOST_MEGABYTES, STOP_SECONDS, ask, environment, run, served, wait_until


@pytest.mark.parametrize(
    ("make", "settings", "says"),
    [
        (hostile.glob_bomb, (), "2 indexed"),
        (hostile.deep_folders, (), "1 path-too-long"),
        (hostile.strange_names, (), "15 indexed, 1 skipped: 1 path-too-long"),
        (hostile.endless_lines, ("scan.skip_minified=false", "scan.skip_generated=false"), "1 skipped: 1 too-large"),
        (hostile.swollen_objects, (), "2 skipped: 2 too-large"),
        (hostile.streamed_blob, (), "1 skipped: 1 too-large"),
        (hostile.many_refs, (), "1 indexed"),
        (hostile.nested_tags, (), "1 indexed"),
        (hostile.disorder, (), "7 indexed, 5 skipped: 3 symlink, 2 submodule"),
        (hostile.attributes, (), "2 indexed"),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_a_hostile_repository_is_indexed_without_harm(tmp_path, make, settings, says):
    """Ordinary files are indexed, the rest is skipped with a reason."""
    repository = make(tmp_path / "hostile.git")
    chosen = [part for setting in settings for part in ("--set", setting)]
    outcome = run(tmp_path / "home", *chosen, "index", str(repository.folder))
    assert outcome.code == 0, outcome.said
    assert says in outcome.said
    assert outcome.megabytes < MOST_MEGABYTES
    assert not (tmp_path / hostile.RAN).exists()


def test_a_tag_of_ten_thousand_tags_is_indexed_as_its_commit(tmp_path):
    repository = hostile.nested_tags(tmp_path / "hostile.git")
    outcome = run(tmp_path / "home", "index", str(repository.folder), "--tag", "deep")
    assert outcome.code == 0, outcome.said
    assert "tag deep at " in outcome.said


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (hostile.path_bomb, "error: it has more than 3000000 files"),
        (hostile.endless_patterns, "error: .codequarryignore has 90000 lines; the limit is 10000"),
        (hostile.delta_bomb, "git needs more memory than [git] memory_bytes allows"),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_a_repository_beyond_the_limits_is_refused_with_the_reason(tmp_path, make, says):
    """It costs neither time nor memory, and leaves nothing in the index."""
    repository = make(tmp_path / "hostile.git")
    outcome = run(tmp_path / "home", "index", str(repository.folder))
    assert outcome.code == 1
    assert says in outcome.said
    assert "Traceback" not in outcome.said
    assert outcome.megabytes < MOST_MEGABYTES
    assert json.loads(run(tmp_path / "home", "repos", "list", "--json").said) == {"repos": []}
    ordinary = hostile.HostileRepository.at(tmp_path / "ordinary.git")
    ordinary.commit(ordinary.tree(*ordinary.files(plain=b"y = 1\n")))
    assert run(tmp_path / "home", "index", str(ordinary.folder)).code == 0


def endless_matching(folder: Path) -> HostileRepository:
    """Return a repository within all numeric limits: a million paths under nine thousand slow patterns."""
    return hostile.endless_patterns(folder, 9_000, levels=6)


def endless_listing(folder: Path) -> HostileRepository:
    """Return a repository that is allowed by an operator's raised limit."""
    return hostile.path_bomb(folder)


PATIENT = ("indexing.max_paths=100000000000",)


def listers_below(pid: int) -> list[int]:
    """Return the listing processes, and their children, that descend from a process."""
    table = subprocess.run(["ps", "-eww", "-o", "pid,ppid,args"], capture_output=True, text=True, check=True).stdout
    rows = [line.split(None, 2) for line in table.splitlines()[1:]]
    parents = {int(row[0]): int(row[1]) for row in rows}

    def descends(process: int) -> bool:
        while process in parents:
            process = parents[process]
            if process == pid:
                return True
        return False

    return [int(row[0]) for row in rows if ("files.lister" in row[2] or "ls-tree" in row[2]) and descends(int(row[0]))]


def begin(process: subprocess.Popen[str], address: str, repository: HostileRepository) -> str:
    """Add a repository and return its job when it is listing the tree."""
    job = str(ask(address, "/repos", {"origin": str(repository.folder)})["job_id"])
    wait_until(lambda: ask(address, f"/jobs/{job}")["state"] == "running")
    wait_until(lambda: bool(listers_below(process.pid)), told=lambda: ask(address, f"/jobs/{job}"))
    time.sleep(1)
    shown = ask(address, f"/jobs/{job}")
    assert shown["state"] == "running", shown
    return job


@pytest.mark.parametrize("make", [endless_matching, endless_listing])
def test_a_job_cancelled_in_the_service_ends_at_once(tmp_path, make):
    """The service keeps answering, and no process of the job is left."""
    repository = make(tmp_path / "hostile.git")
    with served(tmp_path / "home", *PATIENT) as (process, address):
        job = begin(process, address, repository)
        asked = time.monotonic()
        ask(address, f"/jobs/{job}/cancel", {})
        wait_until(lambda: ask(address, f"/jobs/{job}")["state"] == "cancelled")
        assert time.monotonic() - asked < STOP_SECONDS
        assert not listers_below(process.pid)


def test_a_service_told_to_stop_during_a_job_ends_at_once(tmp_path):
    """The job is queued for the next start of the service, and has lost no attempt."""
    repository = endless_matching(tmp_path / "hostile.git")
    with served(tmp_path / "home") as (process, address):
        job = begin(process, address, repository)
        told = time.monotonic()
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 0
        assert time.monotonic() - told < STOP_SECONDS
    left = json.loads(run(tmp_path / "home", "jobs", "show", job, "--json").said)
    assert (left["state"], left["attempts"]) == ("queued", 0)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_command_line_can_be_stopped_while_listing(tmp_path, number):
    """Neither Ctrl-C nor a supervisor waits for the listing, and no process stays behind."""
    repository = endless_matching(tmp_path / "hostile.git")
    command = [*CODEQUARRY, "index", str(repository.folder)]
    heed_ctrl_c = {"preexec_fn": lambda: signal.signal(signal.SIGINT, signal.SIG_DFL)}  #  a shell's & makes it ignored
    with subprocess.Popen(
        command, env=environment(tmp_path / "home"), cwd=tmp_path, stderr=subprocess.DEVNULL, **heed_ctrl_c
    ) as index:
        wait_until(lambda: bool(listers_below(index.pid)))
        time.sleep(1)
        below = listers_below(index.pid)
        told = time.monotonic()
        index.send_signal(number)
        assert index.wait(30) != 0
        assert time.monotonic() - told < STOP_SECONDS
    wait_until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in below))


def test_a_job_that_exceeds_a_limit_fails_without_retry(tmp_path):
    """Another attempt would exceed the same limit, so there is none, and the reason is kept."""
    repository = hostile.path_bomb(tmp_path / "hostile.git")
    with served(tmp_path / "home") as (_, address):
        job = str(ask(address, "/repos", {"origin": str(repository.folder)})["job_id"])
        wait_until(lambda: ask(address, f"/jobs/{job}")["state"] == "failed")
        ended = ask(address, f"/jobs/{job}")
    assert ended["attempts"] == 1
    assert "more than 3000000 files" in str(ended["error"])
