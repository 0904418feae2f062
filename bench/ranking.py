"""Measure how well the ranking answers plain-English questions, and try other constants.

Asks the questions of bench/questions and bench/tuning about repositories that are indexed under their own name (the
last part of owner/name). The candidates are recalled once and ranked again for every trial. Only repositories that may
be tuned on are used, unless ``--split`` says otherwise.

    codequarry index ~/clones/jinja && python -m bench.ranking
    python -m bench.ranking --try ranking.scoring.LEXICAL_WEIGHT=0.4,0.5,0.6 --try ranking.bm25f.PRESENCE=0,0.4 --misses
"""

import argparse
import ast
import importlib
import math
import tomllib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import product
from pathlib import Path

from codequarry.search_api.query.plan import QueryPlan, make_plan
from codequarry.search_api.query.request import SearchRequest
from codequarry.search_api.ranking.scoring import cut_page, rank
from codequarry.search_api.search.recall import recall_query
from codequarry.shared.catalog.ledger import read_head
from codequarry.shared.embedding.factory import open_embedder
from codequarry.shared.embedding.port import Embedder
from codequarry.shared.settings.config import load_settings
from codequarry.shared.store.factory import open_store
from codequarry.shared.store.port import Store
from codequarry.shared.store.records import Recall
from codequarry.shared.versions.head import Head
from codequarry.shared.versions.snapshots import head_snapshot

FOLDER = Path(__file__).parent
QUESTIONS = (FOLDER / "questions", FOLDER / "tuning")
FIRST_HITS = 10


@dataclass(frozen=True, slots=True)
class Asked:
    """A question and its recalled candidates, ready to be ranked."""

    repo: str
    text: str
    paths: tuple[str, ...]
    plan: QueryPlan
    recall: Recall


@dataclass(frozen=True, slots=True)
class Trial:
    """Constants to try, as ``module.NAME`` with a value; empty for the constants of the code."""

    values: tuple[tuple[str, object], ...] = ()

    @property
    def label(self) -> str:
        """The name of the trial in the table."""
        return " ".join(f"{name}={value}" for name, value in self.values) or "as it is"

    @contextmanager
    def applied(self) -> Iterator[None]:
        """Set the constants for the block. Constants of plans and recall have no effect: recall happens only once."""
        before = []
        for name, value in self.values:
            module, _, constant = name.rpartition(".")
            owner = importlib.import_module(f"codequarry.search_api.{module}")
            before.append((owner, constant, getattr(owner, constant)))
            setattr(owner, constant, value)
        try:
            yield
        finally:
            for owner, constant, old in before:
                setattr(owner, constant, old)


def ask_all(store: Store, embedder: Embedder, split: str) -> list[Asked]:
    """Recall the candidates of every question about an indexed repository."""
    head = read_head(store)
    asked = []
    for folder in QUESTIONS:
        for path in sorted(folder.glob("*.toml")):
            table = tomllib.loads(path.read_text(encoding="utf-8"))
            repo = table["repo"].rpartition("/")[2]
            if table["split"] == split and repo in head.defaults:
                asked += [_ask(store, embedder, head, repo, question) for question in table["question"]]
    return asked


def _ask(store: Store, embedder: Embedder, head: Head, repo: str, question: dict[str, object]) -> Asked:
    plan = make_plan(SearchRequest(str(question["text"]), top_k=FIRST_HITS))
    snapshot = head_snapshot(head, (repo,))
    recall = store.recall(recall_query(plan, snapshot, embedder.embed_query(plan.text)))
    return Asked(repo, plan.text, tuple(question["paths"]), plan, recall)  # type: ignore[arg-type]  # TOML is untyped


def first_right(asked: Asked) -> int:
    """Return the rank of the first hit in a correct file from 1, or 0."""
    page = cut_page(rank(asked.plan, asked.recall), FIRST_HITS, asked.plan.request.max_per_file, 0)
    right = (number for number, item in enumerate(page.hits, 1) if item.candidate.chunk.path in asked.paths)
    return next(right, 0)


def figures(ranks: Sequence[int]) -> str:
    """Return hit@10, hit@1, MRR@10 and NDCG@10 (of the first correct hit) as a table row."""
    count = len(ranks)
    ndcg = sum(1 / math.log2(1 + rank) for rank in ranks if rank) / count
    mrr = sum(1 / rank for rank in ranks if rank) / count
    return f"{sum(map(bool, ranks)) / count:7.3f} {ranks.count(1) / count:7.3f} {mrr:7.3f} {ndcg:7.3f}"


def trials(options: Sequence[str]) -> list[Trial]:
    """Return every combination of the values to try, after the constants of the code."""
    axes = []
    for option in options:
        name, _, values = option.partition("=")
        axes.append([(name, ast.literal_eval(value)) for value in values.split(",")])
    return [Trial(), *(Trial(values) for values in product(*axes) if values)]


def show(asked: Sequence[Asked], trial: Trial, misses: bool) -> None:
    """Print the figures of a trial, and by repository if it uses the constants of the code."""
    with trial.applied():
        ranks = [first_right(item) for item in asked]
    if not trial.values:
        for repo in dict.fromkeys(item.repo for item in asked):
            own = [rank for rank, item in zip(ranks, asked, strict=True) if item.repo == repo]
            print(f"  {repo:40} {len(own):4} {figures(own)}")
    print(f"{trial.label:42} {len(ranks):4} {figures(ranks)}")
    for rank_found, item in zip(ranks, asked, strict=True):
        if misses and not rank_found:
            print(f"    not found: {item.repo}: {item.text}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--try", dest="trials", action="append", default=[], metavar="MODULE.NAME=VALUE,VALUE")
    parser.add_argument("--split", choices=("development", "heldout"), default="development")
    parser.add_argument("--misses", action="store_true", help="print the questions whose answer was not found")
    options = parser.parse_args()
    settings = load_settings().settings
    embedder = open_embedder(settings.embedding, settings.home / "models")
    store = open_store(settings, embedder.dimension)
    try:
        asked = ask_all(store, embedder, options.split)
    finally:
        store.close()
    if not asked:
        raise SystemExit("none of the repositories of bench/questions is indexed; run codequarry index CLONE")
    print(f"{'':42} {'n':>4} {'hit@10':>7} {'hit@1':>7} {'MRR':>7} {'NDCG':>7}")
    for trial in trials(options.trials):
        show(asked, trial, options.misses)


if __name__ == "__main__":
    main()
