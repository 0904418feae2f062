"""Compare resolved references or definitions with those of an independent tool.

    python -m bench.relations.compare TRUTH.jsonl OURS.jsonl
    python -m bench.relations.compare --definitions CTAGS.jsonl OURS.jsonl

References are matched by path, line and name. Equal names on one line are matched by column; those without an equal
column are matched in order, and the last of ours serves for all further ones. An edge is right if one of the targets in
the truth has the same path, the same name and a line at most three lines away: a definition can begin at its decorator,
at its doc comment or at its name. The name is not compared if the truth calls the target "default" (an anonymous
export), nor if the target of an import is on line 1, because it then stands for a file (a module or a package). Nor is
it compared if our target is a file and the truth leads to line 1 of it: ``nodes`` in ``nodes.Name`` is ``nodes.py``.

* true edges: references in the truth that have a target inside of the repository.
* precision: right edges / edges of ours whose reference is in the truth and not "unknown" there. Our references without
  a target (``"to": null``) are no edges. Edges at places that the truth does not list are counted apart.
* recall: right edges / true edges.
"""

import argparse
import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from bench.acceptance.report import print_table, share
from bench.relations.truth import UNKNOWN, read_rows

THRESHOLDS = (0.0, 0.3, 0.5, 0.7, 0.9)
DISTANCE = 3
ANONYMOUS = "default"

Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Pair:
    """A reference in the truth and the edge of ours at the same place, if there is one."""

    truth: Row
    ours: Row | None

    @property
    def is_true_edge(self) -> bool:
        """Whether the tool found the definition in the repository."""
        return isinstance(self.truth["to"], dict)

    @property
    def confidence(self) -> float:
        """The confidence of our edge, or -1 if there is none."""
        return float(self.ours.get("confidence", 1.0)) if self.ours and self.ours["to"] else -1.0

    @property
    def is_right(self) -> bool:
        """Whether our edge leads to a definition that the tool found."""
        return self.confidence >= 0 and self.ours is not None and is_right(self.truth, self.ours["to"])


@dataclass(frozen=True, slots=True)
class Score:
    """Resolved edges of one kind above one confidence."""

    true_edges: int
    judged: int
    right: int

    @property
    def precision(self) -> float:
        """The share of our edges that is right."""
        return share(self.right, self.judged)

    @property
    def recall(self) -> float:
        """The share of the true edges that we have."""
        return share(self.right, self.true_edges)


def is_right(truth: Row, target: Row) -> bool:
    """Return whether our target is one of the targets in the truth."""
    targets = truth.get("to_any") or ([truth["to"]] if isinstance(truth["to"], dict) else [])
    return any(_is_same(truth["kind"], known, target) for known in targets)


def _is_same(kind: str, known: Row, target: Row) -> bool:
    near = target["path"] == known["path"] and abs(target["line"] - known["line"]) <= DISTANCE
    is_file = known["line"] == 1 and (kind == "import" or target["name"] == PurePosixPath(target["path"]).name)
    return near and (target["name"] == known["name"] or known["name"] == ANONYMOUS or is_file)


def pair(truth: Iterable[Row], ours: Iterable[Row]) -> list[Pair]:
    """Match the references of both sides by path, line and name."""
    places: dict[tuple[str, int, str], list[Row]] = defaultdict(list)
    for row in ours:
        places[_place(row)].append(row)
    for rows in places.values():
        rows.sort(key=lambda row: (row.get("column", 0), row.get("to") is None, -float(row.get("confidence", 1.0))))
    return [Pair(row, _take(places.get(_place(row)), row)) for row in truth]


def _place(row: Row) -> tuple[str, int, str]:
    return row["path"], row["line"], row["name"]


def _take(rows: list[Row] | None, truth: Row) -> Row | None:
    """Take the reference with the same column; without one, the next; the last one stays for further uses."""
    if not rows:
        return None
    same = [row for row in rows if row.get("column") == truth["column"]]
    if same:
        return same[0]
    return rows.pop(0) if len(rows) > 1 else rows[0]


