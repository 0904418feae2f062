"""Measure the gain and the cost of a second stage: the questions of bench.ranking with and without it, and CoSQA.

The model scores the candidates of every question about an indexed repository once, without a time limit; then every
weight is tried. The times are those of the first search for a question, with candidates that are new to the model, and
the share of candidates that were scored within some limits.

    codequarry index ~/clones/jinja && python -m bench.reranking --model minilm
    python -m bench.reranking --model minilm --cosqa ~/data/cosqa
"""

import argparse
import math
import time
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from bench.acceptance.report import percentile, print_table
from bench.ranking import FIRST_HITS, Asked, ask_all, figures
from codequarry.search_api.ranking.score_fusion import SecondScores, blended, chunks_to_rescore, key_of, mixed
from codequarry.search_api.ranking.scoring import cut_page, rank
from codequarry.search_api.ranking.second_stage import text_of
from codequarry.shared.embedding.port import Embedder
from codequarry.shared.index.opened_index import models_folder, open_settings_model
from codequarry.shared.reranking.factory import open_reranker
from codequarry.shared.reranking.port import Reranker
from codequarry.shared.settings.config import SettingsModel, load_settings
from codequarry.shared.settings.reranking import RerankingSettings
from codequarry.shared.store.factory import open_store
from training.cosqa import read_cosqa

WEIGHTS = tuple(number / 10 for number in range(11))
LIMITS = (0.25, 0.5, 1.0, 2.0)
NO_LIMIT = math.inf


@dataclass(frozen=True, slots=True)
class Scored:
    """A question, the model's scores of its candidates, and the seconds after which each score was available."""

    asked: Asked
    scores: dict[str, float]
    seconds: tuple[float, ...]


def score_candidates(asked: Asked, model: Reranker, count: int) -> Scored:
    """Score the first candidates of a question."""
    chunks = chunks_to_rescore(rank(asked.plan, asked.recall), count)
    began, scores, seconds = time.perf_counter(), {}, []
    for index, score in model.score(asked.plan.text, [text_of(chunk) for chunk in chunks], NO_LIMIT):
        scores[key_of(chunks[index])] = score
        seconds.append(time.perf_counter() - began)
    return Scored(asked, scores, tuple(seconds))


def first_right(scored: Scored, weight: float) -> int:
    """Return the rank of the first hit in a correct file from 1, or 0."""
    ranked = rank(scored.asked.plan, scored.asked.recall)
    again = blended(ranked, SecondScores(weight, scored.scores))
    page = cut_page(again, FIRST_HITS, scored.asked.plan.request.max_per_file, 0)
    right = (number for number, item in enumerate(page.hits, 1) if item.candidate.chunk.path in scored.asked.paths)
    return next(right, 0)


def ask_questions(settings: SettingsModel, model: Reranker, split: str, count: int) -> None:
    """Print the figures of every weight, and the times."""
    with (
        closing(open_settings_model(settings)) as embedder,
        closing(open_store(settings, embedder.dimension)) as store,
    ):
        asked = ask_all(store, embedder, split)
    if not asked:
        raise SystemExit("none of the repositories of bench/questions is indexed; run codequarry index CLONE")
    dict(model.score("warm up", ["loads the model"], NO_LIMIT))
    scored = [score_candidates(question, model, count) for question in asked]
    print(f"{'weight of ' + model.name:42} {'n':>4} {'hit@10':>7} {'hit@1':>7} {'MRR':>7} {'NDCG':>7}")
    for weight in WEIGHTS:
        print(f"{weight:<42} {len(scored):4} {figures([first_right(question, weight) for question in scored])}")
    show_times(scored, [score_candidates(question, model, count) for question in asked])


def show_times(first: Sequence[Scored], again: Sequence[Scored]) -> None:
    """Print how long scoring took, and the share of candidates scored within each limit."""
    rows: list[list[object]] = []
    for name, round_ in (("first search", first), ("repeated", again)):
        times = [item.seconds[-1] * 1000 for item in round_]
        within = [
            f"{np.mean([sum(second <= limit for second in item.seconds) / len(item.seconds) for item in round_]):.0%}"
            for limit in LIMITS
        ]
        rows.append([name, f"{percentile(times, 50):.0f}", f"{percentile(times, 95):.0f}", *within])
    headings = ["candidates scored", "p50 ms", "p95 ms", *(f"in {limit:g} s" for limit in LIMITS)]
    print_table("time of the second stage", headings, rows)


def ask_cosqa(embedder: Embedder, model: Reranker, folder: Path, count: int) -> None:
    """Print the mean reciprocal rank of CoSQA's development queries for every weight, from vectors without a ranker."""
    asked = read_cosqa(folder)
    rows = embedder.embed_documents(asked.codes)
    found = np.zeros((len(WEIGHTS), len(asked.queries)))
    for number, (query, right) in enumerate(zip(asked.queries, asked.right, strict=True)):
        first = rows @ embedder.embed_query(query)
        best = np.argsort(-first)
        top = [int(index) for index in best[:count]]
        scores = dict(model.score(query, [asked.codes[index] for index in top], NO_LIMIT))
        seconds = [scores[index] for index in range(len(top))]
        for row, weight in enumerate(WEIGHTS):
            both = mixed([float(first[index]) for index in top], seconds, weight)
            order = [top[index] for index in np.argsort(-np.array(both), kind="stable")] + best[count:].tolist()
            found[row, number] = 1 / (order.index(right) + 1)
    table = [[f"{weight:.1f}", f"{row.mean():.3f}"] for weight, row in zip(WEIGHTS, found, strict=True)]
    print_table(f"CoSQA, {embedder.name} and {model.name} over its first {count}", ["weight", "MRR"], table)


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default=RerankingSettings().model, help="model of the second stage")
    parser.add_argument(
        "--count", type=int, default=RerankingSettings().candidate_count, help="number of candidates to score"
    )
    parser.add_argument("--split", choices=("development", "heldout"), default="development")
    parser.add_argument("--cosqa", type=Path, metavar="FOLDER", help="use CoSQA, with the [embedding] model first")
    options = parser.parse_args()
    settings = load_settings().settings
    with closing(open_reranker(RerankingSettings(model=options.model), models_folder(settings))) as model:
        if options.cosqa is None:
            ask_questions(settings, model, options.split, options.count)
            return
        with closing(open_settings_model(settings)) as embedder:
            ask_cosqa(embedder, model, options.cosqa, options.count)


if __name__ == "__main__":
    main()
