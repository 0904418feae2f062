"""Times the deletion of many branches, and how long runs on another repository take meanwhile.

    python -m bench.dropped_branches [--branches 300] [--files 500] [--opensearch URL]

Makes a repository with many branches of one changed file each, indexes all of them, deletes them from the origin, and
times the run that notices. Then it lets their commits expire, and times the run that deletes their rows. During both,
another process indexes commits of another repository; their worst time is compared with the worst before.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from codequarry.ingest.run.pipeline import IndexRequest, Workshop, index_repository
from codequarry.shared.catalog.ledger import read_head
from codequarry.shared.embedding.factory import open_embedder
from codequarry.shared.settings.config import SettingsModel
from codequarry.shared.store.factory import open_store
from codequarry.shared.versions.refs import Ref

OTHER_FILES = 50


def git(folder: Path, *arguments: str, data: str | None = None) -> str:
    """Run git in a folder and return its output."""
    command = ["git", "-C", str(folder), "-c", "user.name=a", "-c", "user.email=a@example.org", *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True, input=data).stdout


def make_repository(folder: Path, files: int) -> None:
    """Make a repository with small Python files."""
    folder.mkdir(parents=True)
    git(folder, "init", "--quiet", "--initial-branch=main")
    for number in range(files):
        path = folder / f"src/p{number % 20}/f{number}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"def function_{number}(value):\n    return value + {number}\n")
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--message", "first")


def make_branches(folder: Path, branches: int) -> None:
    """Make branches that each change one file."""
    tip = git(folder, "rev-parse", "main").strip()
    commands = []
    for number in range(branches):
        text = f"def changed_{number}(value):\n    return value * {number}\n"
        commands.append(
            f"commit refs/heads/topic{number}\ncommitter a <a@example.org> 1700000000 +0000\ndata 1\nx\nfrom {tip}\n"
            f"M 100644 inline src/p0/f0.py\ndata {len(text)}\n{text}\n"
        )
    git(folder, "fast-import", "--quiet", data="".join(commands))


@contextmanager
def opened(home: Path, opensearch: str | None) -> Iterator[Workshop]:
    """Open the index in this process."""
    own = {"opensearch": {"urls": [opensearch]}, "store": "opensearch"} if opensearch else {}
    settings = SettingsModel(home=home, indexing={"processes": 0}, **own)
    embedder = open_embedder(settings.embedding, home / "models")
    with closing(open_store(settings, embedder.dimension)) as store:
        yield Workshop(store, embedder, settings)


def timelines_left(home: Path, opensearch: str | None) -> int:
    """Return the number of timelines in the index; two default branches should be left."""
    with opened(home, opensearch) as workshop:
        return len(read_head(workshop.store).timelines)


def index_branches(origin: str, branches: int, home: Path, opensearch: str | None) -> float:
    """Index all branches in this process, and return the seconds that they took."""
    with opened(home, opensearch) as workshop:
        started = time.monotonic()
        for number in range(branches):
            index_repository(IndexRequest(origin, Ref("branch", f"topic{number}")), workshop)
        return time.monotonic() - started


class Command:
    """Runs the command line with one data folder, and times it."""

    def __init__(self, home: Path, opensearch: str | None) -> None:
        self._environment = {"CODEQUARRY_HOME": str(home), "PATH": "/usr/bin:/bin"}
        self._environment["CODEQUARRY_RETENTION__GRACE_SECONDS"] = "0"
        if opensearch:
            self._environment |= {"CODEQUARRY_STORE": "opensearch", "CODEQUARRY_OPENSEARCH__URLS": opensearch}

    def __call__(self, *arguments: str, **environment: str) -> float:
        """Run a command and return its seconds."""
        started = time.monotonic()
        command = [str(Path(sys.executable).parent / "codequarry"), *arguments]
        subprocess.run(command, check=True, capture_output=True, env={**self._environment, **environment})
        return time.monotonic() - started


def times_meanwhile(act: Callable[[], float], other: Callable[[], float]) -> tuple[float, float]:
    """Return the seconds of an action, and the worst seconds of another action that is repeated meanwhile."""
    took: list[float] = []
    thread = threading.Thread(target=lambda: took.append(act()))
    thread.start()
    worst = 0.0
    while thread.is_alive():
        worst = max(worst, other())
    thread.join()
    return took[0], worst


def main() -> None:
    """Print the times as JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--branches", type=int, default=300)
    parser.add_argument("--files", type=int, default=500)
    parser.add_argument("--opensearch", help="URL of an empty OpenSearch node; without it the embedded store is used")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        place = Path(scratch)
        one, other = place / "one", place / "other"
        make_repository(one, options.files)
        make_repository(other, OTHER_FILES)
        make_branches(one, options.branches)
        run = Command(place / "home", options.opensearch)

        def change_other() -> float:
            (other / "src/p0/f0.py").write_text(f"def function_0():\n    return {time.monotonic()}\n")
            git(other, "commit", "--all", "--quiet", "--message", "x")
            return run("index", str(other))

        run("index", str(one))
        run("index", str(other))
        indexed = index_branches(str(one), options.branches, place / "home", options.opensearch)
        alone = max(change_other() for _ in range(5))
        git(
            one, "update-ref", "--stdin", data="".join(f"delete refs/heads/topic{n}\n" for n in range(options.branches))
        )
        ended, during_end = times_meanwhile(lambda: run("index", str(one)), change_other)
        expired, during_expiry = times_meanwhile(
            lambda: run("index", str(one), CODEQUARRY_RETENTION__KEEP_DAYS="0"), change_other
        )
        after = run("index", str(one))
        figures = {
            "timelines_left": timelines_left(place / "home", options.opensearch),
            "branches": options.branches,
            "index_one_branch_s": indexed / options.branches,
            "run_that_notices_the_deletions_s": ended,
            "run_that_lets_them_expire_s": expired,
            "run_after_s": after,
            "other_repository_alone_worst_s": alone,
            "other_repository_during_deletion_worst_s": during_end,
            "other_repository_during_expiry_worst_s": during_expiry,
        }
    print(json.dumps({name: round(value, 2) for name, value in figures.items()}, indent=2))


if __name__ == "__main__":
    main()
