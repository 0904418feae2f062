"""The dry run: its estimate against what the run then does, and that it changes nothing."""

import random

import pytest

from codequarry.ingest.run import estimate as estimating
from codequarry.ingest.run.estimate import estimate
from codequarry.ingest.run.pipeline import IndexRequest, index_repository
from codequarry.shared.catalog.ledger import read_head
from codequarry.shared.catalog.repositories import list_repositories
from codequarry.shared.index.identity import read_identity

# More files than are sampled, of very different sizes.
MANY = estimating.SAMPLE_FILES * 2


def varied(files: int, seed: int = 0) -> dict[str, str | bytes]:
    chance = random.Random(seed)
    found: dict[str, str | bytes] = {}
    for number in range(files):
        functions = int(chance.paretovariate(1.2))
        found[f"src/d{number % 7}/f{number}.py"] = "".join(
            f"def f{number}_{index}(a, b):\n    return a * {chance.randint(0, 999)} + b\n\n\n"
            for index in range(min(functions, 400))
        )
    found |= {f"node_modules/x/{number}.js": "x" for number in range(9)}
    found |= {f"data/{number}.bin": b"\0" for number in range(files // 20)}
    return found


@pytest.mark.parametrize("files", [40, MANY])
def test_chunks_and_tokens_are_estimated_within_30_percent(make_repository, make_workshop, files):
    repository = make_repository(files=varied(files))
    workshop = make_workshop()
    estimated = estimate(IndexRequest(repository.origin), workshop)
    done = index_repository(IndexRequest(repository.origin), workshop)
    assert estimated.files == done.files_changed
    assert estimated.chunks == pytest.approx(done.chunks_written, rel=0.3)
    assert estimated.tokens == pytest.approx(done.tokens, rel=0.3)
    assert estimated.skipped["installed"] == done.skipped["installed"]
    assert estimated.skipped["binary"] == pytest.approx(done.skipped["binary"], rel=0.3)
    assert estimated.seconds > 0
    assert estimated.sampled <= estimating.SAMPLE_FILES + estimating.LARGEST_SHOWN


def test_the_commits_that_a_run_would_add_are_counted_with_their_tokens(make_repository, make_workshop):
    repository, workshop = make_repository(files={"a.py": "x = 0\n"}), make_workshop(history={"diffs": 20})
    for number in range(160):
        repository.write("a.py", f"x = {number + 1}\n")
        repository.commit(f"change number {number}\n\nfor reason {number} of the {number + 1} known ones")
    estimated = estimate(IndexRequest(repository.origin), workshop)
    done = index_repository(IndexRequest(repository.origin), workshop)
    assert estimated.log_commits == done.log_commits == 161
    assert estimated.tokens == pytest.approx(done.tokens + done.log_tokens, rel=0.3)
    assert done.log_tokens > 10 * done.tokens
    repository.commit("one more")
    assert estimate(IndexRequest(repository.origin), workshop).log_commits == 1


def test_nothing_is_written_to_the_store(make_repository, make_workshop):
    workshop = make_workshop()
    estimate(IndexRequest(make_repository(files=varied(10)).origin), workshop)
    assert read_head(workshop.store).counter == 0
    assert read_identity(workshop.store) is None
    assert list_repositories(workshop.store) == []
    assert workshop.store.list_documents("") == []


def test_the_largest_files_and_most_skipped_folders_are_named(make_repository, make_workshop):
    files = varied(30) | {"big/one.py": "x = 1\n" * 3000, "a/Pods/a/b.m": "b", "a/Pods/c.m": "c"}
    estimated = estimate(IndexRequest(make_repository(files=files).origin), make_workshop())
    path, size, chunks = estimated.largest_files[0]
    assert (path, size) == ("big/one.py", 18000)
    assert chunks > 1
    assert [size for _, size, _ in estimated.largest_files] == sorted(
        (size for _, size, _ in estimated.largest_files), reverse=True
    )
    assert estimated.most_skipped_folders[:2] == (("node_modules", 9, "installed"), ("a/Pods", 2, "installed"))


def test_the_cost_of_code_that_others_or_programs_wrote_is_shown(make_repository, make_workshop):
    files = {f"vendor/a/{number}.go": f"package a\n\nvar a{number} = {number}\n" for number in range(1200)}
    files |= {"a_pb2.py": "x = 1\n", "b.py": "x = 2\n", "c.js": "a=1;" * 5000}
    estimated = estimate(IndexRequest(make_repository(files=files).origin), make_workshop())
    assert estimated.chunks_by_kind["vendored"] == pytest.approx(1200, rel=0.1)
    assert (estimated.chunks_by_kind["generated"], estimated.chunks_by_kind["source"]) == (2, 1)


def test_a_second_run_is_estimated_by_its_changes(make_repository, make_workshop):
    repository = make_repository(files=varied(30))
    workshop = make_workshop()
    index_repository(IndexRequest(repository.origin), workshop)
    assert estimate(IndexRequest(repository.origin), workshop).files == 0
    repository.write("src/d0/f0.py", "def changed():\n    pass\n")
    repository.commit()
    estimated = estimate(IndexRequest(repository.origin), workshop)
    assert (estimated.files, estimated.chunks) == (1, 1)
    whole = estimate(IndexRequest(repository.origin, full=True), workshop)
    assert whole.files > 30
    assert whole.tokens == estimated.tokens, "cached embeddings cost nothing"


def test_a_price_gives_a_cost(make_repository, make_workshop):
    repository = make_repository(files=varied(10))
    assert estimate(IndexRequest(repository.origin), make_workshop()).cost is None
    estimated = estimate(IndexRequest(repository.origin), make_workshop(embedding={"price_per_million_tokens": 2.0}))
    assert estimated.cost == pytest.approx(2.0 * estimated.tokens / 1e6)


def test_progress_is_reported(make_repository, make_workshop):
    phases = []
    estimate(
        IndexRequest(make_repository(files=varied(5)).origin), make_workshop(), lambda state: phases.append(state.phase)
    )
    assert list(dict.fromkeys(phases)) == ["fetching", "scanning", "sampling"]
