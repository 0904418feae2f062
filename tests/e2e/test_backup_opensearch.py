"""Backup, verification and restore of an index in OpenSearch, without any snapshot repository."""

import json
import os
import signal
import subprocess
import sys
import threading
import uuid
from contextlib import closing, suppress

import pytest

from codequarry.ingest.pipeline import IndexRequest, Workshop, index_repository
from codequarry.shared.access.key_list import add_key, list_keys
from codequarry.shared.access.keys import Grant, new_key
from codequarry.shared.errors import StoreDamaged, UsageError
from codequarry.shared.settings.config import OpenSearchSettings, SettingsModel
from codequarry.shared.store.consistency import check_counter
from codequarry.shared.store.factory import open_store
from codequarry.shared.store.opensearch import backup
from codequarry.shared.store.opensearch.backup import restore_backup, verify_backup, write_backup
from codequarry.shared.store.opensearch.connection import connect
from codequarry.shared.versions.ledger import read_head
from tests.e2e.test_index_opensearch import contents

pytestmark = pytest.mark.opensearch
FILES = {f"src/d{at % 3}/f{at}.py": f"def f{at}(delay):\n    return {at}\n" for at in range(30)}


@pytest.fixture
def new_index(opensearch_node):
    """Give a function that returns the settings of an index of its own, which is deleted in the end."""
    made = []

    def new() -> OpenSearchSettings:
        made.append(OpenSearchSettings(urls=(opensearch_node.url,), index=f"codequarry-backup-{uuid.uuid4().hex[:8]}"))
        return made[-1]

    yield new
    for settings in made:
        with closing(connect(settings)) as client:
            client.indices.delete(index=f"{settings.index}*", params={"ignore": 404})


@pytest.fixture
def workshop_on(tmp_path, embedder):
    """Give a function that opens the active edition of an index."""
    opened = []

    def open_on(opensearch: OpenSearchSettings) -> Workshop:
        indexing = {"processes": 0, "grace_seconds": 0, "batch_files": 5}
        settings = SettingsModel(home=tmp_path / "home", store="opensearch", opensearch=opensearch, indexing=indexing)
        opened.append(open_store(settings, embedder.dimension))
        return Workshop(opened[-1], embedder, settings)

    yield open_on
    for store in opened:
        store.close()


def head_of(repository) -> str:
    return repository.git("rev-parse", "HEAD").decode().strip()


def quiet(_what, _done):
    """Show nothing."""


def test_a_backup_is_restored_with_keys_and_contents_as_before(new_index, workshop_on, make_repository, tmp_path):
    index, target = new_index(), tmp_path / "copy"
    workshop = workshop_on(index)
    repository = make_repository(files=FILES)
    request = IndexRequest(repository.origin)
    index_repository(request, workshop)
    add_key(workshop.store, new_key("reader", ["search"], [Grant("project")])[0])
    before, keys = contents(workshop.store), list_keys(workshop.store)
    said = []
    manifest = write_backup(index, target, lambda *told: said.append(told))
    assert (manifest.store, manifest.documents["chunks.jsonl.gz"]) == ("opensearch", len(FILES))
    assert ("copying chunks", len(FILES)) in said
    assert target.stat().st_mode & 0o77 == 0
    assert {path.stat().st_mode & 0o77 for path in target.iterdir()} == {0}
    assert verify_backup(target, quiet) == manifest

    repository.remove("src/d0/f0.py")
    repository.write("new.py", "y = 2\n")
    repository.commit()
    index_repository(request, workshop)
    assert contents(workshop.store) != before
    with pytest.raises(UsageError, match="--replace"):
        restore_backup(index, target, quiet)
    restore_backup(index, target, quiet, replace=True)
    restored = workshop_on(index)
    assert (contents(restored.store), list_keys(restored.store)) == (before, keys)
    check_counter(restored.store)
    report = index_repository(request, restored)
    assert (report.files_changed, report.files_removed, report.embedded) == (1, 1, 1)

    elsewhere = new_index()
    restore_backup(elsewhere, target, quiet)
    assert contents(workshop_on(elsewhere).store) == before


