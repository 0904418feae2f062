"""Compare the answers of both stores: ten repositories in ten languages and more than 200 queries.

The queries are the questions of bench/questions, exact symbol names, and runs of words from comments, drawn with the
seed. Every second query searches all repositories, the others their own. Hits are equal if they are the same chunk,
whose id is the same on both stores. Needs a node: codequarry opensearch start.

    python -m bench.acceptance.parity --repos ~/clones
"""

import argparse
import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from bench.acceptance.corpus import add_corpus_options, fill, find_clones, indexed_paths, scratch_folder
from bench.acceptance.installation import STORES, Engine, Hit, Installation, add_store_options
from bench.acceptance.questions import Questionnaire, load
from bench.acceptance.report import print_json, print_table, progress, share
from bench.acceptance.repositories import Clone, export
from bench.acceptance.symbols import sample, unique_definitions

# Python, JavaScript, Go, Rust, Java, C, C++, Ruby, Swift and Scala.
TEN = (
    "pallets/werkzeug", "koajs/koa", "etcd-io/bbolt", "BurntSushi/ripgrep", "jhy/jsoup", "jqlang/jq", "google/leveldb",
    "sidekiq/sidekiq", "apple/swift-argument-parser", "scopt/scopt",
)  # fmt: skip
FIRST_HITS = 10
# With about a hundred questions, these make more than two hundred queries.
SYMBOLS = 70
PHRASES = 60
PHRASE_WORDS = (4, 8)
_COMMENT = re.compile(r"^\s*(?:///?|\*|#|--)\s+(\w[\w ,'-]{30,})")
# Scores of the same chunk are equal if they differ by no more than the error of float32 arithmetic.
SAME_SCORE = 1e-4


@dataclass(frozen=True, slots=True)
class Query:
    """One query; ``repo`` is a name in the index, or None for all repositories."""

    kind: str
    text: str
    repo: str | None


@dataclass(frozen=True, slots=True)
class Comparison:
    """One query on both stores; ``overlap`` is the number of common chunks over the length of the longer answer."""

    query: Query
    same_first: bool
    overlap: float
    same_order: bool
    score_gap: float
    first_hits: tuple[str, str]


def queries_of(
    pairs: Sequence[tuple[Questionnaire, Clone]], indexed: Installation, scratch: Path, seed: int
) -> list[Query]:
    """Return the queries in a fixed order; every second query is limited to its repository."""
    drawn: list[tuple[str, str, str]] = []
    each = len(pairs)
    for questionnaire, clone in pairs:
        name = clone.short_name
        paths = indexed_paths(indexed, clone)
        symbols = sample(unique_definitions(clone, scratch / "exports"), paths, -(-SYMBOLS // each), seed)
        comments = sorted(set(_comments(export(clone, scratch / "exports"), paths)))
        chosen = random.Random(seed).sample(comments, min(-(-PHRASES // each), len(comments)))
        drawn += [("question", question.text, name) for question in questionnaire.questions]
        drawn += [("symbol", symbol.name, name) for symbol in symbols]
        drawn += [("phrase", _phrase(comment, seed), name) for comment in chosen]
    return [Query(kind, text, name if at % 2 else None) for at, (kind, text, name) in enumerate(drawn)]


def compare(query: Query, left: Engine, right: Engine) -> Comparison:
    """Search both stores and compare the first ten hits."""
    ours, theirs = (engine.search(query.text, query.repo, FIRST_HITS) for engine in (left, right))
    ids, others = [hit.id for hit in ours], [hit.id for hit in theirs]
    longer = max(len(ids), len(others))
    scores = {hit.id: hit.score for hit in theirs}
    gaps = [abs(hit.score - scores[hit.id]) for hit in ours if hit.id in scores]
    return Comparison(
        query,
        ids[:1] == others[:1],
        len(set(ids) & set(others)) / longer if longer else 1.0,
        ids == others,
        max(gaps, default=0.0),
        (_place(ours), _place(theirs)),
    )


def rows(comparisons: Sequence[Comparison]) -> list[dict[str, Any]]:
    """Return the figures of each kind of query and of all queries."""
    kinds = dict.fromkeys(comparison.query.kind for comparison in comparisons)
    groups = {kind: [comparison for comparison in comparisons if comparison.query.kind == kind] for kind in kinds}
    groups["within one repository"] = [comparison for comparison in comparisons if comparison.query.repo]
    groups["all"] = list(comparisons)
    return [
        {
            "queries": name,
            "number": len(members),
            "same first hit": share(sum(comparison.same_first for comparison in members), len(members)),
            "overlap of ten": share(sum(comparison.overlap for comparison in members), len(members)),
            "same ten in order": share(sum(comparison.same_order for comparison in members), len(members)),
            "same scores": share(sum(comparison.score_gap < SAME_SCORE for comparison in members), len(members)),
        }
        for name, members in groups.items()
    ]


def _comments(folder: Path, paths: set[str]) -> Iterator[str]:
    for path in sorted(paths):
        text = (folder / path).read_text(errors="replace") if (folder / path).is_file() else ""
        for line in text.splitlines():
            match = _COMMENT.match(line)
            if match and len(match.group(1).split()) >= PHRASE_WORDS[1]:
                yield match.group(1)


def _phrase(comment: str, seed: int) -> str:
    words = comment.split()
    choose = random.Random(f"{seed}{comment}")
    length = choose.randint(*PHRASE_WORDS)
    start = choose.randint(0, len(words) - length)
    return " ".join(words[start : start + length])


def _place(hits: Sequence[Hit]) -> str:
    return f"{hits[0].repo}/{hits[0].path}:{hits[0].start_line} ({hits[0].score:.6f})" if hits else "nothing"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_corpus_options(parser)
    add_store_options(parser)
    parser.add_argument("--differences", action="store_true", help="print the queries whose first hits differ")
    options = parser.parse_args()
    questionnaires = load(only=options.only or TEN)
    clones = find_clones(options.repos, questionnaires)
    pairs = list(zip(questionnaires, clones, strict=True))
    with scratch_folder(options.scratch) as scratch:
        both = [Installation(scratch / store, store, options.opensearch, options.index) for store in STORES]
        try:
            for installation in both:
                fill(installation, clones, scratch)
            queries = queries_of(pairs, both[0], scratch, options.seed)
            progress(f"asking {len(queries)} queries on both stores")
            with both[0].engine() as left, both[1].engine() as right:
                comparisons = [compare(query, left, right) for query in queries]
        finally:
            if options.scratch is None:
                both[1].drop()
    table = rows(comparisons)
    if options.json:
        print_json({"table": table, "comparisons": [asdict(comparison) for comparison in comparisons]})
        return
    print_table("both stores", list(table[0]), [list(row.values()) for row in table])
    for comparison in comparisons if options.differences else ():
        if not comparison.same_first:
            print(f"\n{comparison.query.kind} {comparison.query.text!r} in {comparison.query.repo or 'all'}")
            print(f"  {STORES[0]}: {comparison.first_hits[0]}\n  {STORES[1]}: {comparison.first_hits[1]}")


if __name__ == "__main__":
    main()
