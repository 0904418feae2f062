"""Documents of commits: messages and changes, and what the settings leave of authors."""

import pytest

from codequarry.ingest.files.scan import PathRules
from codequarry.ingest.git.commits import FileChange, ReadCommit
from codequarry.ingest.history.documents import MESSAGE_CHARACTERS, commit_tasks
from codequarry.ingest.history.log_rules import LogRules
from codequarry.shared.authors import hashed_address, searched_forms
from codequarry.shared.settings.config import SettingsModel

PATCH = b"@@ -1 +1 @@ def f():\n-a = 1\n+a = 2\n"
ID = "c" * 40


@pytest.fixture
def read(tmp_path):
    """Return a function that returns the chunks of a commit's documents, by path."""

    def chunks(
        message="subject\n",
        *,
        changes=(),
        diffs=True,
        author="Ada Lovelace",
        email="Ada@Example.org",
        seconds=86_400,
        **sections,
    ):
        settings = SettingsModel(home=tmp_path, **sections)
        rules = LogRules.of("core", settings, PathRules(settings))
        commit = ReadCommit(ID, ("p",), author, email, seconds, message, tuple(changes))
        outcomes = [task.read() for task in commit_tasks(commit, rules, diffs=diffs)]
        return {file.task.path: piece.chunk for file in outcomes for piece in file.pieces}

    return chunks


def test_a_message_names_its_commit_and_the_changed_files(read):
    chunks = read("subject\n\nbody\n", changes=[FileChange("a.py", "a.py"), FileChange("b/c.go", "b/c.go")])
    ((path, chunk),) = chunks.items()
    assert (path, chunk.blob, chunk.symbol_type, chunk.text) == (f".git/{ID}", ID, "commit", "subject\n\nbody\n")
    assert (chunk.context, chunk.commit_message) == ("a.py\nb/c.go", "subject")
    assert (chunk.commit_author, chunk.commit_date, chunk.commit_day) == ("Ada Lovelace", "1970-01-02T00:00:00Z", 1)


def test_a_change_has_the_language_and_kind_of_its_file(read):
    chunk = read(changes=[FileChange("tests/test_a.py", "tests/test_a.py", PATCH)])[f".git/{ID}/tests/test_a.py"]
    assert (chunk.symbol_type, chunk.language, chunk.kind_of_file) == ("diff", "python", "test")
    assert (chunk.text, chunk.context) == ("@@ -1,1 +1,1 @@ def f():\n-a = 1\n+a = 2\n", "def f():")
    assert chunk.commit_message == "subject"


def test_changes_are_left_out_of_large_commits_and_of_files_that_are_not_indexed(read):
    changes = [FileChange(f"f{number}.py", f"f{number}.py", PATCH) for number in range(3)]
    assert len(read(changes=changes)) == 4
    assert len(read(changes=changes, diffs=False)) == 1
    assert len(read(changes=changes, history={"max_diff_files": 2})) == 1
    assert len(read(changes=changes, scan={"exclude": ("f1.py",)})) == 3
    assert len(read(changes=[FileChange("yarn.lock", "yarn.lock", PATCH)])) == 1


def test_a_moved_file_shows_what_it_gained_and_what_it_lost_under_their_own_paths(read):
    moved = [FileChange("new.py", "secret/old.py", PATCH)]
    chunks = read(changes=moved)
    gained, lost = chunks[f".git/{ID}/new.py"], chunks[f".git/{ID}/secret/old.py"]
    assert (gained.text, gained.context) == ("@@ -1,0 +1,1 @@\n+a = 2\n", "")
    assert (lost.text, lost.context) == ("@@ -1,1 +0,0 @@ def f():\n-a = 1\n", "def f():")
    assert read(changes=moved, scan={"exclude": ("secret/",)}).keys() == {f".git/{ID}", f".git/{ID}/new.py"}


@pytest.mark.parametrize(
    ("emails", "shown", "searched"),
    [
        ("keep", "Ada Lovelace <Ada@Example.org>", "ada lovelace <ada@example.org>"),
        ("hash", "Ada Lovelace", f"ada lovelace <{hashed_address('ada@example.org')}>"),
        ("drop", "Ada Lovelace", "ada lovelace"),
    ],
)
def test_addresses_are_kept_hashed_or_dropped(read, emails, shown, searched):
    (chunk,) = read("fix\n\nSigned-off-by: Ada <ada@example.org>\n", history={"emails": emails}).values()
    assert (chunk.commit_author, chunk.author) == (shown, searched)
    assert ("ada@example.org" in chunk.text) == (emails == "keep")


def test_a_name_that_is_an_address_is_cut(read):
    (chunk,) = read(author="ada@example.org").values()
    assert "example" not in chunk.commit_author + chunk.author


def test_a_secret_in_a_name_is_masked(read):
    chunks = read(author="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", changes=[FileChange("a.py", "a.py", PATCH)])
    assert all("wWPw5k4aXcaT4fNP0UcnZwJUVFk6LO0pINUx".lower() not in repr(chunk).lower() for chunk in chunks.values())


def test_no_part_of_a_hash_is_found_as_a_name(read):
    (chunk,) = read(author="X").values()
    _, _, digest = chunk.author.partition("<")
    assert digest == digest.upper()
    assert all(form not in chunk.author for letter in "abcdefghijklmnop0123456789" for form in searched_forms(letter))


def test_white_space_without_end_is_searched_for_addresses_once(read):
    text = "subject" + " " * 1_500_000 + "end"
    assert len(read(text)) == 1
    (chunk,) = read("fix \t <a@b.c>\nby <d@e.f> too").values()
    assert chunk.text == "fix\nby too\n"


def test_a_whole_address_is_searched_as_itself_and_as_its_hash():
    assert searched_forms(" Ada@Example.org ") == ("ada@example.org", hashed_address("ADA@example.org"))
    assert searched_forms("Ada") == ("ada",)


def test_secrets_in_messages_are_masked_everywhere(read):
    chunks = read("password = 'tR9xQ2mLw8zK4v'\n", changes=[FileChange("a.py", "a.py", PATCH)])
    assert all("tR9xQ2mLw8zK4v" not in repr(chunk) for chunk in chunks.values())
    assert chunks[f".git/{ID}"].masked


def test_long_messages_are_cut_and_impossible_times_bounded(read):
    (chunk,) = read("x " * MESSAGE_CHARACTERS, seconds=10**30).values()
    assert len(chunk.text) <= MESSAGE_CHARACTERS + 1
    assert chunk.commit_date == "9999-12-31T23:59:59Z"
    (empty,) = read("", seconds=0).values()
    assert (empty.text, empty.commit_message) == ("\n", "")
