"""Behaviour specific to the OpenSearch store, on a real node; tests/contract/ tests what all stores share."""

import json
import uuid
from collections.abc import Callable, Iterator
from dataclasses import replace
from http.client import HTTPConnection
from urllib.parse import urlsplit

import numpy as np
import pytest
import stamina

from codequarry.shared.errors import Conflict, ModelMismatch, StoreFull, UsageError, WriteRejected
from codequarry.shared.model import Chunk, ChunkRow, FileRecord, Filters, Layer, PathGlobs, Snapshot, Tokens
from codequarry.shared.settings.config import OpenSearchSettings
from codequarry.shared.store.opensearch.checks import check_cluster
from codequarry.shared.store.opensearch.multi_search import search_all
from codequarry.shared.store.opensearch.store import OpenSearchStore
from codequarry.shared.store.records import RecallQuery, Tally

pytestmark = pytest.mark.opensearch

DIMENSION = 4
NORTH = np.array([1, 0, 0, 0], np.float32)
HEAD = Snapshot((Layer((1,), 100),))

OpenStore = Callable[..., OpenSearchStore]


@pytest.fixture
def open_new(opensearch_node) -> Iterator[OpenStore]:
    """Return a function that opens a store on indices that do not exist yet; they are deleted afterwards."""
    name = f"new-{uuid.uuid4().hex[:12]}"
    opened: list[OpenSearchStore] = []

    def make(dimension: int = DIMENSION, **settings: object) -> OpenSearchStore:
        opened.append(
            OpenSearchStore(OpenSearchSettings(urls=(opensearch_node.url,), index=name, **settings), dimension)
        )
        return opened[-1]

    yield make
    make().client.indices.delete(index=f"{name}-*", params={"ignore": 404})
    for store in opened:
        store.close()


@pytest.fixture
def store(opensearch_node) -> Iterator[OpenSearchStore]:
    """Yield an empty store."""
    with opensearch_node.empty_index(DIMENSION) as settings:
        store = OpenSearchStore(settings, DIMENSION)
        yield store
        store.close()


def row(path: str, text: str = "word", **fields: object) -> ChunkRow:
    chunk = Chunk(f"id-{path}", "repo", path, "blob", "python", "function", 1, 1, 0, len(text), text, "hash")
    return ChunkRow(replace(chunk, **fields), Tokens(body="word"), 1, 2, f"key-{path}")


def record(path: str) -> FileRecord:
    return FileRecord("repo", path, "blob", "indexed", 1, "rules", 1, 2)


def put(store: OpenSearchStore, *rows: ChunkRow) -> None:
    store.create(rows, [record(row.chunk.path) for row in rows], {row.vector_key: NORTH for row in rows})
    store.refresh()


def forwarded(store: OpenSearchStore, method: str, path: str, body: bytes) -> tuple[int, dict[str, str], bytes]:
    """Forward a request to the real node and return its answer, as a proxy does."""
    host = urlsplit(store.settings.urls[0])
    connection = HTTPConnection(host.hostname, host.port)
    connection.request(method, path, body, {"Content-Type": "application/json"})
    answer = connection.getresponse()
    content = answer.read()
    connection.close()
    return answer.status, {"Content-Type": "application/json"}, content


class TestIndices:
    def test_reading_before_the_first_write_finds_and_creates_nothing(self, open_new) -> None:
        store = open_new()
        assert store.read_document("head") is None
        assert store.list_documents("") == []
        assert list(store.files(HEAD)) == list(store.files(HEAD, ["a"])) == list(store.written_files(1, 2)) == []
        assert store.chunks(HEAD, "a", "repo") == []
        assert store.count(HEAD, Filters()) == 0
        assert store.cached_vectors(["key"]) == {}
        answer = store.recall(RecallQuery(HEAD, vector=NORTH, terms=("word",), symbols=("word",), paths=("a",)))
        assert (dict(answer.candidates), answer.live_chunks) == ({}, 0)
        assert dict(answer.document_frequencies) == {"word": 0}
        store.refresh()
        assert store.tally(1, 2, ["a"], ()) == Tally(0, 0, 0)
        assert store.retire(1, 3, ["a"], ()) == 0
        store.undo(1, 3)
        store.purge([1])
        store.delete_document("head")
        assert store.client.indices.get_alias(index=f"{store.settings.index}*") == {}

    def test_indices_are_created_only_once(self, open_new) -> None:
        first, second = open_new(), open_new()
        made = first.indices.ensure()
        assert made == [
            first.settings.index + suffix
            for suffix in ("-000001", "-catalog-000001", "-files-000001", "-vectors-000001")
        ]
        assert first.indices.ensure() == second.indices.ensure() == []

    def test_vectors_of_another_length_are_refused_with_a_remedy(self, open_new) -> None:
        put(open_new(), row("a"))
        other = open_new(dimension=8)
        with pytest.raises(ModelMismatch, match=r"4 dimensions, but the model has 8.*opensearch\.index"):
            other.cache_vectors({"k": np.ones(8, np.float32)})
        with pytest.raises(ModelMismatch):
            other.recall(RecallQuery(HEAD, vector=np.ones(8, np.float32)))

    def test_an_emptied_index_accepts_another_model(self, open_new) -> None:
        store = open_new()
        put(store, row("a"))
        store.purge([1])
        other = open_new(dimension=8)
        other.create([row("b")], [record("b")], {"key-b": np.ones(8, np.float32)})
        other.refresh()
        assert other.count(HEAD, Filters()) == 1

    def test_a_lost_alias_is_an_error_and_creates_no_index(self, open_new) -> None:
        store = open_new()
        put(store, row("a"))
        index = store.settings.index
        store.client.indices.delete_alias(index=f"{index}-000001", name=f"{index}-edition-1")
        with pytest.raises(WriteRejected, match="alias"):
            store.create([row("b")], [], {"key-b": NORTH})
        assert not store.client.indices.exists(index=f"{index}-edition-1")

    def test_an_unmapped_field_is_refused(self, store) -> None:
        put(store, row("a"))
        with pytest.raises(Exception, match="strict_dynamic_mapping_exception"):
            store.client.index(index=store.indices.chunks, body={"surprise": 1})


