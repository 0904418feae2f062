"""The disk budget of mirrors: the least recently used mirror is deleted first, a mirror in use never."""

import os
import subprocess
import sys

import pytest

from codequarry.ingest.git.mirror_cache import mirror_in_use, trim_mirrors
from codequarry.ingest.removal.removal import remove_repository
from codequarry.ingest.run.pipeline import IndexRequest, index_repository

SIZE = 1000


@pytest.fixture
def mirrors(tmp_path):
    """Return three mirrors of 1,000 bytes, used in this order."""
    made = []
    for at, name in enumerate(("first", "second", "third")):
        folder = tmp_path / "mirrors" / f"{name}-0.git"
        (folder / "objects").mkdir(parents=True)
        (folder / "objects" / "pack").write_bytes(b"x" * SIZE)
        with mirror_in_use(folder):
            pass
        os.utime(folder.with_suffix(".used"), (at, at))
        made.append(folder)
    return made


def test_the_least_recently_used_mirrors_are_deleted_first(mirrors, tmp_path):
    with mirror_in_use(mirrors[0]):
        pass  # now the most recent use
    assert trim_mirrors(tmp_path, 2 * SIZE) == ["second-0.git"]
    assert trim_mirrors(tmp_path, 2 * SIZE) == []
    assert [folder.exists() for folder in mirrors] == [True, False, True]
    assert not mirrors[1].with_suffix(".used").exists()


def test_a_mirror_used_by_another_process_is_kept(mirrors, tmp_path):
    program = (
        "import sys, pathlib\nfrom codequarry.ingest.git.mirror_cache import mirror_in_use\n"
        "with mirror_in_use(pathlib.Path(sys.argv[1])):\n    print('here', flush=True)\n    sys.stdin.read()\n"
    )
    command = [sys.executable, "-c", program, str(mirrors[1])]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as user:
        assert user.stdout.readline() == "here\n"
        assert trim_mirrors(tmp_path, 0) == ["first-0.git", "third-0.git"]
        user.stdin.close()
        user.wait()
    assert trim_mirrors(tmp_path, 0) == ["second-0.git"]


def test_the_mirror_of_a_run_is_kept_until_the_run_ends(make_repository, make_workshop):
    repository = make_repository("core", {f"f{at}.py": f"x = {at}\n" for at in range(3)})
    workshop = make_workshop()
    home = workshop.settings.home
    removed = []
    index_repository(IndexRequest(repository.origin), workshop, lambda _: removed.extend(trim_mirrors(home, 0)))
    assert removed == []
    assert len(trim_mirrors(home, 0)) == 1
    repository.write("f0.py", "y = 1\n")
    commit = repository.commit()
    assert index_repository(IndexRequest(repository.origin), workshop).commit == commit


def test_removing_a_repository_deletes_its_mirror(make_repository, make_workshop):
    repository = make_repository("core", {"f.py": "x = 1\n"})
    workshop = make_workshop()
    index_repository(IndexRequest(repository.origin), workshop)
    remove_repository("core", workshop.store, workshop.settings)
    assert [path.name for path in (workshop.settings.home / "mirrors").iterdir()] == ["gitconfig"]
