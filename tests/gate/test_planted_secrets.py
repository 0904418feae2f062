"""Secrets planted in every kind of file: nothing that the index keeps, prints or logs contains one."""

import json
import sqlite3
import time
import zlib
from contextlib import closing

import pytest

from codequarry.ingest.files.scan import SKIP_REASONS
from codequarry.ingest.garbage_collection.unmasked_rows import noted_commits, repositories_with_unmasked
from codequarry.ingest.run.pipeline import IndexRequest, index_repository
from codequarry.ingest.run.remasking import finish_masking
from codequarry.shared.catalog.ledger import read_head
from codequarry.shared.model import Filters
from codequarry.shared.versions.refs import Ref
from codequarry.shared.versions.snapshots import head_snapshot
from tests.e2e.conftest import Workspace
from tests.gate.planted import planted

RETENTION = {"grace_seconds": 0}
PLANTED = planted()
FILES = {f"{at:03}/{plant.path}": plant.text for at, plant in enumerate(PLANTED)}
SECRETS = {secret: plant.kind for plant in PLANTED for secret in plant.secrets}
CLEAN = {"src/clean.py": "def add(a, b):\n    return a + b\n"}


def folder_bytes(folder):
    """Yield every file of a data folder except the mirrors' git objects, and the store's rows, decompressed.

    A mirror holds a repository as its origin does; only users who can read the data folder can read it.
    """
    for path in sorted(folder.rglob("*")):
        if path.is_file() and "mirrors" not in path.relative_to(folder).parts:
            yield str(path), path.read_bytes()
    for path in folder.rglob("index.sqlite3"):
        with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as connection:
            for (body,) in connection.execute("SELECT body FROM payload"):
                yield "payload", zlib.decompress(body)


def opensearch_bytes(store):
    for name in (store.indices.chunks, store.indices.files, store.indices.catalog, store.indices.vectors):
        store.client.indices.refresh(index=name)
        hits = store.client.search(index=name, body={"size": 10_000})["hits"]["hits"]
        assert len(hits) < 10_000
        yield name, json.dumps(hits, ensure_ascii=False).encode()


def shown(workshop):
    """Return the kinds of secrets that occur in the index, in the file's spelling or as lower-case words."""
    places = list(folder_bytes(workshop.settings.home))
    if workshop.store.name == "opensearch":
        places += opensearch_bytes(workshop.store)
    found = set()
    for place, data in places:
        lowered = data.lower()
        for secret, kind in SECRETS.items():
            if secret.encode() in data or secret.lower().encode() in lowered:
                found.add((kind, place))
    return found


def test_a_new_index_contains_no_secret(make_workshop_on_each, make_repository):
    workshop = make_workshop_on_each(retention=RETENTION)
    repository = make_repository(files=FILES | CLEAN)
    report = index_repository(IndexRequest(str(repository.folder)), workshop)
    assert shown(workshop) == set()
    assert report.masked_files == len(PLANTED)
    assert sum(report.masked.values()) >= len(PLANTED)
    snapshot = head_snapshot(read_head(workshop.store))
    masked = workshop.store.find(snapshot, Filters(terms=(("masked", ("true",)),)), 1_000)
    assert {chunk.path for chunk in masked} == set(FILES)
    assert all("*" in chunk.text for chunk in masked)


def test_an_ordinary_run_masks_an_existing_index(make_workshop_on_each, make_repository):
    before = make_workshop_on_each(retention=RETENTION, secrets={"action": "off"})
    repository = make_repository(files=CLEAN)
    address = str(repository.folder)
    index_repository(IndexRequest(address), before)
    chosen = dict(list(FILES.items())[::3])
    for path, text in chosen.items():
        repository.write(path, text)
    repository.commit("secrets")
    index_repository(IndexRequest(address), before)
    repository.git("branch", "other")
    repository.git("tag", "v1")
    for path in list(chosen)[:10]:
        repository.git("rm", "-q", path)
    repository.commit("fewer")
    for ref in (None, Ref("branch", "other"), Ref("tag", "v1")):
        index_repository(IndexRequest(address, ref), before)
    assert len({kind for kind, _ in shown(before)}) > len(chosen) / 2
    assert repositories_with_unmasked(before.store) == ["project"]

    settings = before.settings.model_copy(update={"secrets": type(before.settings.secrets)()})
    after = type(before)(before.store, before.embedder, settings)
    report = index_repository(IndexRequest(address), after)
    assert set(report.masked_anew) == {"other", "v1"}
    assert (report.unmasked, report.erased) == ((), True)
    assert report.given_up == 2
    assert shown(after) == set()
    assert repositories_with_unmasked(after.store) == []
    assert noted_commits(after.store, "project") is None
    again = index_repository(IndexRequest(address), after)
    assert (again.changed, again.masked_anew, again.given_up) == (False, (), 0)


