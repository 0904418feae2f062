"""The text of an indexed file, joined from its chunks."""

from collections.abc import Sequence
from difflib import get_close_matches
from itertools import islice

from codequarry.search_api.answers.file_text import FileText
from codequarry.search_api.query.version_query import VersionQuery
from codequarry.search_api.versions.catalog import Catalog
from codequarry.search_api.versions.resolution import OneVersion, one_version
from codequarry.shared.errors import NotIndexed, UsageError
from codequarry.shared.model import INDEXED, Chunk, FileRecord, Snapshot
from codequarry.shared.store.port import RowReader

MAX_SUGGESTIONS = 5
# Maximum number of paths compared with the requested path; a larger repository's other paths are ignored.
MAX_COMPARED_PATHS = 50_000
# Minimum similarity of a suggested path (difflib's ratio); half of the letters in order is already a wild guess.
MIN_LIKENESS = 0.5


def read_file(
    catalog: Catalog,
    repo: str,
    path: str,
    start_line: int | None = None,
    end_line: int | None = None,
    version: VersionQuery = VersionQuery(),  # noqa: B008 -- frozen
) -> FileText:
    """Return lines ``start_line`` to ``end_line`` (inclusive, from 1) of a file; by default the whole file.

    Raise NotIndexed if the index lacks the repository, version or file (with similar paths, or why it was skipped),
    UsageError for lines that the file does not have.
    """
    seen = one_version(catalog, repo, version)
    chunks = [chunk for chunk in file_chunks(catalog.store, seen, path) if not chunk.is_summary]
    if not chunks:
        raise NotIndexed(f"'{path}' in {repo} has no text in the index: the file is empty")
    lines = join_lines(chunks)
    first = 1 if start_line is None else start_line
    last = len(lines) if end_line is None else min(end_line, len(lines))
    if not 1 <= first <= last:
        raise UsageError(f"{path} has lines 1 to {len(lines)}; lines {first} to {end_line or last} were requested")
    chunk, view = chunks[0], seen.view
    return FileText(
        repo=repo,
        path=path,
        ref=view.ref.name,
        branch=view.branch,
        commit=view.commit,
        blob=chunk.blob,
        language=chunk.language,
        start_line=first,
        end_line=last,
        total_lines=len(lines),
        text="".join(lines[first - 1 : last]),
        freshness=seen.state.freshness(),
    )


def file_chunks(store: RowReader, seen: OneVersion, path: str) -> list[Chunk]:
    """Return the chunks of a file, or none if it is empty; raise NotIndexed if it was skipped or does not exist."""
    chunks = store.chunks(seen.snapshot, path, seen.view.repo)
    if chunks:
        return chunks
    record = next(iter(store.files(seen.snapshot, [path])), None)
    if record is None:
        raise _missing(store, seen.snapshot, seen.view.repo, path)
    if record.verdict != INDEXED:
        raise NotIndexed(f"'{path}' in {seen.view.repo} has no text in the index: {_skip(record)}")
    return []


def join_lines(chunks: Sequence[Chunk]) -> list[str]:
    """Return the lines of a file, each with its line feed, joined from chunks that may overlap.

    Where the text of a chunk is derived, the lines that it leaves out are blank.
    """
    if any(chunk.derived for chunk in chunks):
        return _derived_lines(chunks)
    text = ""
    for chunk in sorted(chunks, key=lambda chunk: (chunk.start_char, -chunk.end_char)):
        if chunk.end_char > len(text):
            text += chunk.text[len(text) - chunk.start_char :]
    *whole, last = text.split("\n")
    return [line + "\n" for line in whole] + [last] * bool(last)


def _derived_lines(chunks: Sequence[Chunk]) -> list[str]:
    lines = ["\n"] * max(chunk.end_line for chunk in chunks)
    for chunk in chunks:
        first, last = chunk.start_line - 1, chunk.end_line - 1
        shown = chunk.text.removesuffix("\n").split("\n")
        for number, line in enumerate(shown, first):
            # A cell of many lines may be in one line of its file.
            lines[number if number <= last else last] = ("" if number <= last else lines[last]) + line + "\n"
    return lines


def _missing(store: RowReader, snapshot: Snapshot, repo: str, path: str) -> NotIndexed:
    near = near_paths(path, [file.path for file in islice(store.files(snapshot), MAX_COMPARED_PATHS)])
    hint = f"; did you mean {', '.join(near)}?" if near else ""
    return NotIndexed(f"'{path}' is not in {repo}{hint}")


def _skip(record: FileRecord) -> str:
    return f"it was skipped ({record.verdict}{f': {record.detail}' if record.detail else ''})"


def near_paths(path: str, known: Sequence[str]) -> list[str]:
    """Return the paths most similar to ``path``: first those with its file name, then those with similar letters."""
    name = path.lower().rpartition("/")[2]
    same = sorted(near for near in known if near.lower().rpartition("/")[2] == name)
    close = get_close_matches(path, known, MAX_SUGGESTIONS, MIN_LIKENESS) if len(same) < MAX_SUGGESTIONS else []
    return list(dict.fromkeys((*same, *close)))[:MAX_SUGGESTIONS]