class TestWriting:
    def test_a_bad_document_is_named_and_the_others_are_written(self, store) -> None:
        bad = row("bad", complexity_score=float("nan"))
        with pytest.raises(WriteRejected) as caught:
            put(store, row("a"), bad, row("b"))
        assert list(caught.value.reasons) == [bad.id]
        store.refresh()
        assert sorted(file.path for file in store.files(HEAD)) == ["a", "b"]
        assert store.tally(1, 2, (), ()) == Tally(2, 2, 0)

    def test_text_with_lone_surrogates_is_returned_unchanged(self, store) -> None:
        text = "lone \udc80 surrogate, größe, \U0001f600\n"
        put(store, row("a", text, tags=("\ud800",)))
        (found,) = store.chunks(HEAD, "a", "repo")
        assert (found.text, found.tags) == (text, ("\ud800",))
        store.retire(1, 3, ["a"], ())
        store.refresh()
        assert store.chunks(Snapshot((Layer((1,), 2),)), "a", "repo")[0].text == text

    def test_names_longer_than_an_index_term_are_stored(self, store) -> None:
        name = "x" * 40_000
        put(store, row("a", symbol_name=name, references=(name, "short")))
        (found,) = store.chunks(HEAD, "a", "repo")
        assert found.symbol_name == name
        assert store.count(HEAD, Filters(terms=(("references", ("short",)),))) == 1

    def test_a_block_by_the_disk_watermark_is_reported_as_a_full_disk(self, store) -> None:
        put(store, row("a"))
        index = store.indices.chunks
        store.client.indices.put_settings(index=index, body={"index.blocks.read_only_allow_delete": True})
        try:
            with pytest.raises(StoreFull, match="no room left"):
                store.create([row("b")], [], {"key-b": NORTH})
        finally:
            store.client.indices.put_settings(index=index, body={"index.blocks.read_only_allow_delete": None})
        put(store, row("b"))

    def test_a_cached_vector_is_not_sent_again(self, store) -> None:
        store.cache_vectors({"key-a": NORTH})
        before = store.client.indices.stats(index=store.indices.vectors, metric="indexing")
        put(store, row("a"))
        after = store.client.indices.stats(index=store.indices.vectors, metric="indexing")
        assert before["_all"]["total"]["indexing"]["index_total"] == after["_all"]["total"]["indexing"]["index_total"]

    def test_a_write_whose_answer_was_lost_succeeds_on_retry(self, store, serve) -> None:
        lost = []

        def reply(method: str, path: str, body: bytes) -> tuple[int, dict[str, str], bytes]:
            answer = forwarded(store, method, path, body)
            if method == "PUT" and not lost:
                lost.append(path)
                return 503, {}, b"the way back is broken"
            return answer

        through = OpenSearchStore(store.settings.model_copy(update={"urls": (serve(reply),)}), DIMENSION)
        first = through.write_document("k", {"n": 1}, None)
        assert lost
        assert store.read_document("k") == first
        lost.clear()
        second = through.write_document("k", {"n": 2}, first.version)
        assert store.read_document("k") == second
        with pytest.raises(Conflict):
            through.write_document("k", {"n": 2}, first.version)
        through.close()


