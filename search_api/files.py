"""The text of an indexed file, put together from its chunks."""

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import islice

from codequarry.search_api.scope import View
from codequarry.shared.errors import NotIndexed, UsageError
from codequarry.shared.head import Head
from codequarry.shared.ledger import read_head
from codequarry.shared.model import INDEXED, Chunk, FileRecord, Snapshot
from codequarry.shared.repositories import read_repository
from codequarry.shared.snapshots import head_snapshot
from codequarry.shared.store.port import Store

MAX_SUGGESTIONS = 5
# Paths are compared one by one with the one asked for; in a larger repository the first of these will do.
MAX_COMPARED_PATHS = 50_000
# How alike a suggested path must be (difflib's ratio): half of the letters in order is already a far guess.
MIN_LIKENESS = 0.5


@dataclass(frozen=True, slots=True)
class FileText:
    """Lines of a file at the indexed commit; ``total_lines`` says where it ends."""

    repo: str
    path: str
    branch: str
    commit: str
    blob: str
    language: str
    start_line: int
    end_line: int
    total_lines: int
    text: str


def read_file(
    store: Store, repo: str, path: str, start_line: int | None = None, end_line: int | None = None
) -> FileText:
    """Return lines of a file (all where none are given), counted from 1 and inclusive.

    NotIndexed where the repository or file is not in the index, with near paths or the reason of its skip;
    UsageError for lines that the file does not have.
    """
    head = read_head(store)
    view = _view(store, head, repo)
    snapshot = head_snapshot(head, (repo,))
    chunks = store.chunks(snapshot, path, repo)
    if not chunks:
        raise _missing(store, snapshot, repo, path)
    lines = join_lines(chunks)
    first = 1 if start_line is None else start_line
    last = len(lines) if end_line is None else min(end_line, len(lines))
    if not 1 <= first <= last:
        raise UsageError(f"{path} has lines 1 to {len(lines)}; asked for {first} to {end_line or last}")
    some = chunks[0]
    text = "".join(lines[first - 1 : last])
    return FileText(repo, path, view.branch, view.commit, some.blob, some.language, first, last, len(lines), text)


def join_lines(chunks: Sequence[Chunk]) -> list[str]:
    """Return the lines of a file, each with its line feed, from chunks that may overlap."""
    text = ""
    for chunk in sorted(chunks, key=lambda chunk: (chunk.start_char, -chunk.end_char)):
        if chunk.end_char > len(text):
            text += chunk.text[len(text) - chunk.start_char :]
    *whole, last = text.split("\n")
    return [line + "\n" for line in whole] + [last] * bool(last)


def _view(store: Store, head: Head, repo: str) -> View:
    timeline = head.defaults.get(repo)
    if timeline is None or not head.timelines[timeline].published:
        known = ", ".join(sorted(head.defaults)) or "none"
        raise NotIndexed(f"repository '{repo}' is not indexed; indexed: {known}")
    record = read_repository(store, repo)
    state = head.timelines[timeline]
    return View(repo, record.branch if record else "", timeline, state.published, state.commit)


def _missing(store: Store, snapshot: Snapshot, repo: str, path: str) -> NotIndexed:
    """Say why a file is not there: skipped, empty, or unknown, with paths that look like it."""
    record = next(iter(store.files(snapshot, [path])), None)
    if record is not None:
        return NotIndexed(f"'{path}' of {repo} has no text in the index: {_verdict(record)}")
    near = near_paths(path, [file.path for file in islice(store.files(snapshot), MAX_COMPARED_PATHS)])
    hint = f"; did you mean {', '.join(near)}?" if near else ""
    return NotIndexed(f"'{path}' is not in {repo}{hint}")


def _verdict(record: FileRecord) -> str:
    if record.verdict == INDEXED:
        return "it is empty"
    return f"it was skipped ({record.verdict}{f': {record.detail}' if record.detail else ''})"


def near_paths(path: str, known: Sequence[str]) -> list[str]:
    """Return the paths that look most like one: those with its file name first, then those with its letters."""
    name = path.lower().rpartition("/")[2]
    same = sorted(other for other in known if other.lower().rpartition("/")[2] == name)
    close = get_close_matches(path, known, MAX_SUGGESTIONS, MIN_LIKENESS) if len(same) < MAX_SUGGESTIONS else []
    return list(dict.fromkeys((*same, *close)))[:MAX_SUGGESTIONS]
