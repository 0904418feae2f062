"""The command line and the service as processes, for tests with hostile repositories and servers."""

import json
import os
import re
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

# The machines are noisy. These bounds only tell seconds from hours, and megabytes from all memory.
MOST_SECONDS = 90
MOST_MEGABYTES = 600
# A stop takes effect within two seconds, with a margin for a busy machine. Without it, the work takes minutes.
STOP_SECONDS = 10.0
ADDRESS = re.compile(r"http://127\.0\.0\.1:[1-9]\d*")
CODEQUARRY = (sys.executable, "-m", "codequarry.cli.main")
# Runs a command and prints the largest memory of any process below it, in kilobytes.
MEASURED = (
    "import resource, subprocess, sys\n"
    "code = subprocess.run(sys.argv[1:]).returncode\n"
    "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)\n"
    "sys.exit(code)\n"
)


@dataclass(frozen=True, slots=True)
class Outcome:
    """The exit code of a command, its output and its memory."""

    code: int
    said: str
    megabytes: float


def environment(home: Path) -> dict[str, str]:
    """Return the environment of a user with a separate data folder."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("CODEQUARRY_", "GIT_"))}
    return kept | {"CODEQUARRY_HOME": str(home), "HOME": str(home.parent)}


def run(home: Path, *arguments: str) -> Outcome:
    """Run the command line; raises TimeoutExpired if it takes too long."""
    command = [sys.executable, "-c", MEASURED, *CODEQUARRY, *arguments]
    done = subprocess.run(
        command, env=environment(home), cwd=home.parent, capture_output=True, text=True, timeout=MOST_SECONDS
    )
    *out, kilobytes = done.stdout.splitlines()
    return Outcome(done.returncode, "\n".join([*out, done.stderr]), int(kilobytes) / 1024)


@contextmanager
def served(home: Path, *settings: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Run the service and yield its process and address."""
    chosen = [part for setting in (f"api.local_roots={home.parent}", *settings) for part in ("--set", setting)]
    process = subprocess.Popen(
        [*CODEQUARRY, *chosen, "serve", "--trust-loopback", "--port", "0"],
        env=environment(home),
        cwd=home.parent,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stderr
        found = next(match for line in process.stderr if (match := ADDRESS.search(line)))
        yield process, found.group()
    finally:
        process.kill()
        process.communicate()


def ask(address: str, path: str, body: object = None) -> dict[str, object]:
    """Send a request and return the body of its answer."""
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(address + path, data, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=30) as response:
        answer: dict[str, object] = json.loads(response.read())
    return answer


def wait_until(is_so: Callable[[], bool], seconds: float = 30, told: Callable[[], object] = lambda: "") -> None:
    """Wait for a condition; the test fails if it does not hold in time."""
    deadline = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < deadline, told()
        time.sleep(0.05)
