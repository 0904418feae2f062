"""Index ten repositories with four worker processes while every part of the system fails, one after the other.

The service, two workers with two processes each, and beat run over a real OpenSearch, a real Redis-compatible server
without persistence, and our embedding server. The repositories are added over HTTP. Then, at random moments, worker
processes that hold a task are killed (SIGKILL), the queue is restarted empty, OpenSearch is restarted, and the
embedding server is interrupted, while a client searches continuously. At the end every job must have ended, failed jobs
are retried, and `codequarry fsck` of every repository must be clean. Searches may fail only while OpenSearch is
stopped, and then only with 503 within two seconds.

    python -m bench.acceptance.storm --repos ~/clones --only symfony/symfony typeorm/typeorm jhy/jsoup
"""

import argparse
import http.client
import json
import os
import random
import signal
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Callable, Collection
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from bench.acceptance.corpus import scratch_folder
from bench.acceptance.installation import Installation, free_port
from bench.acceptance.machines import Api, Machines, codequarry
from bench.acceptance.questions import load
from bench.acceptance.report import print_json, print_table, progress
from bench.acceptance.repositories import find_clone, pinned
from codequarry.ingest.transaction.holder import has_ended
from codequarry.shared.data_folder import private_folder
from codequarry.shared.jobs.job import Job

KILLS, QUEUE_STOPS, STORE_STOPS, MODEL_STOPS = 20, 3, 2, 2
DOWN_SECONDS = 8.0
# The longest wait that clients are promised while the engine is down.
PROMISED_SECONDS = 2.0
SEARCH_PAUSE = 0.1
LAST_SECONDS = 3600.0


@dataclass
class Searches:
    """Every search: its start, its status and its duration."""

    seen: list[tuple[float, str, float]] = field(default_factory=list)
    store_down: list[tuple[float, float]] = field(default_factory=list)

    def verdict(self) -> dict[str, Any]:
        """Return the figures to compare with the promise."""
        outside = [search for search in self.seen if not self._is_down(search)]
        inside = [search for search in self.seen if self._is_down(search)]
        refused = [search for search in inside if search[1] != "200"]
        return {
            "searches": len(self.seen),
            "failed outside": sum(status != "200" for _, status, _ in outside),
            "during stops": dict(Counter(status for _, status, _ in inside)),
            "other than 503": sum(status != "503" for _, status, _ in refused),
            "slowest refusal s": max((took for _, _, took in refused), default=0.0),
        }

    def _is_down(self, search: tuple[float, str, float]) -> bool:
        began, _, took = search
        return any(began + took >= start and began <= end for start, end in self.store_down)


def search_all_the_time(port: int, texts: list[str], searches: Searches, done: threading.Event) -> None:
    """Search in a loop, over a new connection each time."""
    while not done.wait(SEARCH_PAUSE):
        began, clock = time.monotonic(), time.perf_counter()
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        try:
            body = json.dumps({"query": random.choice(texts)})
            connection.request("POST", "/search-code", body, {"Content-Type": "application/json"})
            response = connection.getresponse()
            response.read()
            status = str(response.status)
        except (OSError, http.client.HTTPException) as error:
            status = type(error).__name__
        finally:
            connection.close()
        searches.seen.append((began, status, time.perf_counter() - clock))


def kill_a_worker(installation: Installation, chance: random.Random) -> bool:
    """Kill a process that holds a job or a batch; return False if there is none."""
    with installation.open_store() as store:
        jobs = [Job.from_json(document.body) for document in store.list_documents("job:")]
        batches = [dict(document.body) for document in store.list_documents("batch:")]
    holders = [job.holder for job in jobs if job.state == "running"]
    # If no job runs, a claimed batch is no longer anybody's work.
    holders += [
        str(batch["claimant"]) for batch in batches if holders and batch.get("claimant") and not batch.get("written")
    ]
    # The pid of a process that is gone may have been reused.
    pids = [int(holder.split(" ")[2]) for holder in holders if holder.count(" ") == 4 and not has_ended(holder)]
    if not pids:
        return False
    with suppress(ProcessLookupError):
        os.kill(chance.choice(pids), signal.SIGKILL)
        return True
    return False


def storm(
    machines: Machines, api: Api, searches: Searches, options: argparse.Namespace, dead: list[dict[str, Any]]
) -> dict[str, int]:
    """Fail every part in random order while there is work, and return the number of each failure."""
    chance = random.Random(options.seed)
    events = ["kill"] * options.kills + ["queue"] * QUEUE_STOPS + ["store"] * STORE_STOPS + ["model"] * MODEL_STOPS
    chance.shuffle(events)
    done: Counter[str] = Counter()
    for event in events:
        time.sleep(chance.uniform(1, options.pause))
        machines.restart_lost()
        if event == "kill":
            deadline = time.monotonic() + 120
            while time.monotonic() < deadline:
                with suppress(Exception):
                    if kill_a_worker(machines.installation, chance):
                        done["kill"] += 1
                        break
                    # After all jobs have ended no process is at work. Retried failures give the workers new work.
                    retry_failed(api, dead)
                time.sleep(0.2)
        else:
            began = time.monotonic()
            machines.stop(event)
            time.sleep(DOWN_SECONDS)
            machines.start(event)
            if event == "store":
                _until_ready(api)
                searches.store_down.append((began, time.monotonic()))
            done[event] += 1
        progress(f"{event} ({dict(done)}), {_states(api)}")
    return dict(done)


def _until_ready(api: Api) -> None:
    deadline = time.monotonic() + 180
    while time.monotonic() < deadline:
        with suppress(OSError):
            api.ask("GET", "/readyz")
            return
        time.sleep(0.2)


