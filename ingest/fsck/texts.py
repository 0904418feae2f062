"""Checks that the chunks of a file have the text of its blob and cover every line. Pure functions."""

from collections.abc import Iterator, Sequence

from codequarry.ingest.files.content import NotText, decode
from codequarry.ingest.files.read_file import ReadFile
from codequarry.ingest.fsck.files import Inconsistency
from codequarry.ingest.secrets.masked_text import MASK
from codequarry.shared.model import Chunk, FileRecord


def check_text(record: FileRecord, data: bytes, chunks: Sequence[Chunk]) -> list[Inconsistency]:
    """Compare an indexed file's chunks with the bytes of its blob."""
    decoded = decode(data)
    if isinstance(decoded, NotText):
        return [Inconsistency("verdict", record.path, f"the index says {record.verdict}, the blob is {decoded.reason}")]
    starts = _line_starts(decoded.text)
    wrong = [detail for chunk in chunks if (detail := _wrong_text(chunk, decoded.text, starts))]
    left_out = sorted(set(range(1, len(starts))).difference(_lines_of(chunks)))
    if left_out:
        wrong.append(f"in no chunk: lines {_ranges(left_out)}")
    return [Inconsistency("text", record.path, detail) for detail in wrong]


def check_skipped(record: FileRecord, read: ReadFile) -> list[Inconsistency]:
    """Compare the verdict on a file that was skipped for its content with the verdict it gets now."""
    if read.verdict == record.verdict:
        return []
    return [Inconsistency("verdict", record.path, f"the index says {record.verdict}, the rules say {read.verdict}")]


def _wrong_text(chunk: Chunk, text: str, starts: Sequence[int]) -> str:
    place = f"lines {chunk.start_line} to {chunk.end_line}"
    if not 1 <= chunk.start_line <= chunk.end_line < len(starts):
        return f"{place}: the file has {len(starts) - 1} lines"
    expected = text[starts[chunk.start_line - 1] : starts[chunk.end_line]]
    if (chunk.start_char, chunk.end_char) != (starts[chunk.start_line - 1], starts[chunk.end_line]):
        return f"{place}: characters {chunk.start_char} to {chunk.end_char} are not these lines"
    # A derived text is not the file's own.
    return "" if chunk.derived or _is_text(chunk, expected) else f"{place}: the text differs"


def _is_text(chunk: Chunk, expected: str) -> bool:
    """Return whether a chunk has the text of its file, in which a mask character may stand for any other character."""
    if not chunk.masked:
        return chunk.text == expected
    same = len(chunk.text) == len(expected)
    return same and all(ours in (theirs, MASK) for ours, theirs in zip(chunk.text, expected, strict=True))


def _line_starts(text: str) -> list[int]:
    """Return the offset of each line and of the end; only a line feed ends a line, as in git."""
    starts = [0]
    while (end := text.find("\n", starts[-1])) >= 0:
        starts.append(end + 1)
    return starts if starts[-1] == len(text) else [*starts, len(text)]


def _lines_of(chunks: Sequence[Chunk]) -> Iterator[int]:
    for chunk in chunks:
        yield from range(chunk.start_line, chunk.end_line + 1)


def _ranges(lines: Sequence[int]) -> str:
    """Return line numbers as ranges: ``1-3, 7``."""
    runs: list[list[int]] = []
    for line in lines:
        if runs and line == runs[-1][1] + 1:
            runs[-1][1] = line
        else:
            runs.append([line, line])
    return ", ".join(str(first) if first == last else f"{first}-{last}" for first, last in runs)
