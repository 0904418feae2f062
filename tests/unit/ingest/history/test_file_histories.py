import os
import random

import pytest

from codequarry.ingest.chunking.pieces import Sizes
from codequarry.ingest.files.read_file import ReadFile, ReadingRules, ReadPiece
from codequarry.ingest.files.scan import FileTask
from codequarry.ingest.git.objects import Mirror
from codequarry.ingest.history.file_histories import FEW_FILES, FileHistories, seconds_of_histories
from codequarry.ingest.secrets.policy import SecretRules
from codequarry.shared.model import ChangedTogether, Chunk, FileOwner, Tokens

PATHS = ("a.py", "b/c.py", "b/[d].py", "é.py", "e.py")


def rules(commits=1_000, emails="hash"):
    sizes = Sizes(350, 800, 80)
    return ReadingRules("project", sizes, True, True, {}, (), SecretRules(), file_commits=commits, emails=emails)


def dated(repository, path, *, blob=None, few=True, commit="HEAD", **settings):
    """Return the chunk of a file after its history was read from the log of that file, or from all commits."""
    mirror = Mirror(repository.folder / ".git", dict(os.environ))
    tip = repository.git("rev-parse", commit).decode().strip()
    blob = blob or repository.listing(commit).get(path, "0" * 40)
    chunk = Chunk("1", "project", path, blob, "python", "function", 1, 1, 0, 1, "x", "")
    file = ReadFile(FileTask(path, blob, 1, ""), "indexed", pieces=(ReadPiece(chunk, Tokens(), "x"),))
    histories = FileHistories(mirror, tip, rules(**settings), [path] if few else None)
    return histories.dated(file).pieces[0].chunk


def commits_in_git(repository, path, commit="HEAD"):
    return repository.git("--literal-pathspecs", "log", "--format=%H", commit, "--", path).decode().split()


def grow(repository, seed):
    """Make a random history with branches, merges with and without changes, reverts, deletions and returns."""
    chance = random.Random(seed)
    repository.write("a.py", "0")
    repository.commit()
    branches = ["main"]
    for step in range(30):
        branch = chance.choice(branches)
        repository.git("checkout", "--quiet", branch)
        if chance.random() < 0.3 and len(branches) < 6:
            branches.append(f"b{step}")
            repository.git("checkout", "--quiet", "-b", f"b{step}")
        if chance.random() < 0.35 and len(branches) > 1:
            other = chance.choice([name for name in branches if name != branch])
            repository.git("merge", "--quiet", "--no-commit", "--no-ff", "-s", "ours", other)
            if chance.random() < 0.7:
                repository.git("checkout", "--quiet", other, "--", ".")
        for path in chance.sample(PATHS, chance.randint(0, 2)):
            if chance.random() < 0.2 and (repository.folder / path).exists():
                repository.remove(path)
            else:
                # Few contents: the same one often comes back, or is made in two branches.
                repository.write(path, str(chance.randint(0, 2)))
        repository.commit(f"step {step}")


@pytest.mark.parametrize("seed", range(4))
def test_every_file_has_the_history_that_git_log_has(make_repository, seed):
    repository = make_repository()
    grow(repository, seed)
    for path in repository.listing():
        expected = commits_in_git(repository, path)
        found = [dated(repository, path, few=few) for few in (True, False)]
        assert found[0] == found[1]
        assert (found[0].file_history.commits, found[0].last_modified_commit) == (len(expected), expected[0])
        assert not found[0].file_history.is_partial


def test_a_few_files_are_read_without_all_commits(make_repository):
    assert FEW_FILES >= 1
    repository = make_repository(files={"a.py": "1", "b.py": "2"})
    assert dated(repository, "a.py").file_history == dated(repository, "a.py", few=False).file_history


def test_an_older_commit_has_the_history_up_to_it(make_repository):
    repository = make_repository(files={"a.py": "1"})
    first = repository.git("rev-parse", "HEAD").decode().strip()
    repository.write("a.py", "2")
    repository.commit()
    assert dated(repository, "a.py").file_history.commits == 2
    old = dated(repository, "a.py", commit=first)
    assert (old.file_history.commits, old.last_modified_commit) == (1, first)


def test_files_that_changed_together_more_than_once_are_counted(make_repository):
    repository = make_repository()
    for number in range(3):
        repository.write("a.py", str(number))
        repository.write("b.py", str(number))
        repository.write(f"once{number}.py", "")
        repository.commit()
    for few in (True, False):
        assert dated(repository, "a.py", few=few).file_history.changes_with == (ChangedTogether("b.py", 3),)