def _states(api: Api) -> str:
    with suppress(OSError):
        return str(dict(Counter(job["state"] for job in api.ask("GET", "/jobs?limit=200")["jobs"])))
    return "the service did not answer"


def retry_failed(api: Api, dead: list[dict[str, Any]], spent: Collection[str] = ()) -> list[dict[str, Any]]:
    """Retry failed jobs, except ``spent`` ones, add them to ``dead``, and return the jobs that have not ended."""
    jobs = api.patiently("GET", "/jobs?limit=200")["jobs"]
    for job in jobs:
        if job["state"] == "failed" and job["job_id"] not in spent:
            dead.append(dict(job))
            job["state"] = api.patiently("POST", f"/jobs/{job['job_id']}/retry")["state"]
    return [job for job in jobs if job["state"] in ("queued", "running")]


def await_jobs(machines: Machines, api: Api, dead: list[dict[str, Any]]) -> None:
    """Wait until every job has ended; a job that fails is retried once."""
    deadline, spent = time.monotonic() + LAST_SECONDS, set[str]()
    while time.monotonic() < deadline:
        machines.restart_lost()
        known = len(dead)
        if not retry_failed(api, dead, spent):
            return
        spent.update(job["job_id"] for job in dead[known:])
        time.sleep(1)
    raise SystemExit(f"jobs have not ended in time: {_states(api)}")


def check(installation: Installation, names: list[str]) -> list[dict[str, Any]]:
    """Compare every repository with git."""
    rows = []
    for name in names:
        process = subprocess.run([*codequarry(), "fsck", name, "--json"], env=installation.variables,
                                 capture_output=True, text=True, check=False)  # fmt: skip
        report = json.loads(process.stdout) if process.stdout else {"error": process.stderr.strip()}
        rows.append({"repo": name, "clean": process.returncode == 0, "files": report.get("files", 0),
                     "said": report.get("error") or ""})  # fmt: skip
    return rows


def measure(scratch: Path, options: argparse.Namespace) -> dict[str, Any]:
    """Start everything, run the storm, and return the figures."""
    ports = {name: free_port() for name in ("store", "queue", "model", "service")}
    origins = scratch / "origins"
    origins.mkdir(exist_ok=True)
    installation = Installation(scratch / "home", "opensearch", f"http://127.0.0.1:{ports['store']}")
    installation = replace(installation, extra=_settings(ports, origins, options.repos.resolve()))
    private_folder(installation.home)
    machines, api, searches = Machines(installation, ports), Api(ports["service"]), Searches()
    texts = [question.text for questionnaire in load() for question in questionnaire.questions]
    done = threading.Event()
    with ExitStack() as stack:
        stack.callback(machines.stop_all)
        for name in ("store", "queue", "model", "service", "worker-1", "worker-2", "beat"):
            machines.start(name)
        _until_ready(api)
        names = []
        for name in options.only or [questionnaire.repo for questionnaire in load()]:
            clone = find_clone(options.repos, name)
            api.patiently("POST", "/repos", {"origin": str(pinned(clone, origins)), "name": clone.short_name})
            names.append(clone.short_name)
        client = threading.Thread(target=search_all_the_time, args=(ports["service"], texts, searches, done))
        client.start()
        stack.callback(_ended(client, done))
        began = time.monotonic()
        dead: list[dict[str, Any]] = []
        happened = storm(machines, api, searches, options, dead)
        await_jobs(machines, api, dead)
        seconds = time.monotonic() - began
        done.set()
        client.join()
        repositories = check(installation, names)
    return {
        "seconds": seconds,
        "happened": happened,
        "dead letters": [{"repo": job["repo"], "error": job["error"]} for job in dead],
        "searches": searches.verdict(),
        "repositories": repositories,
    }


def _ended(client: threading.Thread, done: threading.Event) -> Callable[[], None]:
    def end() -> None:
        done.set()
        client.join()

    return end


def _settings(ports: dict[str, int], origins: Path, clones: Path) -> dict[str, str]:
    return {
        "CODEQUARRY_QUEUE__URL": f"redis://127.0.0.1:{ports['queue']}/0",
        "CODEQUARRY_EMBEDDING__MODEL": "words",
        "CODEQUARRY_EMBEDDING__BASE_URL": f"http://127.0.0.1:{ports['model']}/v1",
        "CODEQUARRY_EMBEDDING__DIMENSIONS": "128",
        "CODEQUARRY_EMBEDDING__MAX_RETRIES": "2",
        "CODEQUARRY_INDEXING__LEASE_SECONDS": "5",
        # The origins borrow the objects of the clones through alternates.
        "CODEQUARRY_API__LOCAL_ROOTS": json.dumps([str(origins.resolve()), str(clones)]),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repos", type=Path, required=True, metavar="FOLDER", help="clones: owner+name or name")
    parser.add_argument("--only", nargs="+", default=[], metavar="OWNER/NAME", help="instead of bench/questions")
    parser.add_argument("--kills", type=int, default=KILLS, help=f"number of kills ({KILLS})")
    parser.add_argument("--pause", type=float, default=8.0, help="longest seconds between two events (8)")
    parser.add_argument("--seed", type=int, default=1, help="seed of every random choice (1)")
    parser.add_argument("--scratch", type=Path, metavar="FOLDER", help="keep all data here")
    parser.add_argument("--json", action="store_true", help="print one JSON document instead of tables")
    options = parser.parse_args()
    with scratch_folder(options.scratch) as scratch:
        figures = measure(scratch, options)
    if options.json:
        print_json(figures)
        return
    rows = figures.pop("repositories")
    print_table("repositories", list(rows[0]), [list(row.values()) for row in rows])
    for name, value in figures.items():
        progress(f"{name}: {value}")


if __name__ == "__main__":
    main()
