"""The process that lists the files of a version: results and limits."""

import os
import signal
import subprocess
import threading
import time
from pathlib import Path

import pytest

from codequarry.ingest.files.lister import ListingOrder
from codequarry.ingest.files.listing import list_files, lister_ahead
from codequarry.ingest.files.scan import PathRules
from codequarry.ingest.git.trees import SUBMODULE, TreeEntry, file_at
from codequarry.ingest.source.source import rules_of_commit
from codequarry.shared.errors import GitError, LimitExceeded, Stopped
from codequarry.shared.settings.config import SettingsModel
from codequarry.shared.settings.index import IndexingSettings
from codequarry.shared.settings.secrets import SecretSettings
from codequarry.shared.stop_request import stoppable

FILES = {"src/a.py": "a = 1\n", "node_modules/b.js": "b\n", "logs/c.log": "c\n", ".codequarryignore": "*.log\n"}
SLOW = tuple(f"*{number}*a*" for number in range(100_000, 109_000))


@pytest.fixture
def order(make_repository, fetch):
    """Return an order over a small repository."""
    fetched = fetch(make_repository(files=FILES).origin)
    rules = PathRules(SettingsModel(), ("*.log",))
    return ListingOrder(fetched.mirror.folder, fetched.mirror.environment, fetched.commit, rules, 100)


def slow(order: ListingOrder) -> ListingOrder:
    """Return an order that takes minutes."""
    entries = tuple(TreeEntry(f"d/{number}/aaaa", "100644", "b" * 40, 1) for number in range(200_000))
    return ListingOrder(order.folder, order.environment, "", PathRules(SettingsModel(), SLOW), 10**9, entries)


@pytest.mark.parametrize("processes", [0, None])
def test_listing_applies_the_path_rules(order, processes):
    with lister_ahead(IndexingSettings(processes=processes)):
        found = {task.path: task.skip for task in list_files(order, IndexingSettings(processes=processes))}
    assert found == {
        "src/a.py": None,
        "node_modules/b.js": "installed",
        "logs/c.log": "excluded",
        ".codequarryignore": None,
    }


def test_a_working_tree_supplies_its_own_entries(order):
    entries = (TreeEntry("sub", SUBMODULE, "c" * 40, 0), TreeEntry("x.py", "100644", "b" * 40, 3))
    order = ListingOrder(order.folder, order.environment, "", order.rules, 100, entries)
    assert [task.skip for task in list_files(order, IndexingSettings())] == ["submodule", None]


@pytest.mark.parametrize("processes", [0, None])
def test_too_many_files_are_refused(order, processes):
    few = ListingOrder(order.folder, order.environment, order.commit, order.rules, 3)
    with pytest.raises(LimitExceeded, match=r"more than 3 files; to index it anyway, raise \[indexing\] max_paths"):
        list_files(few, IndexingSettings(processes=processes))


def test_listing_has_a_time_limit(order):
    endless = slow(order)
    began = time.monotonic()
    with pytest.raises(LimitExceeded, match=r"takes more than 1 s.*\[indexing\] listing_seconds"):
        list_files(endless, IndexingSettings(listing_seconds=1))
    assert time.monotonic() - began < 30


def test_listing_has_a_memory_limit(order):
    entries = tuple(TreeEntry("d/" * 1500 + str(number), "100644", "b" * 40, 1) for number in range(100_000))
    large = ListingOrder(order.folder, order.environment, "", order.rules, 10**9, entries)
    with pytest.raises(LimitExceeded, match=r"takes more than 200 MB \(\[indexing\] process_memory_bytes\)"):
        list_files(large, IndexingSettings(process_memory_bytes=200_000_000))


def test_listing_stops_with_the_run(order):
    def check() -> None:
        if stopped.is_set():
            raise Stopped("it was cancelled")

    stopped, endless = threading.Event(), slow(order)
    threading.Timer(0.5, stopped.set).start()
    began = time.monotonic()
    with pytest.raises(Stopped), stoppable(check):
        list_files(endless, IndexingSettings())
    assert time.monotonic() - began < 20


