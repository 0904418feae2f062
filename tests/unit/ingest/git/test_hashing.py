"""Object names of blobs, computed without git."""

import subprocess

import pytest

from codequarry.ingest.git.hashing import blob_of


@pytest.mark.parametrize("data", [b"", b"x", b"one\r\ntwo\n", bytes(range(256)) * 10])
@pytest.mark.parametrize("object_format", ["sha1", "sha256"])
def test_a_name_equals_that_of_git(tmp_path, data, object_format):
    subprocess.run(["git", "init", "--quiet", f"--object-format={object_format}", tmp_path], check=True)
    command = ["git", "-C", tmp_path, "hash-object", "--stdin"]
    name = subprocess.run(command, capture_output=True, check=True, input=data).stdout.decode().strip()
    assert blob_of(data, name) == name
