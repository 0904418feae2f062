"""Damage to the database of an index, and ``codequarry fsck --repair``, which restores what git and vectors hold."""

import fcntl
import json
import os
import random
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import apsw
import pytest

from codequarry.ingest.fsck.versions import check_version
from codequarry.ingest.repair.files import kept_records
from codequarry.ingest.repair.repair import repair_index
from codequarry.ingest.repair.report import RepairReport
from codequarry.ingest.run.pipeline import IndexRequest, Workshop, index_repository
from codequarry.shared.catalog.ledger import read_head
from codequarry.shared.embedding.port import Embedder
from codequarry.shared.errors import StoreUnavailable
from codequarry.shared.index.opened_index import open_active
from codequarry.shared.model import Filters
from codequarry.shared.settings.config import SettingsModel
from codequarry.shared.store.factory import editions_of, open_store
from codequarry.shared.store.port import Store
from codequarry.shared.versions.refs import Ref
from codequarry.shared.versions.snapshots import version_snapshot

ROOT = Path(__file__).parents[2]
PAGE = 4096
PLACES = 6
SEED = 20261123
DATABASE = "index.sqlite3"
ROWS = ("chunk", "file", "path", "payload")

Listing = dict[tuple[str, str], Any]


@dataclass(frozen=True)
class Index:
    """A closed data folder, the contents of its versions, and a copy of its store as a killed process leaves it."""

    home: Path
    killed: Path
    listing: Listing
    pages: dict[str, list[int]]
    results: Any


def settings_of(home: Path) -> SettingsModel:
    return SettingsModel(home=home, indexing={"processes": 0, "grace_seconds": 0})


def git(folder: Path, *arguments: str) -> None:
    run = ["git", "-c", "user.name=T", "-c", "user.email=t@example.org", "-C", str(folder), *arguments]
    subprocess.run(run, check=True, capture_output=True)


def commit(folder: Path, **files: str | None) -> None:
    for name, text in files.items():
        path = folder / f"{name}.py"
        path.unlink() if text is None else path.write_text(text)
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "-m", "change")


def make_project(folder: Path, module: str) -> None:
    shutil.copytree(ROOT / "shared" / module, folder, ignore=shutil.ignore_patterns("__pycache__"))
    (folder / "picture.bin").write_bytes(bytes(range(256)))
    git(folder, "init", "--quiet", "--initial-branch=main")
    commit(folder)
    git(folder, "tag", "v1")


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory, embedder: Embedder) -> Index:
    """Index two projects with older commits, a tag, and a changing branch; the tag and the branch are overlays."""
    folder = tmp_path_factory.mktemp("repair")
    home, project, other = folder / "home", folder / "project", folder / "other"
    make_project(project, "catalog")
    make_project(other, "repositories")
    settings = settings_of(home)
    with closing(open_store(settings, embedder.dimension)) as store:
        workshop = Workshop(store, embedder, settings)

        def run(origin: Path, ref: Ref | None = None) -> None:
            index_repository(IndexRequest(str(origin), ref), workshop)

        run(other)
        run(project)
        run(project, Ref("tag", "v1"))
        commit(project, documents="def changed():\n    return 'another head'\n", polls=None, fresh="def first(): ...\n")
        run(project)
        commit(project, documents="def changed():\n    return 'a third head'\n", fresh="def second(): ...\n")
        run(project)
        git(project, "checkout", "--quiet", "-b", "feature", "HEAD~1")
        commit(project, feature="class Feature:\n    'Of a branch.'\n", ledger=None)
        run(project, Ref("branch", "feature"))
        commit(project, feature="class Feature:\n    'Of a branch, again.'\n")
        run(project, Ref("branch", "feature"))
        git(project, "checkout", "--quiet", "main")
        listing = listing_of(store)
        killed = folder / "killed"
        shutil.copytree(home / "store", killed)
    with closing(apsw.Connection(str(home / "store" / DATABASE))) as connection:
        pages: dict[str, list[int]] = {}
        for name, page in connection.execute("SELECT name, pageno FROM dbstat"):
            pages.setdefault(name, []).append(page)
    assert len(listing) == 7
    return Index(home, killed, listing, pages, search(home))


