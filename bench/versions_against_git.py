"""Compare answers to questions about versions with git's own, on a repository with many branches and tags.

Copies the default branch of a repository, adds branches (each off one of the last steps of its history, with 1 to 20
changed files, some with a function that only some branches have) and tags along the history, and indexes all of them:
the default branch step by step, as it would be if every push were indexed, then the others. Then both are asked, in
turns: this program with calls in its own process, without HTTP, and git with a new process for each question, on a
packed copy of the repository. Answers are compared too. Some differ in kind:

- ``log`` knows the indexed heads only; what was before them, the command asks git itself (``git log -L``). It says in
  which step a declaration changed; ``git log -S`` says which commits change the number of its occurrences.
- Searches of commits know as many commits as ``[history]`` says (1,000, of which 100 with their changes): git is asked
  about the same ones. They rank by words, git filters by a pattern: hits without the word are left out.
- ``diff-search`` compares what a query finds; ``git diff`` lists every file. So its files must be among git's.

    python -m bench.versions_against_git ~/clones/celery+celery --scratch ~/versions --opensearch http://127.0.0.1:9200
"""

import argparse
import json
import os
import statistics
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TypeVar

# Must be set before numpy is imported, as in the command line and the service.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from bench.acceptance.report import print_json, print_table, progress
from bench.branched_repository import BranchedRepository, make, open_repository
from bench.commit_questions import QUESTIONS
from bench.version_questions import Question, Questions
from codequarry.ingest.run.pipeline import IndexRequest, Workshop, index_repository
from codequarry.search_api.search.engine import SearchEngine
from codequarry.shared.embedding.factory import open_embedder
from codequarry.shared.settings.config import SettingsModel
from codequarry.shared.store.factory import open_store
from codequarry.shared.versions.refs import Ref

INDEX = "versions-against-git"
Answer = TypeVar("Answer")


@dataclass(slots=True)
class Row:
    """The milliseconds of one question on each side, the length of git's answers, and the differences of the others."""

    question: Question
    took: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    asked: int = 0
    lines: int = 0
    differences: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))

    def cells(self, sides: list[str]) -> list[object]:
        """Return the row of the table."""
        medians = [f"{statistics.median(self.took[side]):.1f}" for side in (*sides, "git")]
        wrong = ", ".join(f"{side}: {len(self.differences[side])} differ" for side in sides if self.differences[side])
        return [self.question.title, self.asked, self.lines, *medians, wrong or "equal"]


@contextmanager
def opened(home: Path, opensearch: str | None) -> Iterator[Workshop]:
    """Open an index in this process."""
    own = {"opensearch": {"urls": [opensearch], "index": INDEX}, "store": "opensearch"} if opensearch else {}
    settings = SettingsModel(home=home, **own)
    with (
        closing(open_embedder(settings.embedding, home / "models")) as embedder,
        closing(open_store(settings, embedder.dimension)) as store,
    ):
        yield Workshop(store, embedder, settings)


def index_everything(made: BranchedRepository, workshop: Workshop) -> dict[str, float]:
    """Index every version unless that was done before; return the seconds of each kind."""
    report = workshop.settings.home / "indexed.json"
    if report.exists():
        found: dict[str, float] = json.loads(report.read_text())
        return found
    seconds: dict[str, float] = defaultdict(float)

    def index(kind: str, ref: Ref | None = None) -> None:
        started = time.perf_counter()
        index_repository(IndexRequest(str(made.folder), ref, "measured"), workshop)
        seconds[kind] += time.perf_counter() - started

    for head in made.heads:
        made.git("update-ref", f"refs/heads/{made.default}", head)
        index("first run" if head == made.heads[0] else f"{len(made.heads) - 1} steps")
    for branch in made.branches:
        index(f"{len(made.branches)} branches", Ref("branch", branch))
    for tag in made.tags:
        index(f"{len(made.tags)} tags", Ref("tag", tag))
    report.write_text(json.dumps(seconds))
    return seconds


def measure(question: Question, questions: Questions, engines: dict[str, SearchEngine], rounds: int) -> Row:
    """Ask in turns, ``rounds`` times after a first time that is not measured, and compare the answers."""
    row = Row(question)
    for case in question.cases(questions):
        row.asked += 1
        for turn in range(rounds + 1):
            expected, spent = timed(partial(question.git, questions, case))
            if turn:
                row.took["git"].append(spent)
            else:
                row.lines += len(expected.splitlines())
            for side, engine in engines.items():
                answer, spent = timed(partial(question.ours, questions, engine, case))
                if turn:
                    row.took[side].append(spent)
                else:
                    row.differences[side] += question.differences(questions, case, answer, expected)
        medians = {side: round(statistics.median(spent), 1) for side, spent in row.took.items()}
        progress(f"{question.title}: {case}: {medians}, {dict(row.differences)}")
    return row


def timed(ask: Callable[[], Answer]) -> tuple[Answer, float]:
    """Return an answer and its milliseconds."""
    started = time.perf_counter()
    answer = ask()
    return answer, (time.perf_counter() - started) * 1000


def main() -> None:
    """Print the times and the differences."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("repository", type=Path, help="a clone, bare or not")
    parser.add_argument("--scratch", type=Path, required=True, help="the copy and the indices are kept here")
    parser.add_argument("--branches", type=int, default=300)
    parser.add_argument("--tags", type=int, default=50)
    parser.add_argument("--heads", type=int, default=30, help="steps of the default branch that are indexed in turn")
    parser.add_argument("--span", type=int, default=2000, help="the tags are spread over so many steps")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--cases", type=int, default=5, help="cases of each question")
    parser.add_argument("--only", nargs="*", help="questions whose titles begin with one of these letters")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--opensearch", help="URL of a node; without it only the embedded store is measured")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    scratch = given.scratch.absolute()
    scratch.mkdir(parents=True, exist_ok=True)
    if not (scratch / "origin.git").exists():
        numbers = {name: getattr(given, name) for name in ("branches", "tags", "heads", "span", "seed")}
        make(given.repository, scratch / "origin.git", **numbers)
    made = open_repository(scratch / "origin.git", given.heads)
    with ExitStack() as stack:
        engines, indexing = {}, {}
        for side, url in (("embedded", None), ("opensearch", given.opensearch)):
            if side == "embedded" or url:
                workshop = stack.enter_context(opened(scratch / side, url))
                indexing[side] = index_everything(made, workshop)
                engines[side] = SearchEngine(workshop.store, workshop.embedder, workshop.settings)
        asked = [question for question in QUESTIONS if question.title[0] in (given.only or question.title[0])]
        questions = Questions(made, given.seed, given.cases)
        rows = [measure(question, questions, engines, given.rounds) for question in asked]
    sides = list(engines)
    if given.json:
        print_json({"indexing": indexing, "rows": [[*row.cells(sides), row.differences] for row in rows]})
        return
    kinds = list(indexing["embedded"])
    table = [[kind, *(f"{indexing[side][kind]:.1f}" for side in sides)] for kind in kinds]
    print_table("seconds to index", ["", *sides], table)
    print_table(
        f"median milliseconds, {len(made.versions)} versions; load {os.getloadavg()[0]:.1f}",
        ["question", "cases", "lines of git", *sides, "git", "answers"],
        [row.cells(sides) for row in rows],
    )
    for row in rows:
        for side, differences in row.differences.items():
            for difference in differences:
                print(f"{row.question.title}, {side}: {difference}")


if __name__ == "__main__":
    main()
