"""Measure how long a running process takes to index a commit that changes one file; prints the seconds as JSON.

It runs with the last releases of Codequarry too, so that the Python of another version's virtual environment can run it
(``bench/two_versions.py``):

    .venv/bin/python bench/one_commit.py ~/clones/celery --commits 15
"""

import argparse
import json
import os
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from codequarry.shared.embedding.factory import open_embedder
from codequarry.shared.settings.config import SettingsModel
from codequarry.shared.store.factory import open_store

try:
    from codequarry.ingest.run.pipeline import IndexRequest, Workshop, index_repository
except ModuleNotFoundError:  # its place in older releases
    from codequarry.ingest.pipeline import IndexRequest, Workshop, index_repository

AUTHOR = ("-c", "user.name=Bench", "-c", "user.email=bench@example.org")
FILE = "one_file_that_changes.py"


def git(folder: Path, *arguments: str) -> None:
    """Run git in a clone."""
    subprocess.run(["git", "-C", folder, *arguments], check=True)


def measured(origin: Path, commits: int, scratch: Path) -> Iterator[float]:
    """Index a clone, then yield the seconds that each further commit takes."""
    clone, home = scratch / "clone", scratch / "home"
    git(scratch, "clone", "--quiet", str(origin.resolve()), str(clone))
    home.mkdir(mode=0o700)
    settings = SettingsModel(home=home)
    embedder = open_embedder(settings.embedding, home / "models")
    workshop = Workshop(open_store(settings, embedder.dimension), embedder, settings)
    request = IndexRequest(str(clone))
    index_repository(request, workshop)
    for at in range(commits):
        (clone / FILE).write_text(f"def changed_{at}():\n    return {at}\n")
        git(clone, "add", FILE)
        git(clone, *AUTHOR, "commit", "--quiet", "--message", f"change {at}")
        started = time.perf_counter()
        index_repository(request, workshop)
        yield time.perf_counter() - started


def main() -> None:
    """Measure and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("repository", type=Path)
    parser.add_argument("--commits", type=int, default=15)
    given = parser.parse_args()
    os.umask(0o077)
    with tempfile.TemporaryDirectory() as scratch:
        print(json.dumps(list(measured(given.repository, given.commits, Path(scratch)))))


if __name__ == "__main__":
    main()
