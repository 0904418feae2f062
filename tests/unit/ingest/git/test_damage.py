"""Origins that lack objects: the error says what is wrong and what to do. Grafts and replacements are not followed."""

import shutil

import pytest

from codequarry.shared.errors import GitError


@pytest.fixture
def repository(make_repository):
    """Return a repository with three commits."""
    repository = make_repository(files={"a.py": "a = 1\n"})
    for number in (2, 3):
        repository.write(f"{number}.py", f"a = {number}\n")
        repository.commit()
    return repository


def loose_object(repository, name):
    """Return the file of an object, as named by git without grafts and replacements."""
    digits = repository.git("--no-replace-objects", "rev-parse", name).decode().strip()
    return repository.folder / ".git" / "objects" / digits[:2] / digits[2:]


def refusal(fetch, repository):
    with pytest.raises(GitError) as caught:
        fetch(repository.origin)
    message = str(caught.value)
    assert message.startswith(f"cannot fetch {repository.origin}: ")
    assert "died with error" not in message
    return message


@pytest.mark.parametrize("name", ["HEAD", "HEAD~1", "HEAD^{tree}", "HEAD:2.py"])
def test_missing_objects_are_called_missing(fetch, repository, name):
    loose_object(repository, name).unlink()
    message = refusal(fetch, repository)
    assert f"its objects are missing or damaged: run `git fsck --full` in {repository.origin}" in message
    assert "clone it again" in message


def test_the_missing_object_is_named(fetch, repository):
    blob = repository.git("rev-parse", "HEAD:2.py").decode().strip()
    loose_object(repository, "HEAD:2.py").unlink()
    assert blob in refusal(fetch, repository)


def test_damaged_objects_are_called_damaged(fetch, repository):
    path = loose_object(repository, "HEAD:2.py")
    path.chmod(0o600)
    path.write_bytes(b"garbage")
    assert "its objects are missing or damaged" in refusal(fetch, repository)


def test_a_damaged_pack_is_called_damaged(fetch, repository):
    repository.git("gc", "--quiet")
    [pack] = (repository.folder / ".git" / "objects" / "pack").glob("*.pack")
    pack.chmod(0o600)
    content = pack.read_bytes()
    pack.write_bytes(content[:120] + b"x" * 8 + content[128:])
    assert "its objects are missing or damaged" in refusal(fetch, repository)


def test_a_damaged_ref_is_named(fetch, repository):
    (repository.folder / ".git" / "refs" / "heads" / "main").write_text("garbage\n")
    for branch in (None, "main"):
        with pytest.raises(GitError, match=r"refs/heads/main of .* is damaged: it names no commit; run `git fsck`"):
            fetch(repository.origin, branch)


def test_a_damaged_ref_does_not_affect_other_branches(fetch, repository):
    repository.git("branch", "other")
    (repository.folder / ".git" / "refs" / "heads" / "main").write_text("garbage\n")
    assert fetch(repository.origin, "other").commit


def test_a_shallow_clone_without_its_border_is_called_incomplete(fetch, repository, tmp_path):
    clone = tmp_path / "clone"
    repository.git("clone", "--quiet", "--depth", "1", f"file://{repository.folder}", str(clone))
    (clone / ".git" / "shallow").write_text("")
    with pytest.raises(GitError, match="its objects are missing or damaged"):
        fetch(str(clone))


def test_a_shallow_clone_with_missing_objects_is_called_shallow(fetch, repository, tmp_path):
    clone = tmp_path / "clone"
    repository.git("clone", "--quiet", "--depth", "2", f"file://{repository.folder}", str(clone))
    shutil.rmtree(clone / ".git" / "objects" / "pack")
    with pytest.raises(GitError, match=r"it is a shallow clone: .*`git fetch --refetch`.*or clone it again"):
        fetch(str(clone))


def test_grafts_are_not_followed(fetch, repository):
    grafts = repository.folder / ".git" / "info" / "grafts"
    parent = loose_object(repository, "HEAD~1")
    grafts.parent.mkdir(exist_ok=True)
    grafts.write_bytes(repository.git("rev-parse", "HEAD"))
    fetched = fetch(repository.origin)
    assert fetched.mirror.run("rev-list", "--count", fetched.commit, what="count") == b"3\n"
    parent.unlink()
    shutil.rmtree(fetched.mirror.folder)
    message = refusal(fetch, repository)
    assert f"{grafts} hides commits that are missing" in message and "index the origin" in message


def test_replacements_are_not_followed(fetch, repository):
    commit, parent = repository.git("rev-parse", "HEAD").decode().strip(), loose_object(repository, "HEAD~1")
    other = repository.git("commit-tree", "-m", "short", "HEAD~1^{tree}").decode().strip()
    repository.git("replace", commit, other)
    fetched = fetch(repository.origin)
    assert fetched.commit == commit
    assert b"3.py" in fetched.mirror.run("ls-tree", "--name-only", commit, what="list")
    assert fetched.mirror.run("rev-list", "--count", commit, what="count") == b"3\n"
    parent.unlink()
    shutil.rmtree(fetched.mirror.folder)
    message = refusal(fetch, repository)
    assert "refs/replace" in message and "index the origin" in message
