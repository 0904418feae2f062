"""Looking up repositories by origin, by name or by the path of a checkout."""

import pytest

from codequarry.search_api.query.request import RepositoryVersion
from codequarry.search_api.query.selection import Selection
from codequarry.search_api.query.version_query import VersionQuery, VersionSpecifier
from codequarry.search_api.versions.repository_lookup import Directory, versions_of
from codequarry.shared.catalog.repositories import Repository
from codequarry.shared.errors import NotIndexed, UsageError
from codequarry.shared.versions.head import Head, Timeline


@pytest.fixture
def directory(tmp_path):
    """Return two repositories: a local folder, and a remote repository with a working tree."""
    for name in ("local", "tree", "other"):
        (tmp_path / "roots" / name).mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / "roots")
    repositories = {
        "flask": Repository("flask", "https://github.com/pallets/flask.git", "main"),
        "local": Repository("local", str(tmp_path / "roots/local"), "main"),
    }
    tree = Timeline("flask", 3, "a" * 40, ref=f"workspace/{tmp_path / 'roots/tree'}")
    return Directory(Head(counter=3, timelines={1: tree}), repositories, (tmp_path / "roots",))


def found(directory, **fields):
    return versions_of([RepositoryVersion(**fields)], directory, Selection()).versions[0]


@pytest.mark.parametrize(
    "origin",
    [
        "https://github.com/pallets/flask.git",
        "http://someone@GitHub.com/pallets/flask",
        "git@github.com:pallets/flask.git",
        "ssh://git@github.com/pallets/flask/",
    ],
)
def test_scheme_user_host_case_and_suffix_of_an_origin_are_ignored(directory, origin):
    assert found(directory, origin=origin) == ("flask", VersionQuery())


def test_each_repository_has_its_own_version(directory):
    wanted = [RepositoryVersion(name="flask", version="v1"), RepositoryVersion(name="local")]
    selection = versions_of(wanted, directory, Selection())
    assert selection.versions == (("flask", VersionQuery((VersionSpecifier("ref", "v1"),))), ("local", VersionQuery()))


def test_a_path_with_links_names_a_local_origin_or_a_working_tree(directory, tmp_path):
    assert found(directory, path=str(tmp_path / "link/local"))[0] == "local"
    assert found(directory, path=str(tmp_path / "roots/tree"))[0] == "flask"


def test_circular_links_are_refused(directory, tmp_path):
    (tmp_path / "roots" / "circle").symlink_to(tmp_path / "roots" / "circle")
    with pytest.raises(UsageError, match="not inside a folder"):
        found(directory, path=str(tmp_path / "roots/circle/x"))
    tree = tmp_path / "roots" / "tree"
    tree.rmdir()
    tree.symlink_to(tree)
    assert found(directory, path=str(tmp_path / "link/local"))[0] == "local"


def test_workspace_means_the_working_tree(directory, tmp_path):
    key = f"workspace/{tmp_path / 'roots/tree'}"
    for fields in ({"path": str(tmp_path / "link/tree")}, {"name": "flask"}):
        assert found(directory, version="workspace", **fields) == (
            "flask",
            VersionQuery((VersionSpecifier("ref", key),)),
        )
    with pytest.raises(UsageError, match="working trees: none"):
        found(directory, name="local", version="workspace")


def test_a_folder_in_a_checkout_means_the_checkout(directory, tmp_path):
    for name in ("local/src/deep", "tree/packages/a", "tree/inner/src"):
        (tmp_path / "roots" / name).mkdir(parents=True)
    for name in ("local", "tree", "tree/inner"):
        (tmp_path / "roots" / name / ".git").mkdir()
    assert found(directory, path=str(tmp_path / "roots/local/src/deep")) == ("local", VersionQuery())
    key = VersionSpecifier("ref", f"workspace/{tmp_path / 'roots/tree'}")
    package = {"path": str(tmp_path / "link/tree/packages/a"), "version": "workspace"}
    assert found(directory, **package) == found(directory, name="flask", **package) == ("flask", VersionQuery((key,)))
    with pytest.raises(NotIndexed, match="inner"):
        found(directory, path=str(tmp_path / "roots/tree/inner/src"), version="workspace")


def test_folders_above_the_roots_are_not_examined(directory, tmp_path):
    (tmp_path / "roots/tree/packages").mkdir()
    narrow = Directory(directory.head, directory.repositories, (tmp_path / "roots/tree/packages",))
    with pytest.raises(NotIndexed):
        found(narrow, path=str(tmp_path / "roots/tree/packages"), version="workspace")


@pytest.mark.parametrize("path", ["/etc", "roots/../../etc", "link/../.."])
def test_paths_outside_the_roots_are_refused(directory, tmp_path, path):
    with pytest.raises(UsageError, match="not inside a folder"):
        found(directory, path=str(tmp_path / path))


def test_a_link_out_of_the_roots_is_refused(directory, tmp_path):
    (tmp_path / "roots/out").symlink_to("/etc")
    with pytest.raises(UsageError, match="not inside a folder"):
        found(directory, path=str(tmp_path / "roots/out"))


def test_without_roots_there_are_no_local_paths(directory, tmp_path):
    closed = Directory(directory.head, directory.repositories)
    with pytest.raises(UsageError, match=r"api\.local_roots"):
        found(closed, path=str(tmp_path / "roots/local"))
    checkout = {"path": "/anywhere", "host": "far"}
    assert found(closed, origin="https://github.com/pallets/flask", **checkout)[0] == "flask"


def test_paths_of_another_machine_are_refused(directory, tmp_path):
    with pytest.raises(UsageError, match="another machine"):
        found(directory, path=str(tmp_path / "roots/local"), host="build-7")


def test_all_unknown_repositories_are_named_without_passwords(directory):
    wanted = [RepositoryVersion(origin="https://me:secret@example.org/x.git"), RepositoryVersion(name="nope")]
    with pytest.raises(NotIndexed, match=r"example\.org/x, nope; indexed: flask, local") as caught:
        versions_of(wanted, directory, Selection())
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    "selection", [Selection(repos=("a",)), Selection(version=VersionQuery((VersionSpecifier("ref", "v1"),)))]
)
def test_repositories_or_versions_given_twice_are_refused(directory, selection):
    with pytest.raises(UsageError, match="not in both"):
        versions_of([RepositoryVersion(name="flask")], directory, selection)
