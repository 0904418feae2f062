"""Two indices, one with content that is hidden from a key and one of only the visible part; and requests to each."""

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from codequarry.ingest.run.pipeline import IndexRequest, Workshop, index_repository
from codequarry.search_api.http.app import create_app
from codequarry.search_api.jobs.queue import Indexer
from codequarry.shared.access.grants import Grant
from codequarry.shared.access.key_list import add_key, ids_by_name
from codequarry.shared.access.keys import ApiKey, new_key
from codequarry.shared.catalog.deliveries import Delivery
from codequarry.shared.catalog.ledger import change_head, published_transactions, read_head
from codequarry.shared.catalog.repositories import Progress, Repository, put_document, save_progress, save_repository
from codequarry.shared.jobs.job import Job, JobRequest
from codequarry.shared.jobs.job_list import JOB_PREFIX, submit
from codequarry.shared.liveness.deadline import Deadline
from codequarry.shared.model import PathGlobs
from codequarry.shared.settings.config import SettingsModel
from codequarry.shared.store.factory import open_store
from codequarry.shared.store.port import Store
from codequarry.shared.versions.refs import Ref
from codequarry.shared.versions.transactions import begin

HIDDEN_PATH = "secret/"
GRANTS = (Grant("core", PathGlobs(exclude=(HIDDEN_PATH,))), Grant("site"), Grant("team-*"))
# These words may only be shown to callers who sent them first.
PLANTED = ("zanzibar", "xylophone", "quagmire", "kumquat", "vault")
WHEN = "2026-01-01T00:00:00.000000+00:00"

CORE = {
    "src/retry.py": (
        "class Retrier:\n"
        '    """Calls again what raised an error."""\n\n'
        "    def retry_later(self, job, attempt: int) -> float:\n"
        '        """Schedule a failed job again, each time after a longer pause."""\n'
        "        return 2.0**attempt\n"
    ),
    "src/pages.go": "package pages\n\n// ReadPage reads a page from disk.\nfunc ReadPage() []byte {\n\treturn nil\n}\n",
    "README.md": "# Core\n\nRetries failed jobs and reads pages from disk.\n",
    "many.py": "".join(f"def step_{n}(value):\n    return value + {n}\n\n\n" for n in range(40)),
    "secret/keys.py": (
        "class XylophoneKeys:\n"
        '    """Retry the xylophone job later with quagmire pages from disk."""\n\n'
        "    def retry_later(self, xylophone):\n        return xylophone\n"
    ),
    "secret/quagmire.md": "# Quagmire\n\nRetry jobs later: retries, pages, disk, steps.\n",
}
SITE = {"app.ts": "export function renderPage(title: string): string {\n  return `<h1>${title}</h1>`\n}\n"}
VAULT = {
    "src/retry.py": (
        "class ZanzibarRetrier:\n"
        '    """Schedule a failed zanzibar job again and again: retry later, retry later."""\n\n'
        "    def retry_later(self, zanzibar, job):\n        return zanzibar\n"
    ),
    "kumquat.py": "".join(f"def kumquat_step_{n}(value):\n    return retry_later(value, {n})\n\n\n" for n in range(30)),
    "README.md": "# Vault\n\nZanzibar retries failed jobs and reads pages from disk.\n",
}


class Waiting:
    """An indexer that never runs its jobs, so that they look the same in every answer."""

    def __init__(self, store: Store) -> None:
        """Keep jobs in ``store``."""
        self._store = store

    def submit(self, request: JobRequest, deadline: Deadline | None = None) -> Job:
        """Store the job."""
        return submit(self._store, request)[0]

    def wake(self, job: Job) -> None:
        """Do nothing, because there is no worker."""


@dataclass(frozen=True, slots=True)
class World:
    """An index and its service; ``commits`` maps repository and branch to the commit."""

    store: Store
    client: Any
    settings: SettingsModel
    commits: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Reply:
    """A comparable answer: without ids of requests and jobs, times, and the ciphertext of cursors."""

    status: int
    headers: Mapping[str, str]
    body: Any
    text: str
    cursor: str | None


def make_repositories(place: Any) -> dict[str, Any]:
    """Make the git repositories of both indices."""
    made = {name: place.repository(name, files) for name, files in {"core": CORE, "site": SITE, "vault": VAULT}.items()}
    for name in ("core", "vault"):
        folder = made[name]
        folder.git("tag", "v1")
        folder.git("checkout", "--quiet", "-b", "dev")
        word = "zanzibar" if name == "vault" else "retry"
        folder.commit({"src/new.py": f"def only_on_dev():\n    return '{word}'\n", "secret/more.py": "xylophone = 1\n"})
        folder.git("checkout", "--quiet", "main")
        folder.commit({"src/later.py": f"def came_later():\n    return '{word}'\n"})
    made["vault"].git("branch", "zanzibar-branch", "dev")
    return made


