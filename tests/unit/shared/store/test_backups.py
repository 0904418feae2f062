"""Folders of backups are complete or absent, and leftovers of killed processes are deleted."""

import fcntl
import os

import pytest

from codequarry.shared.errors import StoreDamaged
from codequarry.shared.store.backups import (
    MANIFEST,
    Manifest,
    new_backup,
    read_manifest,
    scratch_folder,
    write_manifest,
)


def test_only_folders_of_dead_processes_are_deleted(tmp_path):
    left, used = tmp_path / ".work-left", tmp_path / ".work-used"
    for folder in (left, used, tmp_path / "other"):
        folder.mkdir()
        (folder / "part").write_text("x")
    handle = os.open(used, os.O_RDONLY)
    fcntl.flock(handle, fcntl.LOCK_EX)
    with scratch_folder(tmp_path, ".work-") as mine:
        assert mine.stat().st_mode & 0o77 == 0
        assert not left.exists()
        assert (used / "part").exists()
        with scratch_folder(tmp_path, ".work-") as second:
            assert mine.exists()
            assert second != mine
    os.close(handle)
    assert not mine.exists()
    assert (tmp_path / "other" / "part").exists()


def test_a_backup_that_fails_leaves_nothing(tmp_path):
    def fail() -> None:
        with new_backup(tmp_path / "copy") as beside:
            (beside / "half").write_text("x")
            raise OSError("no room")

    with pytest.raises(OSError, match="no room"):
        fail()
    assert list(tmp_path.iterdir()) == []


def test_a_folder_without_a_manifest_never_becomes_a_backup(tmp_path):
    def forget() -> None:
        with new_backup(tmp_path / "copy") as beside:
            (beside / "half").write_text("x")

    with pytest.raises(StoreDamaged):
        forget()
    assert not (tmp_path / "copy").exists()


def test_manifests_of_the_first_format_belong_to_the_embedded_store(tmp_path):
    (tmp_path / MANIFEST).write_text('{"format": 1, "created_at": "2026", "dimension": 8, "files": {"a": [1, "b"]}}')
    found = read_manifest(tmp_path)
    assert (found.store, found.dimension, found.format) == ("embedded", 8, 1)
    write_manifest(tmp_path, Manifest("opensearch", 4, {}, {"x": 1}, 1))
    assert read_manifest(tmp_path) == Manifest("opensearch", 4, {}, {"x": 1}, 1)
