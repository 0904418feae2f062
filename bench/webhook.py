"""Measure how soon a push is searchable: from its delivery to a search of the commit, through a real service.

Clones a repository, indexes it, starts `codequarry serve`, and then pushes commits that each change some files. Each
push is signed as GitHub does, and a search waits for it with `min_commit`. All data is in --scratch and is kept.

    python -m bench.webhook ~/clones/pallets+werkzeug --runs 20 --files 5
"""

import argparse
import hmac
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from bench.acceptance.report import print_table

SECRET = "a secret of this measurement"
ADDRESS = re.compile(r"http://127\.0\.0\.1:[1-9]\d*")
ENDINGS = {".py": "#", ".go": "//", ".java": "//", ".js": "//", ".ts": "//", ".rs": "//", ".rb": "#", ".php": "//"}
# Files that a person would edit are neither empty nor generated.
LEAST_BYTES, MOST_BYTES = 200, 50_000
WAIT_MS = 60_000


@dataclass(frozen=True)
class Bench:
    """A clone, and the data folder of its index."""

    clone: Path
    home: Path

    @property
    def environment(self) -> dict[str, str]:
        """The environment of the service and of the command line."""
        own = {"CODEQUARRY_HOME": str(self.home), "CODEQUARRY_WEBHOOKS__GITHUB_SECRETS": SECRET}
        return {name: value for name, value in os.environ.items() if not name.startswith("CODEQUARRY_")} | own

    def git(self, *arguments: str) -> str:
        """Run git in the clone and return its output."""
        account = ("-c", "user.name=Bench", "-c", "user.email=bench@example.org", "-c", "commit.gpgsign=false")
        command = ["git", "-C", str(self.clone), *account, *arguments]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()

    def change(self, paths: list[Path], number: int) -> str:
        """Commit an edit of each file, a comment at its end, and return the commit."""
        for path in paths:
            sign = ENDINGS[path.suffix]
            with path.open("a", errors="surrogateescape") as file:
                file.write(f"\n{sign} change {number} of {path.stem}: a remark that nobody has made before\n")
        self.git("commit", "--quiet", "--all", "--message", f"change {number}")
        return self.git("rev-parse", "HEAD")

    def editable(self) -> list[Path]:
        """Return the source files that are neither tiny nor huge."""
        paths = [self.clone / line for line in self.git("ls-files").splitlines() if Path(line).suffix in ENDINGS]
        return [path for path in paths if not path.is_symlink() and LEAST_BYTES < path.stat().st_size < MOST_BYTES]

    def index(self) -> None:
        """Index the clone with the command line."""
        command = [sys.executable, "-m", "codequarry.cli.main", "index", str(self.clone), "--name", "measured"]
        subprocess.run(command, check=True, env=self.environment)

    @contextmanager
    def served(self) -> Iterator[str]:
        """Run the service and yield its address."""
        command = [sys.executable, "-m", "codequarry.cli.main", "serve", "--port", "0", "--trust-loopback"]
        process = subprocess.Popen(command, env=self.environment, stderr=subprocess.PIPE, text=True)
        assert process.stderr
        try:
            yield next(found.group() for line in process.stderr if (found := ADDRESS.search(line)))
        finally:
            process.terminate()
            process.communicate()


def push(address: str, bench: Bench, commit: str) -> None:
    """Deliver a push event to the service, signed as GitHub does."""
    repository = {"clone_url": str(bench.clone)}
    branch = bench.git("rev-parse", "--abbrev-ref", "HEAD")
    body = json.dumps({"ref": f"refs/heads/{branch}", "after": commit, "repository": repository}).encode()
    signature = hmac.new(SECRET.encode(), body, sha256).hexdigest()
    headers = {"X-GitHub-Event": "push", "X-Hub-Signature-256": f"sha256={signature}"}
    answer = ask(address, "/webhooks/github", body, headers)
    assert answer["result"] == "accepted", answer


def search(address: str, commit: str) -> None:
    """Search until the commit is indexed."""
    body = {"query": "a remark", "filters": {"repo": "measured"}, "min_commit": commit, "wait_ms": WAIT_MS}
    answer = ask(address, "/search-code", json.dumps(body).encode(), {})
    assert answer["freshness"][0]["indexed_commit"] == commit, answer["freshness"]


def ask(address: str, path: str, body: bytes, headers: dict[str, str]) -> dict[str, object]:
    """Send a request and return the body of its answer."""
    request = urllib.request.Request(address + path, body, {"Content-Type": "application/json", **headers})
    with urllib.request.urlopen(request, timeout=2 * WAIT_MS / 1000) as response:
        answer: dict[str, object] = json.load(response)
    return answer


def main() -> None:
    """Print the median and the longest time from a delivery to the search that includes its commit."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("repository", type=Path, help="a clone to index, bare or not")
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--files", type=int, default=5)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--scratch", type=Path, help="keep all data here; a temporary folder if not given")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="codequarry-bench-") as folder:
        measure(asked, asked.scratch or Path(folder))


def measure(asked: argparse.Namespace, scratch: Path) -> None:
    """Clone, index, serve, push and search."""
    bench = Bench(scratch / "clone", scratch / "home")
    if not bench.clone.exists():
        subprocess.run(["git", "clone", "--quiet", str(asked.repository), str(bench.clone)], check=True)
    bench.index()
    chosen, seconds, files = random.Random(asked.seed), [], bench.editable()
    with bench.served() as address:
        search(address, bench.git("rev-parse", "HEAD"))
        for number in range(asked.runs):
            commit = bench.change(chosen.sample(files, asked.files), number)
            began = time.perf_counter()
            push(address, bench, commit)
            search(address, commit)
            seconds.append(time.perf_counter() - began)
    ordered = sorted(seconds)
    row: list[object] = [len(files), asked.runs, f"{ordered[len(ordered) // 2]:.2f}", f"{ordered[-1]:.2f}"]
    load = os.getloadavg()[0]
    title = f"{asked.repository}, {asked.files} changed files, load {load:.1f} at the end"
    print_table(title, ["source files", "pushes", "median s", "worst s"], [row])


if __name__ == "__main__":
    main()