def listing_of(store: Store) -> Listing:
    """Return the files and chunks of each kept commit."""
    head = read_head(store)
    found: Listing = {}
    for record in kept_records(store, head):
        snapshot = version_snapshot(head, record)
        files = [(file.path, file.blob, file.verdict, file.rows, file.rules) for file in store.files(snapshot)]
        chunks = [(chunk.id, chunk.path, chunk.text) for chunk in store.find(snapshot, Filters(), 100_000)]
        found[f"{record.repo} {record.ref}", record.commit] = (sorted(files), sorted(chunks))
    return found


def search(home: Path) -> Any:
    """Return the results of the command line with their scores, in the default branches and in a branch."""
    found = []
    for asked in (("read the head document",), ("who holds the lease", "--repo", "project", "--branch", "feature")):
        done = command(home, "search", *asked, "--json")
        assert done.returncode == 0, done.stderr
        results = json.loads(done.stdout)["results"]
        assert results
        found.append(sorted((hit["path"], hit["start_line"], round(hit["score"], 6)) for hit in results))
    return found


def command(home: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        call(*arguments), env=environment(home), capture_output=True, text=True, timeout=120, check=False
    )


def call(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "codequarry.cli.main", *arguments]


def environment(home: Path) -> dict[str, str]:
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("CODEQUARRY_")}
    own = {"HOME": str(home), "INDEXING__PROCESSES": "0", "INDEXING__GRACE_SECONDS": "0"}
    return inherited | {f"CODEQUARRY_{name}": value for name, value in own.items()}


def damaged_copy(index: Index, home: Path, pages: list[int], *, killed: bool = False) -> Path:
    """Copy the data folder and overwrite pages of its database, half of them with zeros."""
    shutil.rmtree(home, ignore_errors=True)
    shutil.copytree(index.home, home)
    if killed:
        shutil.rmtree(home / "store")
        shutil.copytree(index.killed, home / "store")
    path = home / "store" / DATABASE
    data = bytearray(path.read_bytes())
    for page in pages:
        noise = bytes(PAGE) if page % 2 else random.Random(page).randbytes(PAGE)
        data[(page - 1) * PAGE : page * PAGE] = noise
    path.write_bytes(data)
    return path


def repaired(home: Path, embedder: Embedder) -> tuple[RepairReport, Listing]:
    """Repair an index, check every version against git, and return the report and the versions' contents."""
    report = repair_index(settings_of(home), lambda _: None)
    with closing(editions_of(settings_of(home))) as editions:
        _, store = open_active(editions)
        assert store
        with closing(store):
            workshop = Workshop(store, embedder, settings_of(home))
            for record in kept_records(store, read_head(store)):
                assert check_version(record, workshop, full_text=True).problems == ()
            return report, listing_of(store)


def test_trees_that_lost_every_page_are_restored_without_embedding(
    index: Index, tmp_path: Path, embedder: Embedder
) -> None:
    derived = index.pages.keys() - {*ROWS, "vector", "document", "sqlite_autoindex_document_1", "sqlite_schema"}
    assert {"posting", "change", "meta", "vector_slot", "chunk_path"} <= derived
    for names in [(name,) for name in (*ROWS, "vector")] + [ROWS, tuple(derived)]:
        pages = [page for name in names for page in index.pages[name]]
        damaged_copy(index, tmp_path / "home", pages)
        report, listing = repaired(tmp_path / "home", embedder)
        assert (report.embedded, report.lost, report.kept_folder) == (0, (), ""), names
        assert listing == index.listing, names
        assert report.damaged_pages == len(pages)
    assert sorted(path.name for path in (tmp_path / "home").iterdir()) == ["mirrors", "store-2", "store.edition"]


def test_random_damage_outside_the_catalog_loses_nothing(index: Index, tmp_path: Path, embedder: Embedder) -> None:
    chance = random.Random(SEED)
    catalog = {*index.pages["document"], *index.pages["sqlite_autoindex_document_1"]}
    last = max(max(pages) for pages in index.pages.values())
    vectors = {page for name in ("vector", "vector_slot") for page in index.pages[name]}
    for number in range(PLACES):
        pages = set(chance.sample(range(1, last + 1), chance.choice([1, 3, 12]))) - catalog
        path = damaged_copy(index, tmp_path / "home", sorted(pages))
        data = bytearray(path.read_bytes())
        for _ in range(number % 3):
            at = chance.randrange(len(data))
            if at // PAGE + 1 not in catalog:
                data[at] ^= 1 << at % 8
        path.write_bytes(data)
        report, listing = repaired(tmp_path / "home", embedder)
        assert (report.lost, listing) == ((), index.listing), pages
        # A vector is lost only with both trees that know its place, and with its text.
        assert report.embedded == 0 or len(pages & vectors) > 1


