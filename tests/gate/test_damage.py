"""Damage at random places of the embedded store's files is always found and never causes a crash or a wrong answer."""

import json
import math
import os
import random
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import apsw
import numpy as np
import pytest

from codequarry.ingest.run.pipeline import IndexRequest, Workshop, index_repository
from codequarry.shared.arrays import Vector
from codequarry.shared.catalog.ledger import read_head
from codequarry.shared.embedding.port import Embedder
from codequarry.shared.errors import StoreDamaged, StoreError
from codequarry.shared.settings.config import SettingsModel
from codequarry.shared.store.embedded.store import EmbeddedStore
from codequarry.shared.store.factory import open_store
from codequarry.shared.store.records import RecallQuery
from codequarry.shared.versions.snapshots import head_snapshot

ROOT = Path(__file__).parents[2]
PLACES = 200
PAGE = 4096
QUERIES = ("publish a transaction", "who holds the lease", "read the head document")
SEED = 20261123

Answers = list[list[tuple[str, int, float]]]


@dataclass(frozen=True)
class Index:
    """The folder of a closed index, and its answers."""

    home: Path
    origin: Path
    embedder: Embedder
    answers: Answers

    @property
    def files(self) -> list[str]:
        return sorted(path.name for path in (self.home / "store").iterdir())


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory, embedder: Embedder) -> Index:
    """Index some of our own modules twice, so that there is history, and close everything."""
    folder = tmp_path_factory.mktemp("damage")
    origin = folder / "project"
    shutil.copytree(ROOT / "shared" / "versions", origin, ignore=shutil.ignore_patterns("__pycache__"))
    git = ["git", "-c", "user.name=T", "-c", "user.email=t@example.org", "-C", str(origin)]
    for command in (["init", "--quiet", "--initial-branch=main"], ["add", "."], ["commit", "--quiet", "-m", "one"]):
        subprocess.run([*git, *command], check=True)
    home = folder / "home"
    settings = SettingsModel(home=home, indexing={"processes": 0, "grace_seconds": 0})
    with closing(open_store(settings, embedder.dimension)) as store:
        index_repository(IndexRequest(str(origin)), Workshop(store, embedder, settings))
        (origin / "head.py").write_text("def changed():\n    return 'another head'\n")
        subprocess.run([*git, "commit", "--quiet", "-am", "two"], check=True)
        index_repository(IndexRequest(str(origin)), Workshop(store, embedder, settings))
        found = answers(store, embedder)
    return Index(home, origin, embedder, found)


@cache
def vector_of(embedder: Embedder, text: str) -> Vector:
    return embedder.embed_query(text)


def answers(store: EmbeddedStore, embedder: Embedder) -> Answers:
    """Return the results of searches by meaning, words and names, with every similarity."""
    snapshot = head_snapshot(read_head(store))
    found: Answers = []
    for text in QUERIES:
        query = RecallQuery(snapshot, vector=vector_of(embedder, text), terms=tuple(text.split()), symbols=("head",))
        recall = store.recall(query)
        for candidate in recall.candidates.values():
            assert candidate.similarity is None or math.isfinite(candidate.similarity)
        found.append(
            [
                (candidate.chunk.path, candidate.chunk.start_line, candidate.similarity or 0.0)
                for candidate in recall.candidates.values()
            ]
        )
    return found


def flip(data: bytearray, at: int) -> None:
    data[at] ^= 1 << (at % 8)


def noise(data: bytearray, at: int) -> None:
    start = at // PAGE * PAGE
    data[start : start + PAGE] = random.Random(at).randbytes(len(data[start : start + PAGE]))


def zeros(data: bytearray, at: int) -> None:
    start = at // PAGE * PAGE
    data[start : start + PAGE] = bytes(len(data[start : start + PAGE]))


def cut(data: bytearray, at: int) -> None:
    del data[at:]


def not_a_number(data: bytearray, at: int) -> None:
    start = at // 4 * 4
    data[start : start + 4] = np.float32("nan").tobytes()


KINDS: tuple[Callable[[bytearray, int], None], ...] = (flip, flip, flip, noise, zeros, cut, not_a_number)


def damaged_places(path: Path) -> Iterator[tuple[str, bytes]]:
    """Yield the content of a file with one kind of damage at one of many random places, and a description of it."""
    whole = path.read_bytes()
    chance = random.Random(SEED)
    for number in range(PLACES):
        data = bytearray(whole)
        kind, at = KINDS[number % len(KINDS)], chance.randrange(len(data))
        kind(data, at)
        if bytes(data) != whole:
            yield f"{kind.__name__} at {at}", bytes(data)