def test_a_large_commit_says_nothing_about_what_changes_together(make_repository):
    repository = make_repository()
    for content in "12":
        for number in range(60):
            repository.write(f"{number}.py", content)
        repository.commit()
    for few in (True, False):
        assert dated(repository, "1.py", few=few).file_history.changes_with == ()


@pytest.mark.parametrize("few", [True, False])
def test_authors_have_their_share_under_the_rule_for_addresses(make_repository, few):
    repository = make_repository(files={"a.py": "1"})
    repository.write("a.py", "2")
    repository.git("add", "--all")
    repository.git("commit", "--quiet", "--author=Ada <ADA@example.org>", "--message", "two\n\nmore")
    repository.write("a.py", "3")
    repository.git("add", "--all")
    repository.git("commit", "--quiet", "--author=Ada King <ada@example.org>", "--message", "three")
    chunk = dated(repository, "a.py", few=few)
    assert chunk.file_history.owners == (FileOwner("Ada King", 0.67), FileOwner("A", 0.33))
    assert (chunk.commit_author, chunk.commit_message) == ("Ada King", "three")
    assert chunk.author.startswith("ada king <") and "@" not in chunk.author
    kept = dated(repository, "a.py", few=few, emails="keep")
    assert kept.commit_author == "Ada King <ada@example.org>"
    assert dated(repository, "a.py", few=few, emails="drop").author == "ada king"


def test_secrets_in_messages_are_masked(make_repository):
    secret = "ghp_" + "a1B2c3D4e5" * 3 + "F6g7H8"
    repository = make_repository()
    repository.write("a.py", "1")
    repository.commit(f"use token {secret}")
    message = dated(repository, "a.py").commit_message
    assert message.startswith("use token") and secret not in message


def test_text_that_no_commit_has_has_no_history(make_repository):
    repository = make_repository(files={"a.py": "1"})
    changed = dated(repository, "a.py", blob="1" * 40)
    assert (changed.file_history, changed.last_modified_commit, changed.author) == (None, None, None)
    assert dated(repository, "new.py", few=False).file_history is None


def test_without_commits_to_read_there_is_no_history(make_repository):
    repository = make_repository(files={"a.py": "1"})
    assert dated(repository, "a.py", commits=0).file_history is None


@pytest.mark.parametrize("few", [True, False])
def test_beyond_the_limit_the_number_is_a_lower_bound(make_repository, few):
    repository = make_repository()
    for number in range(5):
        repository.write("a.py", str(number))
        tip = repository.commit()
    chunk = dated(repository, "a.py", few=few, commits=3)
    assert (chunk.file_history.commits, chunk.file_history.is_partial, chunk.last_modified_commit) == (3, True, tip)


@pytest.mark.parametrize("few", [True, False])
def test_the_end_of_a_shallow_clone_is_not_taken_for_the_beginning(make_repository, few):
    origin = make_repository("origin", files={"a.py": "1", "b.py": "1"})
    for number in range(3):
        origin.write("a.py", f"new {number}")
        tip = origin.commit()
    shallow = make_repository("shallow")
    shallow.git("fetch", "--quiet", "--depth=2", f"file://{origin.folder}", "main")
    shallow.git("checkout", "--quiet", "FETCH_HEAD")
    changed = dated(shallow, "a.py", few=few)
    assert (changed.file_history.commits, changed.file_history.is_partial) == (2, True)
    assert changed.last_modified_commit == tip
    unknown = dated(shallow, "b.py", few=few)
    assert (unknown.file_history.commits, unknown.file_history.is_partial) == (1, True)
    assert (unknown.last_modified_commit, unknown.commit_author, unknown.commit_day) == (None, None, None)
    assert unknown.file_history.owners == ()


def test_reading_the_histories_of_many_files_takes_time_for_every_commit_up_to_the_limit(make_repository):
    repository = make_repository()
    for step in range(5):
        repository.write("a.py", str(step))
        repository.commit()
    mirror = Mirror(repository.folder / ".git", dict(os.environ))
    tip = repository.git("rev-parse", "HEAD").decode().strip()
    many = FEW_FILES + 1
    by_limit = [seconds_of_histories(mirror, tip, most, many) for most in (0, 2, 4, 100)]
    assert by_limit[0] == 0
    assert by_limit[2] == pytest.approx(2 * by_limit[1])
    assert by_limit[3] == pytest.approx(2.5 * by_limit[1])
    assert seconds_of_histories(mirror, tip, 100, FEW_FILES) == 0
