"""Measure how often exact symbol names and plain-English questions find the right place.

Symbols: 200 names that a repository defines once, found without our chunker; a query succeeds if the first hit is the
chunk with the definition. Questions: bench/questions; a query succeeds if a file that answers it is among the first ten
hits. Each query is asked within its repository, and again over all repositories together.

    python -m bench.acceptance.quality --repos ~/clones
"""

import argparse
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from bench.acceptance.corpus import add_corpus_options, fill, find_clones, indexed_paths, scratch_folder
from bench.acceptance.installation import STORES, Engine, Installation, add_store_options
from bench.acceptance.questions import Questionnaire, load
from bench.acceptance.report import print_json, print_table, progress, share
from bench.acceptance.repositories import Clone
from bench.acceptance.symbols import Definition, sample, unique_definitions

FIRST_HITS = 10
SYMBOLS = 200


@dataclass(frozen=True, slots=True)
class Outcome:
    """One query: the rank of the first correct hit from 1, or 0; ``alone`` in its repository, ``together`` in all."""

    repo: str
    split: str
    query: str
    expected: tuple[str, ...]
    alone: int
    together: int
    found: tuple[str, ...]


def ask_symbol(engine: Engine, questionnaire: Questionnaire, clone: Clone, wanted: Definition) -> Outcome:
    """Search for a name; the chunk that contains its definition's line is correct."""

    def rank(repo: str | None) -> tuple[int, tuple[str, ...]]:
        hits = engine.search(wanted.name, repo, FIRST_HITS)
        right = [
            (hit.repo, hit.path) == (clone.short_name, wanted.path) and hit.start_line <= wanted.line <= hit.end_line
            for hit in hits
        ]
        return first(right), tuple(f"{hit.path}:{hit.start_line}-{hit.end_line}" for hit in hits[:3])

    alone, found = rank(clone.short_name)
    place = f"{wanted.path}:{wanted.line}"
    return Outcome(clone.name, questionnaire.split, wanted.name, (place,), alone, rank(None)[0], found)


def ask_questions(engine: Engine, questionnaire: Questionnaire, clone: Clone) -> list[Outcome]:
    """Ask a questionnaire; any chunk of a file that answers the question is correct."""
    outcomes = []
    for question in questionnaire.questions:
        alone = engine.search(question.text, clone.short_name, FIRST_HITS)
        together = engine.search(question.text, None, FIRST_HITS)
        outcomes.append(
            Outcome(
                clone.name,
                questionnaire.split,
                question.text,
                question.paths,
                first([hit.path in question.paths for hit in alone]),
                first([hit.repo == clone.short_name and hit.path in question.paths for hit in together]),
                tuple(f"{hit.path}:{hit.start_line}" for hit in alone),
            )
        )
    return outcomes


def first(right: Sequence[bool]) -> int:
    """Return the rank of the first true value, counted from 1, or 0."""
    return next((rank for rank, value in enumerate(right, start=1) if value), 0)


def summary(outcomes: Sequence[Outcome], key: Callable[[Outcome], str]) -> list[dict[str, Any]]:
    """Return the shares and the mean reciprocal rank of each group and of all."""
    groups: dict[str, list[Outcome]] = defaultdict(list)
    for outcome in outcomes:
        groups[key(outcome)].append(outcome)
    groups["all"] = list(outcomes)
    return [_row(name, members) for name, members in groups.items()]


def _row(name: str, outcomes: Sequence[Outcome]) -> dict[str, Any]:
    ranks = [outcome.alone for outcome in outcomes]
    together = [outcome.together for outcome in outcomes]
    return {
        "group": name,
        "queries": len(ranks),
        "first": share(ranks.count(1), len(ranks)),
        "in ten": share(sum(map(bool, ranks)), len(ranks)),
        "MRR": share(sum(1 / rank for rank in ranks if rank), len(ranks)),
        "first, all repos": share(together.count(1), len(together)),
        "in ten, all repos": share(sum(map(bool, together)), len(together)),
    }


def measure(
    installation: Installation, pairs: Sequence[tuple[Questionnaire, Clone]], scratch: Path, symbols: int, seed: int
) -> tuple[list[Outcome], list[Outcome]]:
    """Return the outcomes of symbols and questions."""
    drawn: list[tuple[Questionnaire, Clone, Definition]] = []
    for number, (questionnaire, clone) in enumerate(pairs):
        # Spread over the repositories as evenly as possible; small repositories have fewer names.
        wanted = (symbols - len(drawn)) // (len(pairs) - number)
        definitions = unique_definitions(clone, scratch / "exports")
        chosen = sample(definitions, indexed_paths(installation, clone), wanted, seed)
        drawn += [(questionnaire, clone, definition) for definition in chosen]
    progress(f"asking for {len(drawn)} symbols and {sum(len(asked.questions) for asked, _ in pairs)} questions")
    with installation.engine() as engine:
        named = [ask_symbol(engine, *symbol) for symbol in drawn]
        asked = [outcome for pair in pairs for outcome in ask_questions(engine, *pair)]
    return named, asked


def report(named: Sequence[Outcome], asked: Sequence[Outcome], *, as_json: bool, misses: bool) -> None:
    """Print the figures, and the misses if asked for."""
    tables = {
        "symbols, by repository": summary(named, lambda outcome: outcome.repo),
        "questions, by repository": summary(asked, lambda outcome: outcome.repo),
        "questions, by split": summary(asked, lambda outcome: outcome.split),
    }
    missed = [outcome for outcome in named if outcome.alone != 1] + [outcome for outcome in asked if not outcome.alone]
    if as_json:
        print_json(tables | {"outcomes": [asdict(outcome) for outcome in (*named, *asked)]})
        return
    for title, rows in tables.items():
        print_table(title, list(rows[0]), [list(row.values()) for row in rows])
    for outcome in missed if misses else ():
        print(f"\n{outcome.repo}: {outcome.query}\n  expected {', '.join(outcome.expected)}")
        print(f"  found    {', '.join(outcome.found)}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_corpus_options(parser)
    add_store_options(parser)
    parser.add_argument("--store", choices=STORES, default="embedded")
    parser.add_argument("--split", choices=("development", "heldout"), help="only the repositories of this split")
    parser.add_argument("--symbols", type=int, default=SYMBOLS, help=f"number of names ({SYMBOLS})")
    parser.add_argument("--misses", action="store_true", help="print the misses")
    options = parser.parse_args()
    questionnaires = [item for item in load(only=options.only) if options.split in (None, item.split)]
    clones = find_clones(options.repos, questionnaires)
    with scratch_folder(options.scratch) as scratch:
        installation = Installation(scratch / options.store, options.store, options.opensearch, options.index)
        try:
            fill(installation, clones, scratch)
            pairs = list(zip(questionnaires, clones, strict=True))
            named, asked = measure(installation, pairs, scratch, options.symbols, options.seed)
        finally:
            if options.scratch is None:
                installation.drop()
    report(named, asked, as_json=options.json, misses=options.misses)


if __name__ == "__main__":
    main()
