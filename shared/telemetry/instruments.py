"""Every exported metric: its name, meaning and labels, as listed in docs/operators/monitoring.md.

Label values are bounded: never a query, path, commit or person. Only one gauge, if enabled, names repositories.
"""

from dataclasses import dataclass
from typing import Literal

MetricKind = Literal["counter", "histogram", "gauge"]

# A search should take 10 to 60 ms. The lower buckets show a stage that is slowing down, the upper buckets an outage.
STAGE_BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.02, 0.03, 0.06, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
# A whole request may also wait for a commit or an index run.
REQUEST_BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0)
# A call to a local embedding model takes milliseconds; a batch on a busy server may take until its timeout.
EMBED_BUCKETS = (0.001, 0.005, 0.01, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)
# A push should be searchable within 5 s; a first import may take hours.
RUN_BUCKETS = (0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0, 300.0, 900.0, 3600.0, 4 * 3600.0, 24 * 3600.0)


@dataclass(frozen=True, slots=True)
class Metric:
    """A metric; ``name`` lacks the suffixes that the text format adds (``_total``, ``_bucket``…)."""

    name: str
    kind: MetricKind
    meaning: str
    labels: tuple[str, ...] = ()
    buckets: tuple[float, ...] = ()

    @property
    def exported(self) -> str:
        """The name in queries; for a histogram, the prefix of its series."""
        return f"{self.name}_total" if self.kind == "counter" else self.name


REQUESTS = Metric(
    "codequarry_http_requests", "counter", "Requests by route, method and status.", ("route", "method", "status")
)
REQUEST_SECONDS = Metric(
    "codequarry_http_request_seconds", "histogram", "Duration of requests by route.", ("route",), REQUEST_BUCKETS
)
REQUESTS_RUNNING = Metric("codequarry_http_requests_running", "gauge", "Requests being answered now.")
REQUESTS_WAITING = Metric("codequarry_http_requests_waiting", "gauge", "Requests waiting for a thread now.")
SEARCHES = Metric("codequarry_searches", "counter", "Searches by outcome.", ("outcome",))
DEGRADED = Metric("codequarry_degraded_searches", "counter", "Searches answered without a stage.", ("stage",))
STAGE_SECONDS = Metric(
    "codequarry_search_stage_seconds", "histogram", "Duration of search stages.", ("stage",), STAGE_BUCKETS
)

LAG_SECONDS = Metric(
    "codequarry_index_lag_seconds",
    "histogram",
    "Time from first seeing a commit to publishing it; first imports are counted separately.",
    ("run",),
    RUN_BUCKETS,
)
TRANSACTIONS = Metric(
    "codequarry_transactions", "counter", "Transactions of index runs that were published or aborted.", ("result",)
)
CHUNKS = Metric("codequarry_chunks_written", "counter", "Chunks written into transactions.")
FILES = Metric(
    "codequarry_files", "counter", "Files examined, by verdict: indexed, or the reason for skipping.", ("verdict",)
)
MASKED = Metric("codequarry_masked_secrets", "counter", "Secrets masked in files that were written.", ("rule",))
EMBEDDINGS = Metric("codequarry_embeddings", "counter", "Chunk texts that a model embedded.")
CACHE_HITS = Metric("codequarry_embedding_cache_hits", "counter", "Chunk texts whose vectors were in the cache.")
TOKENS = Metric("codequarry_embedding_tokens", "counter", "Estimated tokens in chunk texts that a model embedded.")
EMBED_SECONDS = Metric(
    "codequarry_embed_seconds", "histogram", "Duration of model calls, for chunks or a query.", ("of",), EMBED_BUCKETS
)

JOBS_ENDED = Metric(
    "codequarry_jobs_ended",
    "counter",
    "Job attempts by resulting state; queued means that another attempt follows.",
    ("kind", "trigger", "state"),
)
JOB_SECONDS = Metric(
    "codequarry_job_seconds", "histogram", "Duration of job attempts.", ("kind", "trigger"), RUN_BUCKETS
)
JOB_FAILURES = Metric("codequarry_job_failures", "counter", "Failed job attempts by error.", ("reason",))
STORE_ERRORS = Metric("codequarry_store_errors", "counter", "Store errors by kind.", ("error",))

CATALOG_UP = Metric("codequarry_catalog_up", "gauge", "1 if the catalog could be read for this scrape.")
JOBS = Metric("codequarry_jobs", "gauge", "Jobs in the catalog by state; ended jobs are kept for a while.", ("state",))
QUEUE_JOBS = Metric("codequarry_queue_jobs", "gauge", "Waiting jobs by priority.", ("priority",))
QUEUE_OLDEST_SECONDS = Metric(
    "codequarry_queue_oldest_seconds", "gauge", "Age of the oldest waiting job by priority.", ("priority",)
)
VERSIONS_BEHIND = Metric(
    "codequarry_versions_behind", "gauge", "Indexed versions whose newest commit is not yet published."
)
BEHIND_SECONDS = Metric(
    "codequarry_behind_seconds", "gauge", "How long the version furthest behind has been behind; 0 if none is."
)
REPOSITORY_BEHIND_SECONDS = Metric(
    "codequarry_repository_behind_seconds",
    "gauge",
    "The same for the [metrics] worst_repositories repositories furthest behind.",
    ("repo",),
)

COUNTED = (
    REQUESTS, REQUEST_SECONDS, REQUESTS_RUNNING, REQUESTS_WAITING, SEARCHES, DEGRADED, STAGE_SECONDS,
    LAG_SECONDS, TRANSACTIONS, CHUNKS, FILES, MASKED, EMBEDDINGS, CACHE_HITS, TOKENS, EMBED_SECONDS,
    JOBS_ENDED, JOB_SECONDS, JOB_FAILURES, STORE_ERRORS,
)  # fmt: skip
"""Metrics that processes count while they work."""
READ = (
    CATALOG_UP, JOBS, QUEUE_JOBS, QUEUE_OLDEST_SECONDS, VERSIONS_BEHIND, BEHIND_SECONDS, REPOSITORY_BEHIND_SECONDS,
)  # fmt: skip
"""Metrics that are read from the catalog at each scrape."""
METRICS = COUNTED + READ
