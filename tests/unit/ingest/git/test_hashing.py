"""Object names of blobs, computed without git."""

import subprocess

import pytest

from codequarry.ingest.git import hashing
from codequarry.ingest.git.hashing import blob_of, blob_of_file

SHA1, SHA256 = "0" * 40, "0" * 64


@pytest.mark.parametrize("data", [b"", b"x", b"one\r\ntwo\n", bytes(range(256)) * 10])
def test_a_name_equals_that_of_git_in_parts_and_whole(tmp_path, monkeypatch, data):
    monkeypatch.setattr(hashing, "PART_BYTES", 7)
    path = tmp_path / "file"
    path.write_bytes(data)
    name = subprocess.run(["git", "hash-object", path], capture_output=True, check=True, text=True).stdout.strip()
    assert blob_of(data, SHA1) == name
    with path.open("rb") as file:
        assert blob_of_file(file, SHA1) == (name, len(data))
        assert blob_of_file(file, SHA256) == (blob_of(data, SHA256), len(data))


@pytest.mark.parametrize(("size", "named"), [(4, b"xxxx"), (20, b"x" * 10)])
def test_a_file_that_changes_its_size_gets_a_consistent_name(tmp_path, monkeypatch, size, named):
    monkeypatch.setattr(hashing, "PART_BYTES", 5)
    path = tmp_path / "file"
    path.write_bytes(b"x" * 10)

    class Changing:
        """A file whose size changes while its first part is read."""

        def __init__(self, file):
            self.fileno, self.seek, self._file, self._changed = file.fileno, file.seek, file, False

        def read(self, most):
            if not self._changed:
                self._changed = True
                with path.open("r+b") as other:
                    other.truncate(size)
            return self._file.read(most)

    with path.open("rb", buffering=0) as file:
        assert blob_of_file(Changing(file), SHA1) == (blob_of(named, SHA1), len(named))
