"""Estimates of a run's cost, made without embedding the repository or writing to the store."""

import time
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field

from codequarry.ingest.commentary.estimate import CommentaryEstimate, estimate_commentary
from codequarry.ingest.files.kinds import outermost_vendored
from codequarry.ingest.files.read_file import ReadFile
from codequarry.ingest.files.reading_pool import open_readers
from codequarry.ingest.files.scan import FileTask
from codequarry.ingest.history.file_histories import seconds_of_histories
from codequarry.ingest.request.checked_out_version import at_checkout
from codequarry.ingest.request.index_request import IndexRequest, ObserveRun, Workshop, ignore
from codequarry.ingest.request.progress import Watch
from codequarry.ingest.request.wanted_version import resolve_request
from codequarry.ingest.run.log_estimate import LogSample, sample_log
from codequarry.ingest.source.source import FileSource
from codequarry.ingest.source.workspace import fetch_version
from codequarry.ingest.transaction.acquisition import is_published
from codequarry.ingest.transaction.bases import Base
from codequarry.ingest.transaction.placement import Placer
from codequarry.ingest.transaction.plan import make_plan, skips
from codequarry.shared.catalog.ledger import read_head, read_transaction
from codequarry.shared.catalog.repositories import Repository
from codequarry.shared.embedding.cache import vector_key
from codequarry.shared.embedding.port import Embedder
from codequarry.shared.embedding.tokens import estimate_tokens
from codequarry.shared.errors import GitError
from codequarry.shared.index.identity import check_identity
from codequarry.shared.model import KindOfFile
from codequarry.shared.processors import processor_count
from codequarry.shared.repositories.followed_versions import with_permitted_commentary
from codequarry.shared.repositories.model_permission import check_model_allowed
from codequarry.shared.versions.snapshots import snapshot_at

# Up to this many files, every file is read; larger sets are sampled evenly by size. For 31,000 files in thirty
# repositories, the estimates of chunks and tokens were within 10% of the actual numbers.
SAMPLE_FILES = 1000
LARGEST_SHOWN = 10
FOLDERS_SHOWN = 10
# Number of texts embedded to measure the model's speed.
TIMED_TEXTS = 200
# Processor seconds per row, without its vector; for OpenSearch, those of the node if it runs on this machine.
SECONDS_PER_ROW = {"embedded": 0.0003, "opensearch": 0.0020}


@dataclass(frozen=True, slots=True)
class Estimate:
    """What a run would do: ``files`` counts the files that it would write, ``tokens`` the tokens that it would embed.

    ``cost`` requires [embedding] price_per_million_tokens. ``largest_files`` are (path, bytes, chunks),
    ``most_skipped_folders`` (folder, files, reason). ``sampled`` is the number of files that were read.
    An overlay would differ from ``base_commit`` of ``base_ref`` in ``base_paths`` paths. ``log_commits`` is how many
    commits searches for commits would find in addition; their tokens and their time are included.
    ``commentary`` is what describing the chunks would cost, or None if the settings ask for no commentary.
    ``chunks_by_kind`` divides the chunks by the kind of their files, to show what third-party and generated code costs.
    ``warnings`` name lines of the repository's own ignore and allow files that have no effect.
    """

    repo: str
    ref: str
    commit: str
    files: int
    chunks: int
    tokens: int
    seconds: float
    cost: float | None = None
    skipped: Mapping[str, int] = field(default_factory=dict)
    largest_files: tuple[tuple[str, int, int], ...] = ()
    most_skipped_folders: tuple[tuple[str, int, str], ...] = ()
    sampled: int = 0
    base_ref: str = ""
    base_commit: str = ""
    base_paths: int = 0
    log_commits: int = 0
    commentary: CommentaryEstimate | None = None
    chunks_by_kind: Mapping[KindOfFile, int] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Sample:
    """Files and documents of commits that were read, each with the number it represents, and the seconds it took."""

    files: Sequence[tuple[ReadFile, float]]
    of_commits: Sequence[tuple[ReadFile, float]]
    seconds: float

    @property
    def represented(self) -> float:
        """How many files and documents a run would read for each that was read."""
        read = [*self.files, *self.of_commits]
        return sum(weight for _, weight in read) / max(1, len(read))


