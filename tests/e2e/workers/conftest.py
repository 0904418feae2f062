"""Workers as an operator runs them: processes over one index, woken by a real queue."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import pytest

from codequarry.ingest.request.index_request import Workshop
from codequarry.search_api.jobs.dispatch import QueueIndexer
from codequarry.search_api.search.backend import Backend
from codequarry.shared.embedding.port import Embedder
from codequarry.shared.index.opened_index import open_index
from codequarry.shared.jobs.job import Job, JobRequest
from codequarry.shared.jobs.job_list import list_jobs, read_job
from codequarry.shared.settings.config import SettingsModel
from codequarry.shared.settings.sources import variable_of
from codequarry.shared.store.factory import editions_of
from codequarry.shared.store.port import Store

# A hanging process fails its test instead of the whole run.
TIMEOUT_SECONDS = 90


class Crew:
    """An index, the service's way to submit jobs, and the processes that run them."""

    def __init__(self, folder: Path, url: str, embedder: Embedder, settings: Mapping[str, object]) -> None:
        self.folder = folder
        self._variables = {
            "home": folder / "home",
            "queue.url": url,
            "indexing.processes": 1,
            "indexing.grace_seconds": 0,
            "indexing.lease_seconds": 3,
        } | dict(settings)
        tables: dict[str, dict[str, object]] = {}
        for key, value in self._variables.items():
            table, _, name = key.partition(".")
            if name:
                tables.setdefault(table, {})[name] = value
        plain = {key: value for key, value in self._variables.items() if "." not in key}
        self.settings = SettingsModel.model_validate(plain | tables)
        self.embedder = embedder
        editions = editions_of(self.settings)
        self._index = open_index(self.settings, editions)
        editions.close()
        self.store: Store = self._index.store
        self.indexer = QueueIndexer(Backend(self.settings, self.store, embedder))
        self.processes: list[subprocess.Popen[bytes]] = []

    @property
    def workshop(self) -> Workshop:
        """The workshop of the test itself."""
        return Workshop(self.store, self.embedder, self.settings)

    def start(self, *arguments: object, **variables: object) -> subprocess.Popen[bytes]:
        """Start a command in a new process group; keywords are settings, with two underscores for the dot."""
        named = {key.replace("__", "."): value for key, value in variables.items()}
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("CODEQUARRY_", "GIT_"))}
        own = {variable_of(key): _text(value) for key, value in (self._variables | named).items()}
        with open(self.folder / f"log-{len(self.processes)}", "wb") as log:
            process = subprocess.Popen(
                [sys.executable, "-m", "codequarry.cli.main", *map(str, arguments)],
                cwd=self.folder,
                env=kept | own | {"HOME": str(self.folder), "GIT_CONFIG_GLOBAL": os.devnull},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        self.processes.append(process)
        return process

    def start_worker(self, **variables: object) -> subprocess.Popen[bytes]:
        """Start a worker with one process for jobs."""
        return self.start("worker", **variables)

    def own_home(self, at: int) -> dict[str, object]:
        """Return the settings of a worker on a separate machine, as far as the store allows."""
        return {} if self.settings.store == "embedded" else {"home": self.folder / f"home-{at}"}

    def start_beat(self) -> subprocess.Popen[bytes]:
        """Start beat."""
        return self.start("beat")

    def submit(self, request: JobRequest) -> Job:
        """Submit a job as the service does."""
        return self.indexer.submit(request)

    def until(self, what: Callable[[], object], why: str) -> None:
        """Wait for a condition."""
        deadline = time.monotonic() + TIMEOUT_SECONDS
        while not what():
            assert time.monotonic() < deadline, f"{why}; {list_jobs(self.store)}\n{self.logs()}"
            time.sleep(0.05)

    def ended(self, jobs: Sequence[Job]) -> list[Job]:
        """Wait until jobs have ended, and return them."""
        found = list(jobs)

        def have() -> bool:
            found[:] = [read_job(self.store, job.id) or job for job in jobs]
            return all(job.is_finished for job in found)

        self.until(have, "the jobs did not end")
        return found

    def logs(self) -> str:
        """Return the output of all processes."""
        return "\n".join(path.read_text(errors="replace") for path in sorted(self.folder.glob("log-*")))

    def stop(self) -> None:
        """Kill the processes that still run."""
        for process in self.processes:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def _text(value: object) -> str:
    return ",".join(map(str, value)) if isinstance(value, tuple) else str(value)


@pytest.fixture
def make_crew(tmp_path: Path, queue_server, embedder: Embedder) -> Iterator[Callable[..., Crew]]:
    """Yield a function that opens an index with workers; its argument maps keys of settings to values."""
    made: list[Crew] = []

    def make(settings: Mapping[str, object] = {}) -> Crew:
        folder = tmp_path / f"crew-{len(made)}"
        folder.mkdir()
        made.append(Crew(folder, queue_server.url, embedder, settings))
        return made[-1]

    yield make
    for crew in made:
        crew.stop()
        crew.store.close()


@pytest.fixture
def crew(make_crew: Callable[..., Crew]) -> Crew:
    """Return an index with workers."""
    return make_crew()