def score(pairs: Iterable[Pair], threshold: float) -> Score:
    """Count the edges whose confidence is at least the threshold."""
    pairs = list(pairs)
    judged = [one for one in pairs if one.truth["to"] != UNKNOWN and one.confidence >= threshold]
    true_edges = sum(one.is_true_edge for one in pairs)
    return Score(true_edges, len(judged), sum(one.is_right for one in judged))


def calibration(pairs: Iterable[Pair]) -> list[tuple[str, float, int, float]]:
    """Return how each edge was found, its confidence to one decimal, their number and the share that is right."""
    counts: Counter[tuple[str, float]] = Counter()
    right: Counter[tuple[str, float]] = Counter()
    for one in pairs:
        if one.ours is not None and one.confidence >= 0 and one.truth["to"] != UNKNOWN:
            found = (one.ours.get("found_by", ""), round(one.confidence, 1))
            counts[found] += 1
            right[found] += one.is_right
    return [(*found, count, share(right[found], count)) for found, count in sorted(counts.items())]


def unlisted(truth: Iterable[Row], ours: Iterable[Row]) -> int:
    """Return the number of our edges at places that the truth does not list."""
    places = {_place(row) for row in truth}
    return sum(1 for row in ours if row["to"] and _place(row) not in places)


def definition_recall(tags: Iterable[Row], ours: Iterable[Row]) -> list[tuple[str, str, int, int]]:
    """Return language, kind, number of tags and how many of them we have at the same path and line with this name."""
    known = {_place(row) for row in ours}
    counts: Counter[tuple[str, str]] = Counter()
    found: Counter[tuple[str, str]] = Counter()
    for tag in tags:
        kind = (tag.get("language", ""), tag["kind"])
        counts[kind] += 1
        found[kind] += _place(tag) in known
    return [(*kind, count, found[kind]) for kind, count in sorted(counts.items())]


def _edge_rows(pairs: Sequence[Pair]) -> Iterator[tuple[object, ...]]:
    for kind in ("all", *sorted({one.truth["kind"] for one in pairs})):
        chosen = [one for one in pairs if kind in ("all", one.truth["kind"])]
        for threshold in THRESHOLDS:
            result = score(chosen, threshold)
            counts = (result.true_edges, result.judged, result.right)
            yield kind, str(threshold), *counts, result.precision, result.recall


def print_edges(truth: Sequence[Row], ours: Sequence[Row]) -> None:
    """Print precision and recall by kind and confidence, and the calibration."""
    pairs = pair(truth, ours)
    headings = ("kind", "confidence", "true edges", "ours", "right", "precision", "recall")
    print_table("resolved edges", headings, list(_edge_rows(pairs)))
    print_table("calibration", ("found by", "confidence", "edges", "right"), calibration(pairs))
    print(f"\n  {unlisted(truth, ours)} edges at places that the truth does not list")


def print_definitions(tags: Sequence[Row], ours: Sequence[Row]) -> None:
    """Print the recall of definitions by language and kind."""
    rows = definition_recall(tags, ours)
    total = ("all", "", sum(row[2] for row in rows), sum(row[3] for row in rows))
    shown = [(*row, share(row[3], row[2])) for row in (*rows, total)]
    print_table("definitions", ("language", "kind", "ctags", "found", "recall"), shown)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("truth", type=Path)
    parser.add_argument("ours", type=Path)
    parser.add_argument("--definitions", action="store_true", help="compare definitions with those of ctags")
    parser.add_argument("--wrong", type=int, default=0, metavar="N", help="also print the first N wrong edges")
    options = parser.parse_args()
    truth, ours = list(read_rows(options.truth)), list(read_rows(options.ours))
    if options.definitions:
        print_definitions(truth, ours)
        return
    print_edges(truth, ours)
    wrong = [
        one for one in pair(truth, ours) if one.confidence >= 0 and not one.is_right and one.truth["to"] != UNKNOWN
    ]
    for one in wrong[: options.wrong]:
        print(json.dumps({"truth": one.truth, "ours": one.ours}, ensure_ascii=False))


if __name__ == "__main__":
    main()
