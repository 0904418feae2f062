"""Terminal output: results on stdout, everything else on stderr, control characters escaped."""

import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from codequarry.shared.control_characters import visible, visible_json

# Enough digits to be unique in large repositories.
SHORT_COMMIT = 12


class ReaderGone(Exception):
    """The reader of our output has closed the pipe, as `head` does. This is not a failure."""


def write(text: str = "", before: str = "", after: str = "") -> None:
    """Write a line to stdout; only ``before`` and ``after``, such as our own colours, are not escaped."""
    try:
        sys.stdout.write(f"{before}{visible(text)}{after}\n")
    except BrokenPipeError:
        raise ReaderGone from None


def note(text: str) -> None:
    """Write a line to stderr."""
    sys.stderr.write(visible(text) + "\n")
    sys.stderr.flush()


def write_json(body: Mapping[str, Any]) -> None:
    """Write a command's JSON document to stdout, indented on a terminal."""
    indent = 2 if sys.stdout.isatty() else None
    write(visible_json(json.dumps(body, ensure_ascii=False, indent=indent)))


def write_answer(answer: object) -> None:
    """Write a typed answer as a command's JSON document, in the form that the API returns."""
    from codequarry.search_api.answers.json import to_json

    write_json(to_json(answer))


def write_table(rows: Iterable[Sequence[object]], *, right: Sequence[int] = ()) -> None:
    """Write rows in columns as wide as their widest cell; the columns in ``right`` are right-aligned."""
    table = [[safe_line(str(cell)) for cell in row] for row in rows]
    if not table:
        return
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    for row in table:
        cells = [
            cell.rjust(width) if index in right else cell.ljust(width)
            for index, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        write("  ".join(cells).rstrip())


def safe_line(text: str) -> str:
    """Return text from a repository as one line; unprintable characters are escaped as in a Python string."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)


def count(number: int, noun: str, plural: str = "") -> str:
    """Return ``1 file`` or ``2,000 files``."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def short(commit: str) -> str:
    """Return the first digits of a commit, which people read and git accepts."""
    return commit[:SHORT_COMMIT]


def skips(reasons: Mapping[str, int]) -> str:
    """Return how many files were skipped and why, most frequent reason first."""
    if not reasons:
        return "none skipped"
    listed = ", ".join(f"{number:,} {reason}" for reason, number in sorted(reasons.items(), key=lambda item: -item[1]))
    return f"{sum(reasons.values()):,} skipped: {listed}"


def size(number_of_bytes: float) -> str:
    """Return a number of bytes in a readable unit."""
    amount = float(number_of_bytes)
    for unit in ("B", "kB", "MB", "GB"):
        if amount < 1000:
            return f"{amount:.0f} {unit}" if unit == "B" or amount >= 10 else f"{amount:.1f} {unit}"
        amount /= 1000
    return f"{amount:.1f} TB"


def duration(seconds: float) -> str:
    """Return a duration in readable units."""
    if seconds < 10:
        return f"{seconds:.1f} s"
    if seconds < 60:
        return f"{seconds:.0f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest:02d} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60:02d} min"
