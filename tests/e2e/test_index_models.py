"""Models with limits: texts that they refuse, and texts longer than their window."""

from dataclasses import replace

from codequarry.ingest.run.pipeline import IndexRequest, index_repository
from codequarry.shared.catalog.ledger import read_head
from codequarry.shared.embedding.factory import open_embedder
from codequarry.shared.errors import TextsRejected
from codequarry.shared.model import Filters
from codequarry.shared.settings.config import EmbeddingSettings
from codequarry.shared.versions.snapshots import head_snapshot


class Fussy:
    """Refuses every text about poison and returns the vectors of the others, as a server may."""

    def __init__(self, embedder):
        self._embedder = embedder

    def __getattr__(self, name):
        return getattr(self._embedder, name)

    def embed_documents(self, texts):
        vectors = self._embedder.embed_documents(texts)
        refused = {index: "not such words" for index, text in enumerate(texts) if "poison" in text}
        if refused:
            raise TextsRejected(refused, {index: row for index, row in enumerate(vectors) if index not in refused})
        return vectors


def test_a_file_with_a_refused_text_is_listed_and_the_others_are_indexed(make_repository, make_workshop):
    files = {f"f{number}.py": f"def f{number}():\n    pass\n" for number in range(10)}
    repository = make_repository(files=files | {"bad.py": "def poison():\n    pass\n"})
    workshop = make_workshop()
    report = index_repository(IndexRequest(repository.origin), replace(workshop, embedder=Fussy(workshop.embedder)))
    assert (report.files_indexed, report.chunks_live) == (10, 10)
    assert report.skipped == {"embedder-refused": 1}
    assert (report.embedded, report.reused_embeddings) == (10, 0), (
        "vectors made by the refusing call count as made, not as reused"
    )
    assert report.tokens > 0
    snapshot = head_snapshot(read_head(workshop.store))
    (record,) = workshop.store.files(snapshot, ["bad.py"])
    assert (record.verdict, record.detail, record.rows) == ("embedder-refused", "not such words", 0)


def test_a_chunk_longer_than_the_window_has_a_row_per_stride_and_counts_once(make_repository, make_workshop, tmp_path):
    long = "def long():\n" + "".join(f"    value_{line} = compute_something({line})\n" for line in range(40))
    repository = make_repository(files={"long.py": long, "short.py": "x = 1\n"})
    settings = EmbeddingSettings(context_window=64)
    embedder = open_embedder(settings, tmp_path)
    workshop = replace(make_workshop(embedding=settings.model_dump()), embedder=embedder)
    report = index_repository(IndexRequest(repository.origin), workshop)
    snapshot = head_snapshot(read_head(workshop.store))
    rows = {file.path: file.rows for file in workshop.store.files(snapshot)}
    assert rows["short.py"] == 1
    assert rows["long.py"] > 3
    assert report.chunks_live == workshop.store.count(snapshot, Filters()) == report.chunks_written
    assert report.embedded == sum(rows.values())
    chunks = workshop.store.chunks(snapshot, "long.py", "project")
    strides = [chunk.stride_info for chunk in chunks if chunk.stride_info]
    assert strides
    assert all(stride.stride_index == 0 and stride.total_strides > 1 for stride in strides)
    embedder.close()
