"""Measure how soon a run ends in each of its phases after Ctrl-C, SIGTERM or the cancelling of its job.

Every phase would last long: an origin that does not answer, ten billion paths, nine thousand patterns for a million
paths, files that parse slowly, a model that computes, an embeddings server that does not answer, a large purge. Each is
entered by `codequarry index` (or the phase's own command) and by a job of `codequarry serve`, and ended after a pause.
The seconds count from the signal to the end of the process, or from the cancelling to the end of the job.

    python -m bench.stopping
    python -m bench.stopping --phases embedding-server purging --pause 2
"""

import argparse
import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from bench.acceptance.report import print_table
from tests.gate import hostile

CODEQUARRY = (sys.executable, "-m", "codequarry.cli.main")
ADDRESS = re.compile(r"http://127\.0\.0\.1:[1-9]\d*")
# From the first sign of a phase to the stop.
PAUSE_SECONDS = 1.5
BEGIN_SECONDS = 300
MOST_SECONDS = 120
LARGE_FILES = 8_000
# Allow requests to servers on this machine.
NEAR = ('git.allowed_schemes=["http"]', 'git.private_networks=["127.0.0.0/8"]')
PATIENT = "indexing.max_paths=100000000000"


@dataclass(frozen=True, slots=True)
class Phase:
    """A command and a job that stay in a phase; progress contains ``shows`` then, ``before`` runs first."""

    name: str
    origin: str
    settings: tuple[str, ...] = ()
    shows: str = "fetching"
    before: tuple[tuple[str, ...], ...] = ()
    command: tuple[str, ...] = ()
    pause: float = 0.0


def silent_server() -> int:
    """Accept connections without ever answering; return the port."""
    listening = socket.create_server(("127.0.0.1", 0), backlog=64)
    kept = []

    def accept() -> None:
        while True:
            kept.append(listening.accept())

    threading.Thread(target=accept, daemon=True).start()
    return int(listening.getsockname()[1])


def large(folder: Path, files: int = LARGE_FILES) -> str:
    """Make a repository of many different functions and return its path."""
    folder.mkdir(parents=True)
    for number in range(files):
        body = "".join(f"def f{number}_{at}(value):\n    return value * {number} + {at}\n\n\n" for at in range(12))
        path = folder / f"p{number % 50}" / f"m{number}.py"
        path.parent.mkdir(exist_ok=True)
        path.write_text(body)
    return committed(folder)


def slow_to_parse(folder: Path) -> str:
    """Make a repository of files that parse slowly and return its path."""
    folder.mkdir(parents=True)
    for number in range(200):
        (folder / f"deep{number}.cpp").write_text(f"// {number}\n" + "a<(\n" * 60_000)
    return committed(folder)


