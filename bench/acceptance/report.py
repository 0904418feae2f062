"""The output of every check: tables for people, or one JSON document."""

import json
import sys
from collections.abc import Mapping, Sequence
from typing import Any


def print_table(title: str, headings: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Print rows below their headings, with numbers right-aligned."""
    cells = [[_shown(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(headings, *cells, strict=True)]
    numeric = [all(isinstance(row[at], int | float) for row in rows) for at in range(len(headings))]
    print(f"\n{title}")
    for line in [list(headings), ["-" * width for width in widths], *cells]:
        columns = zip(line, widths, numeric, strict=True)
        parts = [cell.rjust(width) if right else cell.ljust(width) for cell, width, right in columns]
        print("  " + "  ".join(parts).rstrip())


def print_json(body: Mapping[str, Any]) -> None:
    """Print the JSON document of a check."""
    json.dump(body, sys.stdout, indent=2, ensure_ascii=False)
    print()


def progress(text: str) -> None:
    """Print a progress message on stderr."""
    print(text, file=sys.stderr, flush=True)


def share(part: float, total: int) -> float:
    """Return part / total, or 0 if the total is 0."""
    return part / total if total else 0.0


def percentile(values: Sequence[float], percent: float) -> float:
    """Return the nearest-rank percentile of measured values."""
    ordered = sorted(values)
    rank = max(1, -(-len(ordered) * percent // 100))
    return ordered[int(rank) - 1]


def _shown(cell: object) -> str:
    return f"{cell:.3f}" if isinstance(cell, float) else str(cell)
