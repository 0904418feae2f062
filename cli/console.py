"""Writing to the terminal: results to stdout, all else to stderr, and nothing that a file name could smuggle in."""

import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

# Control characters, which a terminal would obey; tabs and line ends are left.
_CONTROL = {code: "\N{REPLACEMENT CHARACTER}" for code in (*range(32), *range(127, 160)) if chr(code) not in "\t\n"}


class ReaderGone(Exception):
    """Whoever read our output has enough of it, as `head` does: no failure."""


def write(text: str = "") -> None:
    """Write a line to stdout."""
    try:
        sys.stdout.write(text + "\n")
    except BrokenPipeError:
        raise ReaderGone from None


def note(text: str) -> None:
    """Write a line to stderr."""
    sys.stderr.write(text + "\n")
    sys.stderr.flush()


def write_json(body: Mapping[str, Any]) -> None:
    """Write the one JSON document of a command to stdout, indented for a person."""
    indent = 2 if sys.stdout.isatty() else None
    write(json.dumps(body, ensure_ascii=False, indent=indent))


def write_table(rows: Iterable[Sequence[object]], *, right: Sequence[int] = ()) -> None:
    """Write rows in columns as wide as their widest cell; the columns in ``right`` are set to the right."""
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


def safe(text: str) -> str:
    """Replace control characters in text that may come from a repository; line ends stay."""
    return text.translate(_CONTROL)


def safe_line(text: str) -> str:
    """Return text from a repository as one line: what can't be shown is escaped, as in a Python string."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)


def count(number: int, noun: str, plural: str = "") -> str:
    """Return ``1 file`` or ``2,000 files``."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def skips(reasons: Mapping[str, int]) -> str:
    """Return how many files were skipped and why, most frequent reasons first."""
    if not reasons:
        return "none skipped"
    listed = ", ".join(f"{number:,} {reason}" for reason, number in sorted(reasons.items(), key=lambda one: -one[1]))
    return f"{sum(reasons.values()):,} skipped: {listed}"


def size(number_of_bytes: float) -> str:
    """Return a number of bytes as people read it."""
    amount = float(number_of_bytes)
    for unit in ("B", "kB", "MB", "GB"):
        if amount < 1000:
            return f"{amount:.0f} {unit}" if unit == "B" or amount >= 10 else f"{amount:.1f} {unit}"
        amount /= 1000
    return f"{amount:.1f} TB"


def duration(seconds: float) -> str:
    """Return a duration as people read it."""
    if seconds < 10:
        return f"{seconds:.1f} s"
    if seconds < 60:
        return f"{seconds:.0f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest:02d} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60:02d} min"