@contextmanager
def open_world(
    home: Path, embedder: Any, repositories: Mapping[str, Any], key: ApiKey, *, hidden: bool, **sections: Any
) -> Iterator[World]:
    """Index the visible content in the same order in both worlds, and in one of them the hidden content too."""
    home.mkdir(parents=True)
    settings = SettingsModel.model_validate({"home": home, "api": {"local_roots": [home.parent]}, **sections})
    scan = settings.scan if hidden else settings.scan.model_copy(update={"exclude": (HIDDEN_PATH,)})
    scanned = settings.model_copy(update={"scan": scan})
    store = open_store(settings, embedder.dimension)
    workshop = Workshop(store, embedder, scanned)

    def index(name: str, *branches: str) -> None:
        for branch in ("main", *branches):
            ref = None if branch == "main" else Ref("tag" if branch == "v1" else "branch", branch)
            index_repository(IndexRequest(str(repositories[name].folder), ref=ref), workshop)

    if hidden:
        index("vault", "dev", "v1", "zanzibar-branch")
    index("core", "dev", "v1")
    index("site")
    save_repository(store, Repository("team-new", "https://git.example/team/new", "main"))
    save_progress(store, Progress("team-new", "indexing", "f" * 40, 43, 100, 0, WHEN, WHEN))
    _add_jobs(store, hidden=hidden)
    _add_deliveries(store, hidden=hidden)
    if hidden:
        _hide_more(store, repositories)
    add_key(store, key)
    app = create_app(settings, store, embedder, lambda _: _indexer(store))
    commits = {
        f"{name}/{branch}": folder.git("rev-parse", branch)
        for name, folder in repositories.items()
        for branch in (("main",) if name == "site" else ("main", "dev"))
    }
    try:
        yield World(store, app.test_client(), settings, commits)
    finally:
        store.close()


def _indexer(store: Store) -> Indexer:
    return Waiting(store)


def _job(number: int, repo: str, **fields: Any) -> Job:
    text = f"{repo} {number}".encode().hex()[:32].ljust(32, "0")
    return replace(Job(text, repo, fields.pop("ref", ""), fields.pop("state", "queued"), WHEN, WHEN), **fields)


def _add_jobs(store: Store, *, hidden: bool) -> None:
    """Store jobs of each state; errors of visible jobs mention hidden files in the world that has them."""
    detail = "secret/keys.py: xylophone" if hidden else "README.md"
    count = 12 if hidden else 7
    jobs = [
        _job(1, "core", ref="dev"),
        _job(2, "core", state="failed", error=f"can't read {detail}", failures=(detail,), files_total=count, phase="x"),
        _job(3, "site", state="done", commit="a" * 40, files_done=1, files_total=1, chunks_done=1, phase="published"),
        _job(4, "core", state="running", files_done=count, files_total=count, percent=50, phase="writing", holder="h"),
        _job(5, "team-new"),
    ]
    if hidden:
        jobs += [_job(6, "vault", ref="zanzibar-branch"), _job(7, "vault", state="failed", error="zanzibar")]
    ids = ids_by_name(store)
    for job in jobs:
        store.write_document(JOB_PREFIX + job.id, asdict(replace(job, repo_id=ids[job.repo])), None)


def _add_deliveries(store: Store, *, hidden: bool) -> None:
    deliveries = [Delivery("github", "1", WHEN, "push", "accepted", "site", "refs/heads/main")]
    if hidden:
        deliveries += [
            Delivery("github", "2", WHEN, "push", "accepted", "vault", "refs/heads/zanzibar"),
            Delivery("github", "3", WHEN, "push", "ignored", "core", reason="secret/keys.py"),
            Delivery("github", "4", WHEN, "push", "ignored", reason="the repository vault is not in the index"),
        ]
    ids = ids_by_name(store)
    for delivery in deliveries:
        put_document(store, delivery.key, asdict(replace(delivery, repo_id=ids.get(delivery.repo, ""))))


def _hide_more(store: Store, repositories: Mapping[str, Any]) -> None:
    """Add more hidden content: an import, an open transaction, and a commit that starts like a visible commit."""
    save_repository(store, Repository("vault-new", "https://git.example/zanzibar/new", "main"))
    save_progress(store, Progress("vault-new", "indexing", "e" * 40, 1, 3, 0, WHEN, WHEN))
    head = read_head(store)
    timeline = head.defaults["vault"]
    look_alike = repositories["core"].git("rev-parse", "main")[:12] + "0" * 28
    (record,) = [item for item in published_transactions(store, head, timeline) if item.commit]
    put_document(store, record.key, asdict(replace(record, commit=look_alike)))
    state = replace(head.timelines[timeline], commit=look_alike)
    change_head(store, lambda now: (replace(now, timelines={**now.timelines, timeline: state}), None))
    change_head(store, lambda now: begin(now, timeline, "somebody"))


def make_key() -> tuple[ApiKey, str]:
    """Return the key that both worlds know: it has every scope, and sees everything that is not hidden."""
    return new_key("limited", ["search", "index", "admin"], GRANTS)


_OF_ONE_ANSWER = frozenset(
    {"request_id", "took_ms", "job_id", "indexed_at", "head_seen_at", "created_at", "updated_at"}
)
_HEADERS_OF_ONE = frozenset({"x-request-id", "date", "content-length"})
_JOB_ID = re.compile(r"(?<![0-9a-f])[0-9a-f]{32}(?![0-9a-f])")


def ask(world: World, token: str | None, method: str, path: str, body: Any = None) -> Reply:
    """Send a request and return the comparable parts of the answer."""
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    response = world.client.open(path, method=method, json=body, headers=headers)
    text = response.get_data(as_text=True)
    parsed = json.loads(text) if "json" in response.mimetype else text
    cursor = parsed.get("next_cursor") if isinstance(parsed, dict) else None
    kept = {name: value for name, value in response.headers.items() if name.lower() not in _HEADERS_OF_ONE}
    if "Location" in kept:
        kept["Location"] = _JOB_ID.sub("JOB", kept["Location"])
    return Reply(response.status_code, kept, comparable(parsed), f"{response.headers}{text}", cursor)


def comparable(value: Any, name: str = "") -> Any:
    """Return a body without values that differ in every answer, with floats rounded to what arithmetic keeps."""
    if name in _OF_ONE_ANSWER and value is not None:
        return name
    if name == "next_cursor" and value is not None:
        return len(value)
    if isinstance(value, dict):
        return {key: comparable(item, key) for key, item in value.items()}
    if isinstance(value, list):
        return [comparable(item) for item in value]
    return round(value, 5) if isinstance(value, float) else value