def estimate(request: IndexRequest, workshop: Workshop, observe: ObserveRun = ignore) -> Estimate:
    """Fetch, list and sample what a run would index; chunks and tokens are within 30% of the actual run."""
    store, settings = workshop.store, workshop.settings
    check_identity(store, workshop.embedder, settings.embedding.model)
    request = at_checkout(request, settings, store)
    wanted = resolve_request(request, settings, store)
    check_model_allowed(settings, wanted.origin.name, wanted.origin.url, workshop.embedder)
    repo = wanted.known.name if wanted.known else request.name or wanted.origin.name
    watch = Watch(store, observe, repo, saves=False)
    watch.say("fetching")
    source = fetch_version(wanted, settings, store, watch.say)
    if source is None:
        raise GitError(f"{wanted.origin.url} no longer has {wanted.key}; a run without --dry-run drops it")
    watch.commit = source.commit
    watch.say("scanning")
    changed, base, log = _changed(request, workshop, source, watch.repo)
    to_read = [task for task in changed if task.skip is None]
    watch.say("sampling")
    sample = _read_sample(to_read, log, source, workshop, watch)
    tokens, chunks, seconds = _measure(sample, workshop)
    most = settings.history.file_commits
    of_history = seconds_of_histories(source.mirror, source.commit, most, len(to_read))
    pieces = [(piece.chunk, weight) for file, weight in sample.files for piece in file.pieces]
    own = with_permitted_commentary(settings, wanted.origin.url).commentary
    commentary = estimate_commentary(pieces, own, store, wanted.known.id if wanted.known else "")
    tokens += commentary.output_tokens if commentary else 0  # what is written is embedded too
    price = settings.embedding.price_per_million_tokens
    return Estimate(
        repo=watch.repo,
        ref=source.ref.name,
        commit=source.commit,
        files=len(changed),
        chunks=chunks,
        tokens=tokens,
        seconds=seconds + of_history,
        cost=None if price is None else price * tokens / 1e6,
        skipped=_skipped(changed, sample),
        largest_files=_largest(sample),
        most_skipped_folders=_most_skipped(changed),
        sampled=len(sample.files),
        base_ref=base.record.ref if base else "",
        base_commit=base.record.commit if base else "",
        base_paths=base.paths if base else 0,
        log_commits=log.commits,
        commentary=commentary,
        chunks_by_kind=_by_kind(sample),
        warnings=source.rules.warnings,
    )


def _changed(
    request: IndexRequest, workshop: Workshop, source: FileSource, repo: str
) -> tuple[tuple[FileTask, ...], Base | None, LogSample]:
    """Return the files that a run would write, the base of an overlay, and the commits that the run would add."""
    store = workshop.store
    head = read_head(store)
    if not request.full and is_published(store, head, source.target(Repository(repo, source.origin.url, ""))):
        return (), None, LogSample()
    placement = Placer(store, source, repo, workshop.settings.indexing, full=request.full).place(head)
    tasks = placement.base.plan.changed if placement.base else source.tasks
    state = head.timelines[placement.timeline] if placement.timeline is not None else None
    base = placement.base.record if placement.base else None
    if placement.timeline is None or state is None or not state.published:
        return tuple(tasks), placement.base, sample_log(repo, source, workshop.settings, (base,))
    before = read_transaction(store, placement.timeline, state.published)
    live = store.files(snapshot_at(head, placement.timeline, state.published))
    log = sample_log(repo, source, workshop.settings, (before, base))
    return make_plan(tasks, live).changed, placement.base, log


def _read_sample(
    tasks: Sequence[FileTask], log: LogSample, source: FileSource, workshop: Workshop, watch: Watch
) -> Sample:
    """Read the largest files and every nth other file by size, so that the totals hardly depend on chance."""
    by_size = sorted(tasks, key=lambda task: (-task.size, task.path))
    largest, others = by_size[:LARGEST_SHOWN], by_size[LARGEST_SHOWN:]
    step = max(1.0, len(others) / SAMPLE_FILES)
    picked = [others[int(step * (index + 0.5))] for index in range(int(len(others) / step))] if others else []
    weights = dict.fromkeys((task.path for task in largest), 1.0)
    weights |= dict.fromkeys((task.path for task in picked), len(others) / max(1, len(picked)))
    of_log = {task.path: weight for task, weight in log.tasks}
    processes = min(_processes(workshop), len(weights) + len(of_log))
    watch.expect(len(weights) + len(of_log))
    files: list[tuple[ReadFile, float]] = []
    documents: list[tuple[ReadFile, float]] = []
    with closing(open_readers(source.assignment(watch.repo, workshop.settings), processes)) as readers:
        started = 0.0
        for file in readers.read([*largest, *picked, *(task for task, _ in log.tasks)]):
            # The time to start the processes does not depend on the number of files, so it is not part of the rate.
            started = started or time.monotonic()
            if file.task.path in weights:
                files.append((file, weights[file.task.path]))
            else:
                documents.append((file, of_log[file.task.path]))
            watch.advance(1, len(file.pieces))
        seconds = time.monotonic() - started if started else 0.0
    return Sample(files, documents, seconds)