def test_a_backup_beside_a_writer_is_one_state(new_index, workshop_on, make_repository, tmp_path):
    """Whatever is under way: what was published is there whole, and the next run goes on."""
    index = new_index()
    workshop = workshop_on(index)
    repository = make_repository(files=FILES)
    request = IndexRequest(repository.origin)
    index_repository(request, workshop)
    states = {head_of(repository): contents(workshop.store)}

    def write():
        for commit in range(3):
            for at in range(0, 30, 2):
                repository.write(f"src/d{at % 3}/f{at}.py", f"def g{at}_{commit}():\n    pass\n")
            repository.remove(f"src/d{(2 * commit + 1) % 3}/f{2 * commit + 1}.py")
            repository.commit()
            index_repository(request, workshop)
            states[head_of(repository)] = contents(workshop.store)

    writer = threading.Thread(target=write)
    writer.start()
    targets = []
    while writer.is_alive():
        targets.append(tmp_path / f"copy{len(targets)}")
        write_backup(index, targets[-1], quiet)
    writer.join()
    assert len(states) == 4
    # Each takes some seconds to restore.
    for target in targets[:: -(-len(targets) // 4)]:
        elsewhere = new_index()
        restore_backup(elsewhere, target, quiet)
        restored = workshop_on(elsewhere)
        check_counter(restored.store)
        (state,) = read_head(restored.store).timelines.values()
        assert contents(restored.store) == states[state.commit]
        index_repository(request, restored)
        assert contents(restored.store) == states[head_of(repository)]


def test_what_is_newer_than_the_catalog_is_left_out(new_index, workshop_on, make_repository, tmp_path, monkeypatch):
    """A run that is published after the catalog was read and before the rows are."""
    index, target = new_index(), tmp_path / "copy"
    workshop = workshop_on(index)
    repository = make_repository(files=FILES)
    request = IndexRequest(repository.origin)
    index_repository(request, workshop)
    before = contents(workshop.store)
    freeze = backup._freeze

    def freeze_late(client, settings, name):
        if name == workshop.store.indices.chunks:
            repository.remove("src/d0/f0.py")
            repository.write("src/d1/f1.py", "def g():\n    pass\n")
            repository.commit()
            index_repository(request, workshop)
        return freeze(client, settings, name)

    monkeypatch.setattr(backup, "_freeze", freeze_late)
    write_backup(index, target, quiet)
    after = contents(workshop.store)
    elsewhere = new_index()
    restore_backup(elsewhere, target, quiet)
    restored = workshop_on(elsewhere)
    check_counter(restored.store)
    assert contents(restored.store) == before
    index_repository(request, restored)
    assert contents(restored.store) == after != before


def test_a_damaged_backup_is_not_restored_and_the_index_stays(new_index, workshop_on, make_repository, tmp_path):
    index, target = new_index(), tmp_path / "copy"
    workshop = workshop_on(index)
    index_repository(IndexRequest(make_repository(files=FILES).origin), workshop)
    write_backup(index, target, quiet)
    before = contents(workshop.store)
    chunks = target / "chunks.jsonl.gz"
    data = bytearray(chunks.read_bytes())
    data[len(data) // 2] ^= 1
    chunks.write_bytes(data)
    with pytest.raises(StoreDamaged, match="is not what was backed up"):
        restore_backup(index, target, quiet, replace=True)
    assert contents(workshop_on(index).store) == before


COMMANDS = """
import os, signal, sys
from pathlib import Path
from codequarry.shared.settings.config import OpenSearchSettings
from codequarry.shared.store.opensearch.backup import restore_backup, write_backup

url, index, target, deed, moment = sys.argv[1:]
settings, left = OpenSearchSettings(urls=(url,), index=index), int(moment)

def observe(what, done):
    global left
    left -= 1
    if left < 0:
        os.kill(os.getpid(), signal.SIGKILL)

if deed == "restore":
    restore_backup(settings, Path(target), observe, replace=True)
else:
    write_backup(settings, Path(target), observe)
"""


def killed(settings, target, deed, moment):
    command = [sys.executable, "-c", COMMANDS, settings.urls[0], settings.index, str(target), deed, str(moment)]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("CODEQUARRY_")}
    return subprocess.run(command, env=environment, timeout=120).returncode == -signal.SIGKILL


def test_a_command_that_is_killed_leaves_the_index_as_it_was(new_index, workshop_on, make_repository, tmp_path):
    index, target = new_index(), tmp_path / "copy"
    workshop = workshop_on(index)
    index_repository(IndexRequest(make_repository(files=FILES).origin), workshop)
    before = contents(workshop.store)
    for moment in range(3):
        assert killed(index, target, "backup", moment)
        with suppress(StoreDamaged):
            verify_backup(target, quiet)
            pytest.fail("what a kill leaves counts as a backup")
    write_backup(index, target, quiet)
    manifest = json.loads((target / "backup.json").read_text())
    assert manifest["store"] == "opensearch"
    for moment in range(3):
        assert killed(index, target, "restore", moment)
        assert contents(workshop_on(index).store) == before
    assert not killed(index, target, "restore", 99)
    assert contents(workshop_on(index).store) == before
    with closing(connect(index)) as client:
        assert len(client.indices.get(index=f"{index.index}*")) == 4, "nothing is left of the killed ones"
