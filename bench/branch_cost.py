"""Measure what a branch costs (seconds, embedded texts, disk) and how branches slow searches of the default branch.

Clones a repository, indexes it, and then indexes branches that each change some files, one after the other. Before and
after that it asks the questions of bench/questions on the default branch. Everything is in --scratch and is kept.

    python -m bench.branch_cost ~/src/symfony --scratch ~/branches --branches 200 --files 20
"""

import argparse
import os
import random
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

# Must be set before numpy is imported, as in the command line and the service.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from bench.acceptance.questions import load
from bench.acceptance.report import print_table
from codequarry.ingest.run.pipeline import IndexReport, IndexRequest, Workshop, index_repository
from codequarry.search_api.search.engine import SearchEngine, parse_request
from codequarry.shared.embedding.factory import open_embedder
from codequarry.shared.settings.config import SettingsModel
from codequarry.shared.store.factory import open_store
from codequarry.shared.versions.refs import Ref

TOP_K = 20
# Files that a person would edit are neither empty nor generated.
LEAST_BYTES, MOST_BYTES = 200, 50_000
COMMENTS = {".php": "//", ".py": "#", ".go": "//", ".java": "//", ".js": "//", ".ts": "//", ".rs": "//", ".rb": "#"}


@dataclass(frozen=True)
class Bench:
    """A clone and its index."""

    clone: Path
    settings: SettingsModel

    def git(self, *arguments: str) -> str:
        """Run git in the clone and return its output."""
        account = ("-c", "user.name=Bench", "-c", "user.email=bench@example.org", "-c", "commit.gpgsign=false")
        command = ["git", "-C", str(self.clone), *account, *arguments]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()

    def make_branch(self, name: str, start: str, files: list[Path], number: int) -> None:
        """Commit an edit of each file: one line in the middle and one at the end."""
        self.git("checkout", "--quiet", "-B", name, start)
        for path in files:
            lines = path.read_text(errors="surrogateescape").splitlines(keepends=True)
            sign = COMMENTS[path.suffix]
            lines.insert(len(lines) // 2, f"{sign} revised {number}: {path.stem}\n")
            path.write_text("".join([*lines, f"\n{sign} end {number}\n"]), errors="surrogateescape")
        self.git("commit", "--quiet", "--all", "--message", name)

    def editable(self) -> list[Path]:
        """Return the source files that are neither tiny nor huge."""
        paths = [self.clone / line for line in self.git("ls-files").splitlines() if Path(line).suffix in COMMENTS]
        return [path for path in paths if path.is_file() and LEAST_BYTES <= path.stat().st_size <= MOST_BYTES]

    def disk(self) -> int:
        """Return the size of the store in bytes, without the mirrors."""
        store = self.settings.home / "store"
        return sum(path.stat().st_size for path in store.rglob("*") if path.is_file())

    def index(self, ref: Ref | None = None) -> IndexReport:
        """Index a version in this process as the command does, but without the start-up time."""
        embedder = open_embedder(self.settings.embedding, self.settings.home / "models")
        store = open_store(self.settings, embedder.dimension)
        try:
            return index_repository(IndexRequest(str(self.clone), ref), Workshop(store, embedder, self.settings))
        finally:
            store.close()
            embedder.close()

    def search_times(self) -> tuple[float, float]:
        """Return the medians of warm searches of the default branch: wall time and processor time in milliseconds."""
        embedder = open_embedder(self.settings.embedding, self.settings.home / "models")
        store = open_store(self.settings, embedder.dimension)
        engine = SearchEngine(store, embedder, self.settings)
        requests = [
            parse_request({"query": question.text, "top_k": TOP_K}) for asked in load() for question in asked.questions
        ]
        for request in requests[:20]:
            engine.search(request)
        clock, processor = [], []
        for request in requests:
            began, used = time.perf_counter(), time.process_time()
            engine.search(request)
            clock.append((time.perf_counter() - began) * 1000)
            processor.append((time.process_time() - used) * 1000)
        store.close()
        embedder.close()
        return sorted(clock)[len(clock) // 2], sorted(processor)[len(processor) // 2]


def main() -> None:
    """Print what one branch costs and what many branches cost."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("repository", type=Path)
    parser.add_argument("--scratch", type=Path, required=True)
    parser.add_argument("--branches", type=int, default=200)
    parser.add_argument("--files", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    bench = Bench(given.scratch / "clone", SettingsModel(home=given.scratch.absolute() / "home"))
    if not bench.clone.exists():
        given.scratch.mkdir(parents=True, exist_ok=True)
        subprocess.run(["git", "clone", "--quiet", "--shared", given.repository, bench.clone], check=True)
    start = bench.git("rev-parse", "HEAD")
    whole = bench.index()
    disk = bench.disk()
    before = bench.search_times()
    chance, files = random.Random(given.seed), bench.editable()
    reports, growths = [], []
    for number in range(given.branches):
        bench.make_branch(f"bench-{number}", start, chance.sample(files, given.files), number)
        so_far = bench.disk()
        reports.append(bench.index(Ref("branch", f"bench-{number}")))
        growths.append(bench.disk() - so_far)
    after = bench.search_times()
    bench.git("checkout", "--quiet", start)
    _print(given, whole, disk, reports, growths, before, after)


def _print(
    given: argparse.Namespace,
    whole: IndexReport,
    disk: int,
    reports: list[IndexReport],
    growths: list[int],
    before: tuple[float, float],
    after: tuple[float, float],
) -> None:
    seconds = sorted(report.seconds for report in reports)
    rows = [
        ["kinds", ", ".join(sorted({report.kind for report in reports}))],
        ["changed paths a branch", max(report.base_paths for report in reports)],
        ["seconds, median and worst", f"{seconds[len(seconds) // 2]:.1f} / {seconds[-1]:.1f}"],
        ["chunks written, median", sorted(report.chunks_written for report in reports)[len(reports) // 2]],
        ["texts embedded, median and most", f"{_median(reports)} / {max(report.embedded for report in reports)}"],
        ["disk, median and worst, % of the index", f"{_share(growths, 0.5, disk)} / {_share(growths, 1, disk)}"],
        ["disk of all, % of the index", f"{100 * sum(growths) / disk:.1f}"],
        ["search p50 before and after, ms", f"{before[0]:.1f} / {after[0]:.1f} = {after[0] / before[0]:.2f}x"],
        ["the same in processor time, ms", f"{before[1]:.1f} / {after[1]:.1f} = {after[1] / before[1]:.2f}x"],
    ]
    title = (
        f"{len(reports)} branches with {given.files} changed files over {whole.files_indexed:,} files, "
        f"{whole.chunks_live:,} chunks, {disk / 1e6:,.0f} MB; load {os.getloadavg()[0]:.1f}"
    )
    print_table(title, ["", "found"], rows)


def _median(reports: list[IndexReport]) -> int:
    return sorted(report.embedded for report in reports)[len(reports) // 2]


def _share(growths: list[int], share: float, disk: int) -> str:
    at = min(len(growths) - 1, int(len(growths) * share))
    return f"{100 * sorted(growths)[at] / disk:.2f}"


if __name__ == "__main__":
    main()