def test_an_error_of_git_is_reported_with_a_remedy(order):
    lost = ListingOrder(order.folder, order.environment, "1" * 40, order.rules, 100)
    with pytest.raises(GitError, match=r"cannot list commit 1{40}; if .* is damaged, delete it"):
        list_files(lost, IndexingSettings())


def test_a_killed_process_is_not_reported_as_a_limit(order):
    def kill() -> None:
        found = subprocess.run(["pgrep", "-P", str(os.getpid()), "-f", "files.lister"], capture_output=True, text=True)
        for pid in found.stdout.split():
            os.kill(int(pid), signal.SIGKILL)

    endless = slow(order)
    with lister_ahead(IndexingSettings()):
        threading.Timer(0.5, kill).start()
        with pytest.raises(GitError, match=r"ended \(SIGKILL\)"):
            list_files(endless, IndexingSettings())


def test_a_folder_is_not_read_as_an_ignore_file(make_repository, fetch):
    fetched = fetch(make_repository(files={".codequarryignore/a": "x"}).origin)
    assert file_at(Path(fetched.mirror.folder), fetched.mirror.environment, fetched.commit, ".codequarryignore") is None
    assert rules_of_commit(SettingsModel(), fetched.mirror, fetched.commit).digest == PathRules(SettingsModel()).digest


def test_a_link_is_not_read_as_an_ignore_file_and_a_warning_says_so(make_repository, fetch):
    repository = make_repository(files={"rules": "*.py\n"})
    (repository.folder / ".codequarryignore").symlink_to("rules")
    repository.commit()
    fetched = fetch(repository.origin)
    rules = rules_of_commit(SettingsModel(), fetched.mirror, fetched.commit)
    assert rules.decide(TreeEntry("a.py", "100644", "b" * 40, 1)).skip is None
    assert rules.warnings == (".codequarryignore has no effect: it is a symbolic link, and links are never followed",)


def test_a_submodule_is_not_read_as_an_ignore_file(make_repository, fetch):
    repository = make_repository(files={"a.py": "x = 1\n"})
    head = repository.git("rev-parse", "HEAD").decode().strip()
    repository.git("update-index", "--add", "--cacheinfo", f"160000,{head},.codequarryignore")
    repository.git("commit", "--quiet", "--message", "submodule")
    fetched = fetch(repository.origin)
    assert rules_of_commit(SettingsModel(), fetched.mirror, fetched.commit).warnings == ()


def test_an_ignore_file_that_is_too_large_is_not_read_and_a_warning_says_so(make_repository, fetch):
    fetched = fetch(make_repository(files={".codequarryignore": "*.py\n" * 300_000}).origin)
    [warning] = rules_of_commit(SettingsModel(), fetched.mirror, fetched.commit).warnings
    assert warning == ".codequarryignore has no effect: it is larger than [scan] max_file_bytes (1,000,000 bytes)"


def test_mistaken_lines_are_named_with_the_lists_and_their_numbers(make_repository, fetch):
    files = {".codequarryignore": "[a\r\n*.py\r\n", ".codequarryallow": "path: [b\nrules: jwt\nhash: 12\nrule: jwt\n"}
    fetched = fetch(make_repository(files=files).origin)
    obeyed = SettingsModel(secrets=SecretSettings(repository_allow_file=True))
    assert rules_of_commit(obeyed, fetched.mirror, fetched.commit).warnings == (
        ".codequarryignore, line 1: '[a' matches no path: its bracket is not closed",
        ".codequarryallow, line 1: '[b' matches no path: its bracket is not closed",
        ".codequarryallow, line 2: 'rules' is not understood; write path:, rule: or hash: and a value",
        ".codequarryallow, line 3: a hash must have 64 hexadecimal digits",
    )
    rules = rules_of_commit(SettingsModel(), fetched.mirror, fetched.commit)
    assert len(rules.warnings) == 1
    assert rules.decide(TreeEntry("a.py", "100644", "b" * 40, 1)).skip == "excluded"


def test_only_the_first_warnings_are_listed():
    rules = PathRules(SettingsModel(), ["[a"] * 50)
    assert len(rules.warnings) == 21
    assert rules.warnings[-1] == "and 30 more warnings about such lines"
