import os
import pickle
import signal
import subprocess
import sys
import time
from collections import Counter
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from codequarry.ingest.files.read_file import ReadingRules
from codequarry.ingest.files.reading_order import ReadingOrder
from codequarry.ingest.files.reading_pool import BATCH_FILES, Crashed, WorkerProcess, WorkerProcesses, open_readers
from codequarry.ingest.files.scan import PathRules
from codequarry.ingest.git.trees import list_tree
from codequarry.ingest.secrets.policy import SecretRules
from codequarry.shared.errors import CodequarryError, GitError
from codequarry.shared.settings.config import SettingsModel

RULES = ReadingRules.of("r", SettingsModel(), SecretRules())

FILES = {f"src/f{number:03}.py": f"def f{number}():\n    return {number}\n" for number in range(3 * BATCH_FILES + 1)}


@pytest.fixture
def work(make_repository, fetch):
    """Return an assignment over a small repository and the tasks of its files."""
    fetched = fetch(make_repository(files=FILES).origin)
    rules = PathRules(SettingsModel())
    mirror = fetched.mirror
    tasks = [rules.decide(entry) for entry in list_tree(mirror.folder, mirror.environment, fetched.commit)]
    return ReadingOrder(mirror, RULES), tasks


@pytest.mark.parametrize("processes", [0, 1, 3])
def test_every_file_is_read_once_with_any_number_of_processes(work, processes):
    assignment, tasks = work
    with closing(open_readers(assignment, processes)) as readers:
        found = {file.task.path: file for file in readers.read(tasks)}
        assert list(readers.read([])) == []
        assert len(list(readers.read(tasks[:1]))) == 1
    assert found.keys() == FILES.keys()
    assert all(file.verdict == "indexed" and file.lines == 2 for file in found.values())
    assert {file.pieces[0].chunk.symbol_name for file in found.values()} == {f"f{n}" for n in range(len(FILES))}


def test_tasks_are_consumed_only_as_fast_as_results(work):
    assignment, tasks = work
    taken = []
    many = (taken.append(task.path) or task for task in tasks * 20)
    with closing(open_readers(assignment, 1)) as readers:
        for index, _ in enumerate(readers.read(many)):
            assert len(taken) - index <= 5 * BATCH_FILES
    assert len(taken) == 20 * len(FILES)


def test_a_process_that_dies_once_loses_no_file(work):
    assignment, tasks = work
    with closing(WorkerProcesses(assignment, 2)) as readers:
        outcomes = readers.read(tasks)
        first = next(outcomes)
        for pid in _worker_pids():
            os.kill(pid, signal.SIGKILL)
        verdicts = Counter(file.verdict for file in [first, *outcomes])
    assert verdicts == {"indexed": len(FILES)}


@pytest.mark.parametrize(
    ("number", "detail"), [(signal.SIGSEGV, "crashed (SIGSEGV)"), (signal.SIGVTALRM, "took more than 30 s")]
)
def test_the_cause_of_a_crash_is_reported(work, number, detail):
    assignment, tasks = work
    process = WorkerProcess(assignment)
    assert len(list(process.read(tasks[:1]))) == 1
    (pid,) = _worker_pids()
    os.kill(pid, number)
    with pytest.raises(Crashed):
        list(process.read(tasks[:1]))
    assert process.close().startswith(detail)


@pytest.mark.parametrize(
    "trap", ["os.kill(os.getpid(), signal.SIGSEGV)", "raise RuntimeError('odd')", "bytes(10**12)", "while True: pass"]
)
def test_a_file_on_which_a_grammar_fails_is_cut_by_lines(work, tmp_path, trap):
    """Its words can still be found, which a skipped file hides."""
    assignment, tasks = work
    victim = tasks[BATCH_FILES + 3].path
    _sabotage(tmp_path, f"if source.path == {victim!r}:\n        {trap}", cutting=("chunk_file",))
    assignment = ReadingOrder(_with_python_path(assignment.mirror, tmp_path), assignment.rules, file_seconds=1)
    with closing(open_readers(assignment, 1)) as readers:
        found = {file.task.path: file for file in readers.read(tasks)}
    assert Counter(file.verdict for file in found.values()) == {"indexed": len(FILES)}
    (piece,) = found[victim].pieces
    assert (piece.chunk.text, piece.chunk.symbol_name, piece.chunk.language) == (FILES[victim], None, "python")
    assert found[victim].task.rules == tasks[BATCH_FILES + 3].rules


def test_a_file_that_always_crashes_its_process_is_skipped(work, tmp_path):
    """The interpreter of the workers crashes on one file, as with a buggy grammar."""
    assignment, tasks = work
    victim = tasks[BATCH_FILES + 3].path
    _sabotage(tmp_path, f"if source.path == {victim!r}: os.kill(os.getpid(), signal.SIGSEGV)")
    assignment = ReadingOrder(_with_python_path(assignment.mirror, tmp_path), assignment.rules)
    with closing(open_readers(assignment, 2)) as readers:
        found = {file.task.path: file for file in readers.read(tasks)}
    assert found.keys() == FILES.keys()
    assert {path for path, file in found.items() if file.verdict != "indexed"} == {victim}
    assert (found[victim].verdict, found[victim].detail) == ("chunker-failed", "crashed (SIGSEGV)")