def _processes(workshop: Workshop) -> int:
    set_number = workshop.settings.indexing.processes
    return processor_count() if set_number is None else set_number


def _measure(sample: Sample, workshop: Workshop) -> tuple[int, int, float]:
    """Return the numbers of tokens to embed and of chunks of code, and the seconds that the run would take."""
    embedder, store = workshop.embedder, workshop.store
    read = (*sample.files, *sample.of_commits)
    texts = [(piece.text, weight) for file, weight in read for piece in file.pieces]
    chunks = sum(weight * len(file.pieces) for file, weight in sample.files)
    rows = sum(weight for _, weight in texts)
    keys = [vector_key(embedder.name, text) for text, _ in texts]
    cached = store.cached_vectors(set(keys)).keys()
    fresh = [text for text, key in zip(texts, keys, strict=True) if key not in cached]
    tokens = sum(weight * estimate_tokens(embedder, text) for text, weight in fresh)
    timed = [text for text, _ in fresh[:: max(1, len(fresh) // TIMED_TEXTS)]]
    waiting, working = seconds_per_token(timed, embedder)
    reading = sample.seconds * sample.represented
    storing = rows * SECONDS_PER_ROW.get(store.name, SECONDS_PER_ROW["embedded"])
    processors = max(1, min(processor_count(), _processes(workshop) + 1))
    # Reading is measured with all processors busy. Computation in the run's own process competes with it; waiting for
    # a server does not.
    seconds = max(reading + (working * tokens + storing) / processors, waiting * tokens + storing)
    return round(tokens), round(chunks), seconds


def seconds_per_token(texts: Sequence[str], embedder: Embedder) -> tuple[float, float]:
    """Return the seconds that embedding a token takes, as elapsed time and as processor time of this process."""
    if not texts:
        return 0.0, 0.0
    embedder.embed_documents(texts[:1])  # loads the model
    started, worked = time.monotonic(), time.process_time()
    embedder.embed_documents(texts)
    tokens = max(1, sum(estimate_tokens(embedder, text) for text in texts))
    return (time.monotonic() - started) / tokens, (time.process_time() - worked) / tokens


def _skipped(changed: Sequence[FileTask], sample: Sample) -> dict[str, int]:
    by_path = Counter(task.skip for task in changed if task.skip)
    by_content: defaultdict[str, float] = defaultdict(float)
    for file, weight in sample.files:
        by_content[file.verdict] += weight
    return skips(by_path + Counter({reason: round(count) for reason, count in by_content.items()}))


def _by_kind(sample: Sample) -> dict[KindOfFile, int]:
    found: defaultdict[KindOfFile, float] = defaultdict(float)
    for file, weight in sample.files:
        for piece in file.pieces:
            found[piece.chunk.kind_of_file] += weight
    return {kind: round(chunks) for kind, chunks in sorted(found.items(), key=lambda item: -item[1])}


def _largest(sample: Sample) -> tuple[tuple[str, int, int], ...]:
    files = sorted((file for file, _ in sample.files), key=lambda file: (-file.task.size, file.task.path))
    return tuple((file.task.path, file.task.size, len(file.pieces)) for file in files[:LARGEST_SHOWN])


def _most_skipped(changed: Sequence[FileTask]) -> tuple[tuple[str, int, str], ...]:
    found = Counter((outermost_vendored(task.path), task.skip) for task in changed if task.skip)
    ranked = sorted(found.items(), key=lambda item: (-item[1], item[0]))
    return tuple((folder, count, reason) for (folder, reason), count in ranked[:FOLDERS_SHOWN])