def test_a_truncated_or_missing_database_reports_what_is_lost(index: Index, tmp_path: Path, embedder: Embedder) -> None:
    home = tmp_path / "home"
    last = max(max(pages) for pages in index.pages.values())
    for keep in (0, 1, 30, last // 2, last - 3):
        path = damaged_copy(index, home, [])
        os.truncate(path, keep * PAGE + 100 * (keep > 1))
        report, listing = repaired(home, embedder)
        for name, (files, chunks) in listing.items():
            assert index.listing[name] == (files, chunks)
        assert report.lost or listing == index.listing
        assert bool(report.kept_folder) == bool(report.lost)
        assert not report.embedded or keep <= last // 2, "the keys of vectors were cut off too"
    damaged_copy(index, home, []).unlink()
    assert command(home, "search", "head").returncode == 1
    done = command(home, "fsck", "--repair", "--json")
    assert done.returncode == 1, done.stderr
    lost = json.loads(done.stdout)["rebuilt"]["lost"]
    assert [(item["kind"], item["name"]) for item in lost] == [
        ("repository", "other"),
        ("repository", "project"),
        ("catalog", ""),
    ]
    assert f"codequarry index {index.home.parent / 'project'} " in lost[1]["detail"]


def test_a_removed_mirror_is_fetched_again(index: Index, tmp_path: Path, embedder: Embedder) -> None:
    home = tmp_path / "home"
    damaged_copy(index, home, index.pages["chunk"])
    shutil.rmtree(home / "mirrors")
    report, listing = repaired(home, embedder)
    assert (report.lost, report.embedded, listing) == ((), 0, index.listing)


def test_the_log_of_a_killed_process_is_recovered(index: Index, tmp_path: Path, embedder: Embedder) -> None:
    home = tmp_path / "home"
    damaged_copy(index, home, [1], killed=True)
    assert (home / "store" / f"{DATABASE}-wal").stat().st_size > 10 * PAGE
    report, listing = repaired(home, embedder)
    assert (report.lost, report.embedded, listing) == ((), 0, index.listing)


def test_the_command_repairs_and_restores_the_answers(index: Index, tmp_path: Path) -> None:
    home = tmp_path / "home"
    lost = [1, *index.pages["chunk"][1:], *index.pages["payload"][:5], *index.pages["posting"][:3]]
    damaged_copy(index, home, lost)
    before = command(home, "fsck", "project")
    assert before.returncode == 1
    assert "codequarry fsck --repair" in before.stderr
    assert "and run codequarry fsck --repair" in command(home, "doctor").stdout
    done = command(home, "fsck", "project", "--repair", "--json")
    assert done.returncode == 0, done.stdout
    said = json.loads(done.stdout)
    assert said["clean"]
    assert said["rebuilt"]["damaged_pages"] == len(lost)
    assert said["rebuilt"]["files_again"] > 5
    assert (said["rebuilt"]["embedded"], said["rebuilt"]["lost"]) == (0, [])
    assert "pages are damaged" in done.stderr
    assert "compared with git" in done.stderr
    assert search(home) == index.results
    again = command(home, "fsck", "other", "--repair")
    assert (again.returncode, "index rebuilt" in again.stdout) == (0, False)


def test_the_next_import_indexes_the_commits_again(index: Index, tmp_path: Path) -> None:
    home = tmp_path / "home"
    project = index.home.parent / "project"
    before = commits_found(shutil.copytree(index.home, home))
    assert len(before) == 3
    damaged_copy(index, home, [page for name in ROWS for page in index.pages[name]])
    done = command(home, "fsck", "project", "--repair")
    assert done.returncode == 0
    assert "searches for commits may lack some until the next codequarry index of other, project" in done.stderr
    assert command(home, "index", str(project)).returncode == 0
    assert commits_found(home) == before


def commits_found(home: Path) -> list[str]:
    done = command(home, "search", "--type", "commit", "--repo", "project", "--json")
    return sorted(hit["commit"] for hit in json.loads(done.stdout)["results"])


def test_what_git_can_not_restore_is_named_and_the_rest_stays(index: Index, tmp_path: Path) -> None:
    home = tmp_path / "home"
    damaged_copy(index, home, index.pages["file"])
    for mirror in (home / "mirrors").glob("project-*"):
        shutil.rmtree(mirror) if mirror.is_dir() else mirror.unlink()
    project = index.home.parent / "project"
    project.rename(project.with_name("elsewhere"))
    try:
        done = command(home, "fsck", "--repair", "--json")
    finally:
        project.with_name("elsewhere").rename(project)
    assert done.returncode == 1, done.stderr
    rebuilt = json.loads(done.stdout)["rebuilt"]
    assert {(item["kind"], item["name"]) for item in rebuilt["lost"]} == {("files", "project")}
    assert Path(rebuilt["kept_folder"], DATABASE).exists()
    assert command(home, "fsck", "other").returncode == 0
    assert command(home, "index", str(project)).returncode == 0
    assert command(home, "fsck", "project").returncode == 0


def test_a_lost_catalog_is_restored_from_the_mirrors_without_embedding(index: Index, tmp_path: Path) -> None:
    home = tmp_path / "home"
    damaged_copy(index, home, index.pages["document"])
    for entry in (home / "mirrors").glob("other-*.entry"):
        entry.unlink()
    done = command(home, "fsck", "project", "--repair", "--json")
    assert done.returncode == 1
    said = json.loads(done.stdout)
    assert said["clean"]
    rebuilt = said["rebuilt"]
    lost = {(item["kind"], item["name"]) for item in rebuilt["lost"]}
    assert lost == {("history", "project"), ("repository", "other")}
    assert rebuilt["versions_again"] == ["project default branch", "project feature", "project v1"]
    assert rebuilt["embedded"] == 0
    again = command(home, "index", str(index.home.parent / "other"), "--json")
    assert again.returncode == 0, again.stderr
    assert json.loads(again.stdout)["embedded"] == 0
    assert [command(home, "fsck", name).returncode for name in ("project", "other")] == [0, 0]


@contextmanager
def mirrors_held(home: Path) -> Iterator[None]:
    """Lock the mirrors, so that a repair stops when it needs them."""
    with ExitStack() as stack:
        for path in (home / "mirrors").glob("*.used"):
            fcntl.flock(stack.enter_context(path.open()), fcntl.LOCK_EX)
        yield


@pytest.mark.parametrize("moment", ["reading", "compared with git"])
def test_a_killed_repair_continues(index: Index, tmp_path: Path, embedder: Embedder, moment: str) -> None:
    home = tmp_path / "home"
    damaged_copy(index, home, [*index.pages["payload"][:9], *index.pages["file"]])
    run, silent = call("fsck", "--repair"), subprocess.DEVNULL
    with (
        mirrors_held(home),
        subprocess.Popen(run, env=environment(home), stderr=subprocess.PIPE, stdout=silent, text=True) as process,
    ):
        assert process.stderr
        for line in process.stderr:
            if moment in line:
                process.send_signal(signal.SIGKILL)
                break
    assert process.returncode == -signal.SIGKILL
    report, listing = repaired(home, embedder)
    assert report.resumed or moment == "reading"
    assert (report.lost, report.embedded, listing) == ((), 0, index.listing)
    assert sorted(path.name for path in home.iterdir()) == ["mirrors", "store-2", "store.edition"]


def test_a_repair_is_refused_while_another_process_has_the_index_open(index: Index, tmp_path: Path) -> None:
    home = tmp_path / "home"
    path = damaged_copy(index, home, [max(index.pages["payload"])])
    script = (
        "import apsw, sys; c = apsw.Connection(sys.argv[1]); c.execute('SELECT count(*) FROM meta').fetchall();"
        "print('open', flush=True); sys.stdin.read()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", script, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin and process.stdout
        assert process.stdout.readline() == "open\n"
        with pytest.raises(StoreUnavailable, match="another process is using the index"):
            repair_index(settings_of(home), lambda _: None)
        process.stdin.close()
    assert repair_index(settings_of(home), lambda _: None).lost == ()
