"""Backup, verification and restore of an embedded index, as an operator does them."""

import json
import subprocess
import sys

FILES = {f"src/{name}.py": f"def {name}(delay):\n    return delay\n" for name in ("alpha", "beta", "gamma")}


def hits(workspace):
    found = workspace.run("search", "alpha delay", "--repo", "project", "--json")
    assert found.code == 0, found.err
    return [(hit["path"], hit["text"]) for hit in found.json["results"]]


def test_a_backup_restores_keys_and_search_results(workspace):
    workspace.indexed("project", FILES)
    made = workspace.run("keys", "create", "reader", "--repo", "project")
    assert made.code == 0, made.err
    keys, before = workspace.run("keys", "list", "--json").json, hits(workspace)
    assert workspace.run("backup", "copy").code == 0
    assert workspace.run("verify", "copy").code == 0
    assert (workspace.folder / "copy").stat().st_mode & 0o77 == 0

    repository = workspace.work_tree("project")
    repository.commit({"src/alpha.py": None, "src/beta.py": None})
    assert workspace.run("index", repository.folder).code == 0
    assert hits(workspace) != before
    refused = workspace.run("restore", "copy")
    assert refused.code == 2
    assert "--replace" in refused.err
    assert workspace.run("restore", "copy", "--replace").code == 0
    assert hits(workspace) == before
    assert workspace.run("keys", "list", "--json").json == keys
    assert workspace.run("fsck").code == 0
    assert workspace.run("doctor").code == 0


def test_an_incomplete_or_changed_backup_is_not_restored(workspace):
    workspace.indexed("project", FILES)
    assert workspace.run("backup", "copy").code == 0
    assert workspace.run("backup", "copy").code == 2
    vectors = workspace.folder / "copy" / "vectors-1.f32"
    data = bytearray(vectors.read_bytes())
    data[40] ^= 1
    vectors.write_bytes(data)
    for command in (("verify", "copy"), ("restore", "copy", "--replace")):
        outcome = workspace.run(*command)
        assert outcome.code == 1
        assert "differs from the manifest" in outcome.err
    manifest = workspace.folder / "copy" / "backup.json"
    manifest.write_text(json.dumps(json.loads(manifest.read_text()) | {"format": 99}))
    assert "newer version" in workspace.run("verify", "copy").err
    manifest.unlink()
    assert "interrupted" in workspace.run("verify", "copy").err
    assert hits(workspace)


def test_a_backup_during_a_write_is_a_single_state(workspace):
    repository = workspace.indexed("project", FILES)
    repository.commit({f"more/{number}.py": f"def more{number}():\n    return {number}\n" for number in range(300)})
    command = [sys.executable, "-m", "codequarry.cli.main", "index", str(repository.folder)]
    writer = subprocess.Popen(command, env=workspace.environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    number = 0
    while writer.poll() is None:
        assert workspace.run("backup", f"copy{number}").code == 0
        number += 1
    assert writer.returncode == 0
    for copy in range(number):
        assert workspace.run("verify", f"copy{copy}").code == 0


def test_damaged_vectors_are_found_and_repaired(workspace):
    workspace.indexed("project", FILES)
    before = hits(workspace)
    vectors = workspace.folder / "home" / "store" / "vectors-1.f32"
    vectors.write_bytes(b"\xff" * vectors.stat().st_size)
    for command in (("search", "alpha delay"), ("doctor",), ("fsck",)):
        outcome = workspace.run(*command)
        assert outcome.code == 1
        assert "vectors-1.f32" in outcome.out + outcome.err
        assert "Traceback" not in outcome.err
        assert "NaN" not in outcome.out
    assert workspace.run("fsck", "project", "--repair").code == 0
    assert workspace.run("fsck").code == 0
    assert hits(workspace) == before
