"""Backup, verification and restore of an index in OpenSearch, on a real node."""

import gzip
import json
import signal
import subprocess
import sys
import time
import uuid
from contextlib import closing

import pytest

from codequarry.shared.settings.config import OpenSearchSettings
from codequarry.shared.store.opensearch.editions import OpenSearchEditions
from codequarry.shared.store.opensearch.index_bodies import KINDS, edition_alias_of
from codequarry.shared.store.opensearch.mapping_version import SCHEMA

pytestmark = pytest.mark.opensearch
FILES = {f"src/{name}.py": f"def {name}(delay):\n    return delay\n" for name in ("alpha", "beta", "gamma")}
# By then Python has started, and neither command has ended.
KILLED_AFTER_SECONDS = 1.2


@pytest.fixture
def cluster(opensearch_node, workspace):
    """Configure the workspace to use the cluster, and yield the editions of its index."""
    settings = OpenSearchSettings(urls=(opensearch_node.url,), index=f"test-backup-{uuid.uuid4().hex[:12]}")
    section = f'store = "opensearch"\n[opensearch]\nurls = ["{opensearch_node.url}"]\nindex = "{settings.index}"\n'
    home = workspace.folder / "home"
    home.mkdir(mode=0o700)
    (home / "config.toml").write_text(section)
    with closing(OpenSearchEditions(settings)) as editions:
        yield editions
        for edition in editions.present():
            editions.remove(edition)


def hits(workspace):
    found = workspace.run("search", "alpha delay", "--repo", "project", "--json")
    assert found.code == 0, found.err
    return [(hit["path"], hit["text"], hit["score"]) for hit in found.json["results"]]