def committed(folder: Path) -> str:
    """Commit a folder and return its path."""
    for command in (["init", "-q"], ["add", "."], ["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "a"]):
        subprocess.run(["git", *command], cwd=folder, check=True)
    return str(folder)


def phases(scratch: Path, model: str) -> Iterator[Phase]:
    """Yield the phases; what a phase needs is made when it is requested."""
    port = silent_server()
    yield Phase("fetching", f"http://127.0.0.1:{port}/a.git", NEAR)
    yield Phase("listing", str(hostile.path_bomb(scratch / "paths.git").folder), (PATIENT,), "scanning")
    rules = hostile.endless_patterns(scratch / "rules.git", 9_000, levels=6)
    yield Phase("ignore rules", str(rules.folder), (), "scanning")
    yield Phase("parsing", slow_to_parse(scratch / "slow"), ("scan.skip_minified=false",), "indexing")
    origin = large(scratch / "large")
    yield Phase("writing", origin, (), "indexing")
    if model:
        yield Phase(
            "model", origin, (f"embedding.model={model}",), "indexing", (("models", "install", model),), pause=4
        )
    server = (f"embedding.base_url=http://127.0.0.1:{port}/v1", "embedding.model=silent", "embedding.dimensions=64")
    yield Phase("embeddings server", origin, server, "indexing")
    index = (("index", origin),)
    yield Phase("purging", origin, (), "", index, ("repos", "rm", "large", "--yes"))


class Runs:
    """Commands and services, each with a new data folder."""

    def __init__(self, scratch: Path, pause: float) -> None:
        self._scratch, self._pause, self._count = scratch, pause, 0

    def home(self, phase: Phase) -> Path:
        """Make a data folder and run the phase's preparing commands."""
        self._count += 1
        home = self._scratch / f"home{self._count}"
        for command in phase.before:
            subprocess.run([*CODEQUARRY, *command], env=self._environment(home), check=True, stderr=subprocess.DEVNULL)
        return home

    def _environment(self, home: Path) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith("CODEQUARRY_")}
        return kept | {"CODEQUARRY_HOME": str(home), "HOME": str(self._scratch)}

    def _command(self, phase: Phase, *arguments: str) -> list[str]:
        options = [part for setting in phase.settings for part in ("--set", setting)]
        return [*CODEQUARRY, *options, *arguments]

    def signalled(self, phase: Phase, number: signal.Signals) -> str:
        """Return how long a command took to end after a signal."""
        home = self.home(phase)
        command = self._command(phase, *(phase.command or ("index", phase.origin)))
        with subprocess.Popen(
            command, env=self._environment(home), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
        ) as process:
            assert process.stderr
            for line in process.stderr if phase.shows else ():
                if phase.shows in line:
                    break
            threading.Thread(target=lambda: [None for _ in process.stderr or ()], daemon=True).start()
            time.sleep(self._pause + phase.pause)
            return ended_in(process, number)

    @contextmanager
    def _served(self, phase: Phase) -> Iterator[tuple[subprocess.Popen[str], str]]:
        roots = f"api.local_roots={self._scratch}"
        command = self._command(phase, "--set", roots, "serve", "--trust-loopback", "--port", "0")
        process = subprocess.Popen(
            command,
            env=self._environment(self.home(phase)),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        try:
            assert process.stderr
            found = next(match for line in process.stderr if (match := ADDRESS.search(line)))
            threading.Thread(target=lambda: [None for _ in process.stderr or ()], daemon=True).start()
            yield process, found.group()
        finally:
            process.kill()
            process.wait()

    def _begun(self, phase: Phase, address: str) -> str:
        """Submit a job and return its id when it is in the phase."""
        if phase.command[:2] == ("repos", "rm"):
            job = ask(address, f"/repos/{phase.command[2]}", method="DELETE")["job_id"]
        else:
            job = ask(address, "/repos", {"origin": phase.origin})["job_id"]
        wanted = phase.shows
        wait_until(lambda: is_in(ask(address, f"/jobs/{job}"), wanted), BEGIN_SECONDS)
        time.sleep(self._pause + phase.pause)
        return str(job)

    def cancelled(self, phase: Phase) -> str:
        """Return how long a job of the service took to end after it was cancelled."""
        with self._served(phase) as (_, address):
            job = self._begun(phase, address)
            before = ask(address, f"/jobs/{job}")["state"]
            if before != "running":
                return f"was {before}"
            asked = time.monotonic()
            ask(address, f"/jobs/{job}/cancel", {})
            states = ("queued", "cancelled", "done", "failed")
            try:
                wait_until(lambda: ask(address, f"/jobs/{job}")["state"] in states, MOST_SECONDS)
            except TimeoutError:
                return f"over {MOST_SECONDS} s"
            return f"{time.monotonic() - asked:.2f} s"

    def service_ended(self, phase: Phase) -> str:
        """Return how long a service with a running job took to end."""
        with self._served(phase) as (process, address):
            self._begun(phase, address)
            return ended_in(process, signal.SIGTERM)


def ended_in(process: subprocess.Popen[str], number: signal.Signals) -> str:
    """Send a signal and return how long the process lived after it."""
    if process.poll() is not None:
        return "was over"
    told = time.monotonic()
    process.send_signal(number)
    try:
        process.wait(MOST_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        return f"over {MOST_SECONDS} s"
    return f"{time.monotonic() - told:.2f} s"


def ask(address: str, path: str, body: object = None, method: str = "") -> dict[str, object]:
    """Send a request and return the body of its answer."""
    data = None if body is None else json.dumps(body).encode()
    headers = {"Content-Type": "application/json"} if data else {}
    request = urllib.request.Request(address + path, data, headers, method=method or None)
    with urllib.request.urlopen(request, timeout=30) as response:
        answer: dict[str, object] = json.loads(response.read())
    return answer


def is_in(job: dict[str, object], phase: str) -> bool:
    """Return whether a job has left the queue and is in a phase or has ended."""
    progress = job["progress"]
    shown = str(progress["phase"]) if isinstance(progress, dict) else ""
    return job["state"] != "queued" and (not phase or phase in shown or job["state"] != "running")


def wait_until(is_so: Callable[[], bool], seconds: float) -> None:
    """Wait for a condition; raises TimeoutError if it does not hold in time."""
    deadline = time.monotonic() + seconds
    while not is_so():
        if time.monotonic() > deadline:
            raise TimeoutError
        time.sleep(0.05)


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure each phase and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--phases", nargs="+", help="only these phases")
    parser.add_argument("--pause", type=float, default=PAUSE_SECONDS, help="seconds in a phase before the stop")
    parser.add_argument("--model", default="", help="an installed or downloadable neural model, such as minilm")
    parser.add_argument("--ways", nargs="+", default=["ctrl-c", "sigterm", "cancel", "service"])
    given = parser.parse_args(arguments)
    rows = []
    with tempfile.TemporaryDirectory(prefix="stopping-") as folder:
        runs = Runs(Path(folder), given.pause)
        ways: dict[str, Callable[[Phase], str]] = {
            "ctrl-c": lambda phase: runs.signalled(phase, signal.SIGINT),
            "sigterm": lambda phase: runs.signalled(phase, signal.SIGTERM),
            "cancel": runs.cancelled,
            "service": runs.service_ended,
        }
        for phase in phases(Path(folder), given.model):
            if given.phases and phase.name not in given.phases:
                continue
            row = [phase.name]
            for way in given.ways:
                with suppress(KeyboardInterrupt):
                    row.append(ways[way](phase))
            sys.stderr.write("  ".join(row) + "\n")
            rows.append(row)
    print_table("Seconds from the request to stop to the end", ["phase", *given.ways], rows)


if __name__ == "__main__":
    main()