def test_old_rows_stay_noted_until_running_searches_have_ended(make_workshop, make_repository):
    """The rows are deleted after `retention.grace_seconds`; until then they must not be reported as gone."""
    before = make_workshop(retention={"grace_seconds": 0.5}, secrets={"action": "off"})
    address = str(make_repository(files=FILES).folder)
    index_repository(IndexRequest(address), before)
    settings = before.settings.model_copy(update={"secrets": type(before.settings.secrets)()})
    after = type(before)(before.store, before.embedder, settings)
    report = index_repository(IndexRequest(address), after)
    assert not report.erased
    assert repositories_with_unmasked(after.store) == ["project"]
    time.sleep(0.6)
    assert finish_masking(after, "project")
    assert repositories_with_unmasked(after.store) == []
    assert shown(after) == set()


def test_a_layer_over_an_existing_index_masks_its_base_first(make_workshop, make_repository):
    before = make_workshop(retention=RETENTION, secrets={"action": "off"})
    repository = make_repository(files=FILES | CLEAN)
    index_repository(IndexRequest(str(repository.folder)), before)
    repository.git("branch", "other")
    settings = before.settings.model_copy(update={"secrets": type(before.settings.secrets)()})
    after = type(before)(before.store, before.embedder, settings)
    report = index_repository(IndexRequest(str(repository.folder), Ref("branch", "other")), after)
    assert report.kind == "overlay"
    assert report.chunks_written == 0
    assert shown(after) == set()


def test_files_with_secrets_can_be_left_out(make_workshop, make_repository):
    workshop = make_workshop(secrets={"action": "skip"})
    repository = make_repository(files=FILES | CLEAN)
    report = index_repository(IndexRequest(str(repository.folder)), workshop)
    assert report.skipped == {"secrets": len(PLANTED)}
    assert "secrets" in SKIP_REASONS
    assert shown(workshop) == set()


@pytest.mark.parametrize("obeyed", [True, False])
def test_a_repository_may_allow_secrets_only_if_the_settings_permit_it(make_workshop, make_repository, obeyed):
    workshop = make_workshop(secrets={"repository_allow_file": obeyed})
    files = {"a.py": 'password = "hunter2"\n', ".codequarryallow": "path: *.py\n"}
    index_repository(IndexRequest(str(make_repository(files=files).folder)), workshop)
    (chunk,) = workshop.store.chunks(head_snapshot(read_head(workshop.store)), "a.py", "project")
    assert ("hunter2" in chunk.text) is obeyed
    assert chunk.masked is not obeyed


def test_after_the_settings_allow_a_rule_an_ordinary_run_reads_the_file_again(make_workshop, make_repository):
    workshop = make_workshop()
    repository = make_repository(files={"a.py": 'password = "hunter2"\n'})
    index_repository(IndexRequest(str(repository.folder)), workshop)
    allowing = workshop.settings.secrets.model_copy(update={"allow_rules": ("assigned-password",)})
    settings = workshop.settings.model_copy(update={"secrets": allowing})
    index_repository(IndexRequest(str(repository.folder)), type(workshop)(workshop.store, workshop.embedder, settings))
    (chunk,) = workshop.store.chunks(head_snapshot(read_head(workshop.store)), "a.py", "project")
    assert "hunter2" in chunk.text


def test_no_command_prints_a_secret(tmp_path):
    workspace = Workspace(tmp_path)
    repository = workspace.repository("project", FILES | CLEAN)
    said = [workspace.run("index", repository.folder, "--dry-run", "--json"), workspace.run("index", repository.folder)]
    repository.git("branch", "other")
    path = next(path for path in FILES if path.endswith("settings.py"))
    wanted = max(SECRETS, key=len)
    for command in (
        ("index", repository.folder, "--branch", "other", "--json"),
        ("files", "project", "--masked", "--json"),
        ("chunks", "project", path, "--json"),
        ("search", "database password private key", "--json", "--explain"),
        ("diff-search", "password", "--from", "main", "--to", "other", "--all", "--json"),
    ):
        said.append(workspace.run(*command))
    assert all(outcome.code == 0 for outcome in said), [outcome.err for outcome in said if outcome.code]
    text = "".join(outcome.out + outcome.err for outcome in said)
    assert [kind for secret, kind in SECRETS.items() if secret in text] == []
    assert "masked in" in text
    found = workspace.run("search", f'"{wanted}"', "--json")
    assert found.code == 0
    assert wanted not in json.dumps(found.json["results"])
