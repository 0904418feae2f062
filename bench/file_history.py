"""Compares the history of random files with what git says, and measures what reading it costs.

Usage: python -m bench.file_history REPOSITORY... [--files 100] [--seed 1]

For each repository (a folder with git objects), prints the seconds of one pass over all commits, of the log of one file
as in a run for a commit of one file, and every file for which the number of commits or the last commit differs from
``git log --format=%H COMMIT -- PATH``.
"""

import argparse
import os
import random
import subprocess
import sys
import time
from pathlib import Path

from codequarry.ingest.git.file_log import boundary_commits, read_changes, read_changes_with, read_graph
from codequarry.ingest.git.objects import Mirror
from codequarry.ingest.history.touched_files import TouchPass, touched_by
from codequarry.shared.paths import printable

MOST = 1_000_000


def compare(folder: Path, files: int, seed: int) -> int:
    """Print the costs and differences of one repository, and return how many files differ."""
    mirror = Mirror(folder, dict(os.environ))
    tip = _git(folder, "rev-parse", "HEAD").decode().strip()
    listed = _git(folder, "ls-tree", "-r", "-z", "--name-only", tip).rstrip(b"\0").split(b"\0")
    chosen = random.Random(seed).sample(listed, min(files, len(listed)))
    began = time.perf_counter()
    graph = read_graph(mirror, tip, MOST)
    touches = TouchPass(graph, boundary_commits(mirror))
    for commit in read_changes(mirror, tip, MOST):
        touches.add(commit)
    passed = time.perf_counter() - began
    differing = 0
    alone = 0.0
    for path in chosen:
        expected = _git(folder, "--literal-pathspecs", "log", "--format=%H", tip, "--", os.fsdecode(path)).split()
        began = time.perf_counter()
        one = touched_by(read_changes_with(mirror, tip, printable(path), MOST), path, boundary_commits(mirror), MOST)
        alone += time.perf_counter() - began
        for way, found in (("pass", touches.touched(path)), ("log", one)):
            commits = [commit.id.encode() for commit in found.commits] if found else []
            if set(commits) != set(expected) or len(commits) != len(expected) or commits[:1] != expected[:1]:
                differing += 1
                print(f"  {way}: {os.fsdecode(path)}: {len(commits)} commits, git has {len(expected)}")
        if one != touches.touched(path):
            together = touches.touched(path)
            differing += bool(together and one and dict(together.together) != dict(one.together))
    print(
        f"{folder}: {len(graph):,} commits, {len(listed):,} files; pass {passed:.2f} s, "
        f"one file {alone / len(chosen):.3f} s; "
        f"{len(chosen)} files compared, {differing} differences"
    )
    return differing


def _git(folder: Path, *arguments: str) -> bytes:
    return subprocess.run(["git", f"--git-dir={folder}", *arguments], check=True, capture_output=True).stdout


def main() -> int:
    """Compare every repository that is named."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("repositories", nargs="+", type=Path)
    parser.add_argument("--files", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    return int(any([compare(folder, asked.files, asked.seed) for folder in asked.repositories]))


if __name__ == "__main__":
    sys.exit(main())