def started(workspace, *arguments):
    command = [sys.executable, "-m", "codequarry.cli.main", *map(str, arguments)]
    return subprocess.Popen(
        command,
        env=workspace.environment,
        cwd=workspace.folder,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def test_a_backup_restores_keys_and_search_results(workspace, cluster):
    workspace.indexed("project", FILES)
    assert workspace.run("keys", "create", "reader", "--repo", "project").code == 0
    keys, before = workspace.run("keys", "list", "--json").json, hits(workspace)
    assert before
    made = workspace.run("backup", "copy")
    assert made.code == 0, made.err
    assert workspace.run("verify", "copy").code == 0
    assert (workspace.folder / "copy").stat().st_mode & 0o77 == 0
    assert all(path.stat().st_mode & 0o77 == 0 for path in (workspace.folder / "copy").iterdir())

    repository = workspace.work_tree("project")
    repository.commit({"src/alpha.py": None, "src/beta.py": None})
    assert workspace.run("index", repository.folder).code == 0
    assert hits(workspace) != before
    refused = workspace.run("restore", "copy")
    assert refused.code == 2
    assert "--replace" in refused.err
    restored = workspace.run("restore", "copy", "--replace")
    assert restored.code == 0, restored.err
    assert hits(workspace) == before
    assert workspace.run("keys", "list", "--json").json == keys
    assert cluster.present() == [2]
    assert workspace.run("fsck").code == 0
    assert workspace.run("index", repository.folder).code == 0
    assert "src/alpha.py" not in {path for path, *_ in hits(workspace)}

    # Restore into an empty cluster.
    cluster.remove(2)
    assert workspace.run("restore", "copy").code == 0
    assert hits(workspace) == before


def test_an_incomplete_or_changed_backup_is_not_restored(workspace, cluster):
    workspace.indexed("project", FILES)
    assert workspace.run("backup", "copy").code == 0
    assert workspace.run("backup", "copy").code == 2
    chunks, manifest = workspace.folder / "copy" / "chunks.jsonl.gz", workspace.folder / "copy" / "backup.json"
    whole, content = chunks.read_bytes(), json.loads(manifest.read_text())
    chunks.write_bytes(whole[:-20])
    for command in (("verify", "copy"), ("restore", "copy", "--replace")):
        outcome = workspace.run(*command)
        assert outcome.code == 1
        assert "differs from the manifest" in outcome.err
    chunks.write_bytes(whole)
    manifest.write_text(json.dumps(content | {"documents": content["documents"] | {"chunks.jsonl.gz": 99}}))
    assert "wrong number of documents" in workspace.run("verify", "copy").err
    manifest.write_text(json.dumps(content | {"schema": 99}))
    assert "newer version" in workspace.run("verify", "copy").err
    manifest.write_text(json.dumps(content | {"store": "embedded"}))
    assert workspace.run("restore", "copy", "--replace").code == 2
    assert hits(workspace)
    assert cluster.present() == [1]


def test_an_embedded_store_refuses_a_backup_of_opensearch(workspace, cluster):
    workspace.indexed("project", FILES)
    assert workspace.run("backup", "copy").code == 0
    refused = workspace.run("restore", "copy", variables={"CODEQUARRY_STORE": "embedded"})
    assert refused.code == 2
    assert "cannot be restored to the" in refused.err


def test_a_backup_during_an_import_is_a_single_state(workspace, cluster):
    repository = workspace.indexed("project", FILES)
    repository.commit({f"more/{n}.py": f"def more{n}():\n    return {n}\n" for n in range(200)})
    writer = started(workspace, "index", repository.folder)
    number = 0
    while writer.poll() is None:
        made = workspace.run("backup", f"copy{number}")
        assert made.code == 0, made.err
        number += 1
    assert writer.returncode == 0
    repository.commit({"src/late.py": "late = 1\n"})
    copies = sorted(workspace.folder.glob("copy*"))
    assert len(copies) > 1
    for copy in copies[:2]:
        assert workspace.run("restore", copy.name, "--replace").code == 0
        # Compare every text with git at the commit of the backup; a running import is an open transaction.
        checked = workspace.run("fsck", "project", "--full-text")
        problems = [line for line in checked.out.splitlines() if line.startswith("  ")]
        assert all(line.split()[0] in ("open", "clean") for line in problems), checked.out + checked.err
        assert "with their text" in checked.out
    assert workspace.run("index", repository.folder).code == 0
    assert workspace.run("fsck", "project", "--full-text").code == 0


def test_killed_backups_and_restores_leave_the_index_unchanged(workspace, cluster):
    workspace.indexed("project", FILES | {f"f/{n}.py": f"def f{n}():\n    return {n}\n" for n in range(300)})
    before = hits(workspace)
    assert workspace.run("backup", "copy").code == 0
    for command in (("backup", "killed"), ("restore", "copy", "--replace")):
        child = started(workspace, *command)
        time.sleep(KILLED_AFTER_SECONDS)
        child.send_signal(signal.SIGKILL)
        child.wait()
        assert hits(workspace) == before
    if (workspace.folder / "killed").exists():
        assert workspace.run("verify", "killed").code == 0
    else:
        assert workspace.run("backup", "killed").code == 0
    assert workspace.run("restore", "killed", "--replace").code == 0
    assert hits(workspace) == before
    assert len(cluster.present()) == 1
    assert not list(workspace.folder.glob(".codequarry-*"))


def test_the_command_upgrades_mappings_without_a_version(workspace, cluster):
    workspace.indexed("project", FILES)
    before = hits(workspace)
    mappings = cluster._connection.client.indices
    for kind in KINDS:
        mappings.put_mapping(index=edition_alias_of(kind, cluster._settings), body={"_meta": {}})
    assert hits(workspace) == before
    assert workspace.run("migrate", "--schema", "--json").json == {"before": 0, "after": SCHEMA}
    assert workspace.run("migrate", "--schema", "--json").json == {"before": SCHEMA, "after": SCHEMA}
    assert hits(workspace) == before
    name = edition_alias_of("catalog", cluster._settings)
    mappings.put_mapping(index=name, body={"_meta": {"schema_version": SCHEMA + 1}})
    for command in (("search", "alpha"), ("backup", "copy"), ("migrate", "--schema")):
        refused = workspace.run(*command)
        assert refused.code == 1
        assert "newer release" in refused.err
    assert not (workspace.folder / "copy").exists()


def test_a_backup_has_every_vector_only_once(workspace, cluster):
    workspace.indexed("project", FILES)
    assert workspace.run("backup", "copy").code == 0
    with gzip.open(workspace.folder / "copy" / "chunks.jsonl.gz", "rt") as file:
        lines = [json.loads(line) for line in file]
    assert lines
    assert all("embedding" not in line["source"] and line["routing"] == "project" for line in lines)