def test_a_file_that_takes_too_long_is_skipped(work, tmp_path):
    assignment, tasks = work
    victim = tasks[5].path
    _sabotage(tmp_path, f"if source.path == {victim!r}:\n        while True: pass")
    assignment = ReadingOrder(_with_python_path(assignment.mirror, tmp_path), assignment.rules, file_seconds=1)
    with closing(open_readers(assignment, 1)) as readers:
        found = {file.task.path: file for file in readers.read(tasks)}
    assert {path for path, file in found.items() if file.verdict == "chunker-failed"} == {victim}
    assert found[victim].detail == "took more than 1 s of processor time"


def test_an_exception_of_the_chunker_is_the_files_verdict(work, tmp_path):
    assignment, tasks = work
    victim = tasks[0].path
    _sabotage(tmp_path, f"if source.path == {victim!r}: raise RuntimeError('odd')")
    assignment = ReadingOrder(_with_python_path(assignment.mirror, tmp_path), assignment.rules)
    with closing(open_readers(assignment, 1)) as readers:
        found = {file.task.path: file for file in readers.read(tasks)}
    assert (found[victim].verdict, found[victim].detail) == ("chunker-failed", "RuntimeError: odd")


def test_an_unreadable_blob_fails_the_run(work):
    assignment, tasks = work
    for blob in assignment.mirror.folder.glob("objects/??/*"):
        blob.unlink()
    with closing(open_readers(assignment, 2)) as readers, pytest.raises(GitError, match="cannot be read"):
        list(readers.read(tasks))


def test_a_process_that_cannot_start_fails_the_run(work, tmp_path):
    assignment, tasks = work
    (tmp_path / "sitecustomize.py").write_text("import os; os.write(2, b'no luck\\n'); os._exit(3)")
    assignment = ReadingOrder(_with_python_path(assignment.mirror, tmp_path), assignment.rules)
    expected = pytest.raises(CodequarryError, match="the reading process did not start: no luck")
    with closing(open_readers(assignment, 1)) as readers, expected:
        list(readers.read(tasks))


def test_modules_in_the_current_folder_are_not_imported(work, tmp_path, monkeypatch):
    assignment, tasks = work
    (tmp_path / "pickle.py").write_text("raise SystemExit")
    monkeypatch.chdir(tmp_path)
    with closing(open_readers(assignment, 1)) as readers:
        assert len(list(readers.read(tasks))) == len(FILES)


def test_workers_end_when_their_parent_is_killed(work, tmp_path):
    script = (
        "import pickle, sys, time\n"
        "from codequarry.ingest.files.reading_pool import open_readers\n"
        "assignment, tasks = pickle.load(open(sys.argv[1], 'rb'))\n"
        "readers = open_readers(assignment, 2)\n"
        "next(iter(readers.read(tasks)))\n"
        "print('reading', flush=True)\n"
        "time.sleep(1000)\n"
    )
    (tmp_path / "work").write_bytes(pickle.dumps(work))
    before = set(_worker_pids())
    parent = subprocess.Popen([sys.executable, "-c", script, tmp_path / "work"], stdout=subprocess.PIPE)
    assert parent.stdout and parent.stdout.readline() == b"reading\n"
    started = set(_worker_pids(parent.pid)) - before
    assert len(started) == 2
    parent.kill()
    parent.wait()
    parent.stdout.close()
    for pid in started:
        _await_end(pid)


def _await_end(pid: int) -> None:
    for _ in range(1000):
        if not Path(f"/proc/{pid}").exists() or " Z " in Path(f"/proc/{pid}/stat").read_text():
            return
        time.sleep(0.02)
    raise AssertionError(f"process {pid} still runs")


def _worker_pids(parent: int | None = None) -> list[int]:
    children = []
    for task in Path(f"/proc/{parent or os.getpid()}/task").iterdir():
        children += [int(pid) for pid in (task / "children").read_text().split()]
    return [
        pid
        for pid in children
        if b"codequarry.ingest.files.reading_process" in Path(f"/proc/{pid}/cmdline").read_bytes()
    ]


def _sabotage(folder, trap: str, cutting: tuple[str, ...] = ("chunk_file", "chunk_by_lines")) -> None:
    """Make every Python with ``folder`` on its path run ``trap`` before it chunks a file, in each way of cutting."""
    traps = (
        f"whole_{name} = reading.{name}\n"
        f"def {name}(source, *others):\n"
        f"    {trap}\n"
        f"    return whole_{name}(source, *others)\n"
        f"reading.{name} = {name}\n"
        for name in cutting
    )
    imports = "import os, signal\nimport codequarry.ingest.files.reader as reading\n"
    (folder / "sitecustomize.py").write_text(imports + "".join(traps))


def _with_python_path(mirror, folder):
    return replace(mirror, environment={**mirror.environment, "PYTHONPATH": str(folder)})