def look(home: Path, index: Index) -> tuple[str, bool]:
    """Return how searches of a damaged index end, and whether a complete inspection finds the damage."""
    settings = SettingsModel(home=home)
    try:
        store = open_store(settings, index.embedder.dimension)
    except StoreError as error:
        assert str(error)
        return "error", True
    with closing(store):
        try:
            outcome = "same" if answers(store, index.embedder) == index.answers else "wrong"
        except StoreError:
            outcome = "error"
        except Exception as error:
            outcome = f"{type(error).__name__}: {error}"
        return outcome, bool(store.inspect(thoroughly=True))


@pytest.mark.parametrize("name", ["index.sqlite3", "vectors-1.f32"])
def test_damage_is_never_answered_from_and_is_always_found(index: Index, tmp_path: Path, name: str) -> None:
    assert index.files == ["index.sqlite3", "vectors-1.f32"]
    home = tmp_path / "home"
    errors, wrong, unseen = 0, [], []
    for what, data in damaged_places(index.home / "store" / name):
        shutil.rmtree(home, ignore_errors=True)
        shutil.copytree(index.home / "store", home / "store")
        (home / "store" / name).write_bytes(data)
        outcome, is_found = look(home, index)
        errors += outcome == "error"
        if outcome not in ("same", "error"):
            wrong.append((what, outcome))
        if not is_found:
            unseen.append(what)
    assert wrong == []
    assert unseen == []
    assert errors > 0, "some damage caused errors"


@pytest.mark.parametrize("name", ["index.sqlite3", "vectors-1.f32"])
@pytest.mark.parametrize("kind", ["gone", "empty"])
def test_a_missing_file_does_not_start_a_new_index(index: Index, tmp_path: Path, name: str, kind: str) -> None:
    home = tmp_path / "home"
    shutil.copytree(index.home / "store", home / "store")
    path = home / "store" / name
    path.unlink() if kind == "gone" else path.write_bytes(b"")
    assert look(home, index) == ("error", True)


def test_damage_is_noticed_by_a_process_that_has_the_file_in_memory(index: Index, tmp_path: Path) -> None:
    home = tmp_path / "home"
    shutil.copytree(index.home / "store", home / "store")
    path = home / "store" / "vectors-1.f32"
    with closing(open_store(SettingsModel(home=home), index.embedder.dimension)) as store:
        assert answers(store, index.embedder) == index.answers
        with path.open("r+b") as file:
            file.write(bytes(8 * PAGE))
        with pytest.raises(StoreDamaged):
            for _ in range(10):  #  one block is checked with each use
                answers(store, index.embedder)
        os.truncate(path, PAGE)
        with pytest.raises(StoreDamaged):
            answers(store, index.embedder)
        path.unlink()
        with pytest.raises(StoreDamaged):
            answers(store, index.embedder)


def command(home: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("CODEQUARRY_")}
    environment["CODEQUARRY_HOME"] = str(home)
    run = [sys.executable, "-m", "codequarry.cli.main", *arguments]
    return subprocess.run(run, env=environment, capture_output=True, text=True, timeout=120)


@pytest.mark.parametrize("kind", [not_a_number, zeros, cut])
def test_repair_recreates_vectors_and_restores_the_answers(
    index: Index, tmp_path: Path, kind: Callable[[bytearray, int], None]
) -> None:
    home = tmp_path / "home"
    shutil.copytree(index.home, home)
    path = home / "store" / "vectors-1.f32"
    data = bytearray(path.read_bytes())
    kind(data, len(data) // 2)
    path.write_bytes(data)
    assert command(home, "search", "lease").returncode == 1
    found = command(home, "fsck", "project", "--json")
    assert found.returncode == 1 and "Traceback" not in found.stderr
    assert [problem["kind"] for problem in json.loads(found.stdout)["problems"]] == ["vectors"]
    repaired = command(home, "fsck", "project", "--repair", "--json")
    assert repaired.returncode == 0, repaired.stderr
    with closing(open_store(SettingsModel(home=home), index.embedder.dimension)) as store:
        assert answers(store, index.embedder) == index.answers
        assert store.inspect(thoroughly=True) == []


def test_a_damaged_page_is_reported_in_one_line_with_advice(index: Index, tmp_path: Path) -> None:
    home = tmp_path / "home"
    shutil.copytree(index.home, home)
    path = home / "store" / "index.sqlite3"
    data = bytearray(path.read_bytes())
    for page in range(4, len(data) // PAGE, 2):
        noise(data, page * PAGE)
    path.write_bytes(data)
    for arguments in (
        ("search", "lease"),
        ("fsck", "project"),
        ("index", str(index.origin)),
        ("doctor",),
        ("repos", "list"),
    ):
        done = command(home, *arguments)
        assert done.returncode == 1, arguments
        assert "Traceback" not in done.stderr + done.stdout
        assert "damaged" in done.stderr + done.stdout and "codequarry restore" in done.stderr + done.stdout


def test_a_database_is_never_read_without_checksums(index: Index) -> None:
    connection = apsw.Connection(str(index.home / "store" / "index.sqlite3"))
    assert connection.reserve_bytes("main", -1) == 8
    connection.close()
