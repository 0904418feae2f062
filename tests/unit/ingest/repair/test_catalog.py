"""What becomes of a catalog of which documents are lost."""

from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from codequarry.ingest.repair.catalog import VersionToReindex, Lost, MendedCatalog, mend_catalog
from codequarry.ingest.repair.note import RepairNote, read_note, state_of, write_note
from codequarry.ingest.run.mirror_entry import note_entry, noted_entries
from codequarry.shared.catalog.ledger import read_head, record_transaction
from codequarry.shared.catalog.repositories import (
    RefHead,
    Repository,
    list_repositories,
    save_ref_head,
    save_repository,
)
from codequarry.shared.store.embedded.salvage import Salvage
from codequarry.shared.store.embedded.store import EmbeddedStore
from codequarry.shared.store.port import Store
from codequarry.shared.versions.head import HEAD_KEY, Head, Lease, Timeline
from codequarry.shared.versions.transactions import TransactionRecord

# The default branch of "one" (2) with an overlay (7) on its older state, and a run (9) that is under way.
TIMELINES = {
    2: Timeline("one", 6, "c" * 40, Lease("somebody", 9), branch="main", repo_id="id"),
    7: Timeline("one", 8, "d" * 40, ref="refs/tags/v1", pins=frozenset({(2, 3)}), repo_id="id"),
}
HEAD = Head(9, {9: 2}, frozenset({4}), TIMELINES, {"one": 2})


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with closing(EmbeddedStore(tmp_path / "store", 8)) as store:
        save_repository(store, Repository("one", "https://example.org/one", "main", id="id"))
        for timeline, number, base in ((2, 3, (None, None)), (2, 6, (None, None)), (7, 8, (2, 3))):
            record_transaction(store, record(timeline, number, *base))
        store.write_document(HEAD_KEY, HEAD.to_json(), None)
        yield store


def record(timeline: int, number: int, *base: int | None) -> TransactionRecord:
    return TransactionRecord(timeline, number, "one", "r", "c" * 40, "m1.r", 1, "2026-01-01T00:00:00+00:00", *base)


def lose(store: Store, *keys: str) -> MendedCatalog:
    for key in keys:
        store.delete_document(key)
    return mend_catalog(store, keys, [(2, 3), (7, 8)])


def key(timeline: int, number: int) -> str:
    return record(timeline, number).key


def test_of_a_whole_catalog_only_what_was_open_goes(store: Store) -> None:
    assert lose(store) == MendedCatalog()
    head = read_head(store)
    assert (head.open, head.aborted, head.counter) == ({}, {4, 9}, 9)
    assert head.timelines.keys() == {2, 7} and head.timelines[2].lease is None
    assert lose(store) == MendedCatalog(), "a second time changes nothing"


def test_a_lost_repository_is_named_and_its_versions_go(store: Store) -> None:
    mended = lose(store, "repository:one")
    assert [(one.kind, one.name) for one in mended.lost] == [("repository", "one")]
    assert (read_head(store).timelines, mended.anew) == ({}, ())


def test_a_lost_repository_comes_back_from_the_record_beside_its_mirror(store: Store, tmp_path: Path) -> None:
    known = Repository("former-name", "https://example.org/one", "main", guarded=True, id="id")
    mirror = tmp_path / "mirrors" / "one-abc.git"
    mirror.parent.mkdir()
    note_entry(known, mirror)
    note_entry(replace(known, id="removed"), mirror.with_name("two-abc.git"))
    mirror.with_name("three-abc.entry").write_text("no record")
    store.delete_document("repository:one")
    entries = noted_entries(tmp_path)
    assert mend_catalog(store, ["repository:one"], [], entries).lost == ()
    assert list_repositories(store) == [replace(known, name="one")]
    assert read_head(store).timelines.keys() == {2, 7}


@pytest.mark.parametrize(
    ("lost", "anew", "left", "said"),
    [
        (key(2, 6), VersionToReindex("one", "", full=True), {2, 7}, ["history"]),
        (key(7, 8), VersionToReindex("one", "refs/tags/v1"), {2}, []),
        (key(2, 3), VersionToReindex("one", "refs/tags/v1"), {2}, ["commit"]),
    ],
)
def test_a_version_of_which_only_the_number_is_left_is_indexed_anew(
    store: Store, lost: str, anew: VersionToReindex, left: set[int], said: list[str]
) -> None:
    mended = lose(store, lost)
    assert mended.anew == (anew,)
    assert read_head(store).timelines.keys() == left
    assert [one.kind for one in mended.lost] == said


def test_without_a_head_document_every_known_version_is_indexed_and_numbers_go_on(store: Store) -> None:
    save_ref_head(store, RefHead("one", "", "c" * 40, "now"))
    save_ref_head(store, RefHead("one", "refs/tags/v1", "d" * 40, "now"))
    lost = ("ref:one\nrefs/heads/b", "ref:two\nrefs/heads/b", "ref:one\n")
    mended = lose(store, HEAD_KEY, "repository:two", *lost)
    assert mended.anew == (VersionToReindex("one", ""), VersionToReindex("one", "refs/heads/b"), VersionToReindex("one", "refs/tags/v1"))
    assert [(one.kind, one.name) for one in mended.lost] == [("history", "one"), ("repository", "two")]
    head = read_head(store)
    assert (head.timelines, head.counter) == ({}, 8)
    assert store.list_documents("transaction:") == []


def test_that_history_is_lost_is_said_although_no_number_is_left(store: Store) -> None:
    for document in store.list_documents("transaction:"):
        store.delete_document(document.key)
    store.delete_document(HEAD_KEY)
    mended = mend_catalog(store, [HEAD_KEY], [])
    assert (mended.anew, [one.kind for one in mended.lost]) == ((VersionToReindex("one", ""),), ["history"])
    assert mend_catalog(store, [], []).lost == (), "it never had one"


def test_keys_and_jobs_that_are_lost_are_named_by_what_is_known(store: Store) -> None:
    mended = lose(store, "key:abc", "job:1", "poll:one", "ref:one\n", "delivery:x", "unmasked:one")
    assert [(one.kind, one.name) for one in mended.lost] == [("key", "abc"), ("job", "1"), ("note", "unmasked:one")]


def test_summaries_are_counted_again(store: Store) -> None:
    assert lose(store, "summary:0000000002:0000000006", "summary:0000000099:0000000006").summaries == ((2, 6),)


def test_a_note_is_read_as_it_was_written(tmp_path: Path) -> None:
    fields: dict[str, Any] = dict.fromkeys(("pages", "damaged_pages", "files", "rows", "vectors", "lost_vectors"), 3)
    flags = {"may_lack_rows": True, "may_lack_documents": False, "fits": None}
    found = Salvage(**fields, **flags, lost_documents=("head",), incomplete=((2, "a.py"),), written=((2, 3),))
    mended = MendedCatalog((VersionToReindex("one", "", full=True),), (Lost("files", "one", "gone", ("a.py",)),), ((2, 3),))
    (tmp_path / "index.sqlite3").write_bytes(b"x")
    note = RepairNote(state_of(tmp_path), found, mended)
    assert read_note(tmp_path) is None
    write_note(tmp_path, note)
    assert read_note(tmp_path) == note
