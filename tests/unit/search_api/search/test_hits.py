from dataclasses import replace

import pytest

from codequarry.search_api.search.hits import blob_url, versioned_chunk
from codequarry.search_api.versions.views import View
from codequarry.shared.model import ChangedTogether, Chunk, FileHistory, PathGlobs
from codequarry.shared.versions.refs import Ref

COMMIT = "0123456789abcdef0123456789abcdef01234567"


@pytest.mark.parametrize(
    ("origin", "start"),
    [
        ("https://github.com/psf/black.git", "https://github.com/psf/black/blob/{}/a/b.py#L3-L9"),
        ("git@github.com:psf/black.git", "https://github.com/psf/black/blob/{}/a/b.py#L3-L9"),
        ("ssh://git@github.com:22/psf/black", "https://github.com/psf/black/blob/{}/a/b.py#L3-L9"),
        ("https://gitlab.com/group/sub/project.git", "https://gitlab.com/group/sub/project/-/blob/{}/a/b.py#L3-9"),
        ("https://gitlab.example.org:8443/g/p", "https://gitlab.example.org:8443/g/p/-/blob/{}/a/b.py#L3-9"),
        ("git@bitbucket.org:team/repo.git", "https://bitbucket.org/team/repo/src/{}/a/b.py#lines-3:9"),
        ("https://codeberg.org/forgejo/forgejo.git", "https://codeberg.org/forgejo/forgejo/src/commit/{}/a/b.py#L3-L9"),
        ("https://gitea.example.org/a/b", "https://gitea.example.org/a/b/src/commit/{}/a/b.py#L3-L9"),
    ],
)
def test_hits_link_to_their_lines_on_the_code_host(origin, start):
    assert blob_url(origin, COMMIT, "a/b.py", 3, 9) == start.format(COMMIT)


@pytest.mark.parametrize(
    "origin",
    [
        "",
        "/srv/git/repo",
        "../repo",
        "file:///srv/git/repo",
        "https://example.org/a/b",
        "https://github.com/",
        "https://[::1",
        "C:\\code",
    ],
)
def test_unknown_origins_have_no_url(origin):
    assert blob_url(origin, COMMIT, "a.py", 1, 2) is None


def test_without_a_commit_there_is_no_url():
    assert blob_url("https://github.com/a/b", "", "a.py", 1, 2) is None


def test_odd_file_names_are_quoted():
    url = blob_url("https://github.com/a/b", COMMIT, 'x y/#1"?\n.py', 1, 2)
    assert url == f"https://github.com/a/b/blob/{COMMIT}/x%20y/%231%22%3F%0A.py#L1-L2"


def chunk_with_history():
    history = FileHistory(3, False, (ChangedTogether("src/b.py", 2), ChangedTogether("secret/c.py", 2)))
    return Chunk(
        "1", "core", "src/a.py", "b" * 40, "python", "function", 1, 1, 0, 1, "x", "",
        commit_author="Ada", commit_message="Hide secret/c.py", last_modified_commit=COMMIT, file_history=history,
    )  # fmt: skip


def test_a_caller_of_some_paths_learns_nothing_about_others_from_the_history():
    view = View("core", Ref("branch", "main"), 1, 2, COMMIT)
    whole = versioned_chunk(chunk_with_history(), view, "")
    assert [other.path for other in whole.co_change_files] == ["src/b.py", "secret/c.py"]
    assert (whole.commit_message, whole.file_history_length) == ("Hide secret/c.py", 3)
    limited = versioned_chunk(chunk_with_history(), replace(view, allowed=(PathGlobs(("src/**",)),)), "")
    assert [other.path for other in limited.co_change_files] == ["src/b.py"]
    assert (limited.commit_message, limited.commit_author, limited.file_history_length) == (None, "Ada", 3)
    assert limited.introduced_commit == limited.last_modified_commit == COMMIT