class TestRetiredRows:
    def test_vectors_of_retired_rows_survive_the_update(self, store) -> None:
        """An update rewrites the row from its source, which does not contain the vector."""
        random = np.random.default_rng(1)
        rows = [row(f"f{number}") for number in range(40)]
        vectors = {}
        for retired in rows:
            vector = random.standard_normal(DIMENSION).astype(np.float32)
            vectors[retired.vector_key] = vector / np.linalg.norm(vector)
        store.create(rows, [record(retired.chunk.path) for retired in rows], vectors)
        assert store.retire(1, 5, [retired.chunk.path for retired in rows[:20]], ()) == 40
        store.refresh()
        before, after = Snapshot((Layer((1,), 4),)), Snapshot((Layer((1,), 5),))
        for retired in rows:
            query = RecallQuery(before, vector=vectors[retired.vector_key], vector_limit=1)
            (found,) = store.recall(query).candidates.values()
            assert found.chunk.id == retired.chunk.id
            assert found.similarity == pytest.approx(1)
        query = RecallQuery(after, vector=NORTH, vector_limit=100)
        assert len(store.recall(query).by_vector) == 20
        store.undo(1, 5)
        store.refresh()
        assert len(store.recall(query).by_vector) == 40


class TestRecall:
    def test_recall_is_one_request_with_the_filter_inside_the_knn_clause(self, store, serve) -> None:
        put(store, row("a"))
        seen: list[tuple[str, list[dict]]] = []

        def reply(method: str, path: str, body: bytes) -> tuple[int, dict[str, str], bytes]:
            seen.append((path, [json.loads(line) for line in body.splitlines()]))
            return forwarded(store, method, path, body)

        through = OpenSearchStore(store.settings.model_copy(update={"urls": (serve(reply),)}), DIMENSION)
        filters = Filters(terms=(("language", ("python",)),))
        asked = RecallQuery(HEAD, filters, NORTH, terms=("word",), symbols=("s",), paths=("a",))
        assert list(through.recall(asked).candidates) == ["id-a"]
        through.close()
        ((path, lines),) = seen
        assert path == "/_msearch"
        knn = next(line["query"]["knn"] for line in lines if "knn" in line.get("query", {}))
        assert {"terms": {"language": ["python"]}} in knn["embedding"]["filter"]["bool"]["filter"]

    def test_the_source_does_not_contain_the_vector(self, store) -> None:
        put(store, row("a"))
        answers = search_all(
            store.indices, {"all": {"query": {"match_all": {}}, "_source": {"excludes": ["embedding"]}}}
        )
        assert "embedding" not in answers["all"]["hits"]["hits"][0]["_source"]

    @pytest.mark.parametrize(("layers", "globs", "asked"), [(81, 0, 0), (60, 2, 0), (1, 0, 200)])
    def test_the_largest_allowed_query_is_answered(self, store, layers, globs, asked):
        """An engine accepts about a thousand clauses in one query: layers, globs and words together."""
        # The engine drops ranges that match all rows or none; with these rows it drops no range.
        others = [replace(row(f"b{number}"), timeline=100 + number, born=number % 17) for number in range(60)]
        put(store, row("a"), *others)
        allowed = (PathGlobs(exclude=tuple(f"hidden-{number}/" for number in range(globs))),) if globs else ()
        other = [Layer((number,), 9, frozenset({7}), frozenset({"x"}), allowed) for number in range(100, 99 + layers)]
        snapshot = Snapshot((*HEAD.layers, *other))
        filters = Filters(paths=PathGlobs(include=tuple(f"**/*{number}*" for number in range(asked))))
        words = ("word", *(f"word{number}" for number in range(600)))
        found = store.recall(RecallQuery(snapshot, filters, NORTH, terms=words, vector_limit=10, term_limit=10))
        assert asked or "id-a" in found.candidates

    def test_a_query_with_too_many_clauses_is_refused(self, store) -> None:
        put(store, row("a"))
        layers = [Layer((1,), 9, allowed=tuple(PathGlobs((f"folder-{number}/",)) for number in range(2000)))]
        with pytest.raises(UsageError, match="too large for OpenSearch"):
            store.recall(RecallQuery(Snapshot(tuple(layers)), vector=NORTH, vector_limit=10))
        with pytest.raises(UsageError, match="too large for OpenSearch"):
            store.count(Snapshot(tuple(layers)), Filters())

    def test_a_glob_that_is_too_complex_is_refused(self, store) -> None:
        put(store, row("a"))
        with pytest.raises(UsageError, match="too complex"):
            store.count(HEAD, Filters(paths=PathGlobs(include=("*a" + "?" * 30,))))
        with pytest.raises(UsageError, match="too complex"):
            store.recall(RecallQuery(HEAD, Filters(paths=PathGlobs(exclude=("*a" + "?" * 30,))), NORTH))


def test_all_checks_of_a_fresh_index_pass(store) -> None:
    put(store, row("a"))
    checks = check_cluster(store)
    assert {check.state for check in checks} == {"ok"}
    assert {"version", "indices", "replication", "durability", "writing", "health", "vectors", "shards"} == {
        check.name for check in checks
    }


def test_an_unreachable_cluster_fails_the_first_check() -> None:
    stamina.set_testing(True)
    store = OpenSearchStore(OpenSearchSettings(urls=("http://127.0.0.1:9",)), DIMENSION)
    (check,) = check_cluster(store)
    stamina.set_testing(False)
    store.close()
    assert check.state == "fail"
    assert "codequarry opensearch start" in check.message
