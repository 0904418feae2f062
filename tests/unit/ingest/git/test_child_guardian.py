import subprocess
from pathlib import Path

import pytest

from codequarry.ingest.git.child_guardian import Guardian


@pytest.fixture
def guardian():
    own = Guardian()
    yield own
    own.close()


def _sleeper() -> subprocess.Popen[bytes]:
    return subprocess.Popen(["sleep", "1000"], start_new_session=True)


def test_only_watched_processes_end_with_the_guardian(guardian):
    with _sleeper() as watched, _sleeper() as done:
        with guardian.watching(done.pid):
            pass
        with guardian.watching(watched.pid):
            guardian.close()
            assert watched.wait(30) == -9
        assert done.poll() is None
        done.kill()


def test_the_folder_is_deleted_with_the_guardian(guardian):
    folder = Path(guardian.folder())
    assert guardian.folder() == str(folder)
    assert folder.stat().st_mode & 0o777 == 0o700
    (folder / "view").mkdir()
    guardian.close()
    assert not folder.exists()


def test_a_killed_guardian_is_restarted(guardian):
    with guardian.watching(2**22 + 1):
        pass
    guardian._shell.kill()
    guardian._shell.wait()
    with _sleeper() as watched, guardian.watching(watched.pid):
        guardian.close()
        assert watched.wait(30) == -9
