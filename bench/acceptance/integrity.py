"""Compare the index with git: every path of `git ls-tree`, the text of every chunk, every line of every file.

Each path must be indexed or listed with a reason, with git's blob. The text of each chunk must equal the file at its
lines and at its characters (a masked secret keeps its length). Each line must lie in a chunk, ids must be unique, and
the content hash must be that of the text. Deviations are printed, and then the exit code is 1.

    python -m bench.acceptance.integrity --repos ~/clones --only jqlang/jq
"""

import argparse
import codecs
import hashlib
import re
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from bench.acceptance.corpus import add_corpus_options, fill, find_clones, scratch_folder
from bench.acceptance.installation import STORES, Installation, add_store_options
from bench.acceptance.questions import load
from bench.acceptance.report import print_json, print_table, progress
from bench.acceptance.repositories import LINK_MODE, SUBMODULE_MODE, Clone, TreeEntry, read_blobs, read_tree
from codequarry.shared.catalog.ledger import read_head
from codequarry.shared.model import INDEXED, Chunk, FileRecord, Snapshot
from codequarry.shared.store.port import Store
from codequarry.shared.versions.snapshots import head_snapshot

# Deviations printed for each repository.
SHOWN = 20


@dataclass(frozen=True, slots=True)
class Verdict:
    """The result of one repository."""

    repo: str
    paths: int
    indexed: int
    skipped: dict[str, int]
    chunks: int
    deviations: tuple[str, ...]


def examine(store: Store, clone: Clone) -> Verdict:
    """Compare what the store holds of a repository with git."""
    snapshot = head_snapshot(read_head(store), [clone.short_name])
    entries = {entry.path: entry for entry in read_tree(clone)}
    records = list(store.files(snapshot))
    deviations = list(_compare_paths(entries, records))
    indexed = [record for record in records if record.verdict == INDEXED and record.path in entries]
    blobs = dict(read_blobs(clone, sorted({record.blob for record in indexed})))
    ids: Counter[str] = Counter()
    for record in indexed:
        chunks = _chunks(store, snapshot, record)
        ids.update(chunk.id for chunk in chunks)
        deviations += (f"{record.path}: {what}" for what in compare_text(chunks, blobs[record.blob]))
    deviations += (f"chunk {name} occurs {times} times" for name, times in ids.items() if times > 1)
    skipped = Counter(record.verdict for record in records if record.verdict != INDEXED)
    return Verdict(clone.name, len(entries), len(indexed), dict(skipped), len(ids), tuple(deviations))


def _chunks(store: Store, snapshot: Snapshot, record: FileRecord) -> list[Chunk]:
    chunks = store.chunks(snapshot, record.path, record.repo)
    return [chunk for chunk in chunks if not chunk.is_summary]


def _compare_paths(entries: dict[str, TreeEntry], records: Sequence[FileRecord]) -> Iterator[str]:
    times = Counter(record.path for record in records)
    yield from (f"{path!r} is listed {number} times" for path, number in times.items() if number > 1)
    yield from (f"{path!r} is neither indexed nor listed as skipped" for path in entries.keys() - times.keys())
    yield from (f"{path!r} is listed, but not in the commit" for path in times.keys() - entries.keys())
    for record in records:
        entry = entries.get(record.path)
        if entry is None:
            continue
        if record.blob != entry.blob:
            yield f"{record.path!r} has blob {record.blob}, but {entry.blob} in git"
        if not record.verdict:
            yield f"{record.path!r} is skipped without a reason"
        if entry.mode in (LINK_MODE, SUBMODULE_MODE) and record.verdict == INDEXED:
            yield f"{record.path!r} is a link or a submodule, but is indexed"


def compare_text(chunks: Sequence[Chunk], data: bytes) -> Iterator[str]:
    """Yield the deviations of one file's chunks."""
    if not chunks:
        if data.removeprefix(codecs.BOM_UTF8).strip():
            yield "is indexed and not empty, but has no chunks"
        return
    text = _decode(data, chunks[0].encoding)
    # Like git, only a line feed ends a line.
    lines = re.findall(r"[^\n]*\n|[^\n]+", text)
    covered: set[int] = set()
    for chunk in chunks:
        covered.update(range(chunk.start_line, chunk.end_line + 1))
        yield from _compare_chunk(chunk, "".join(lines[chunk.start_line - 1 : chunk.end_line]), text)
    missing = [number for number in range(1, len(lines) + 1) if number not in covered]
    if missing:
        yield f"{len(missing)} of {len(lines)} lines are in no chunk, the first is {missing[0]}"
    if max(covered) > len(lines):
        yield f"a chunk ends at line {max(covered)} of {len(lines)}"


def _compare_chunk(chunk: Chunk, at_lines: str, text: str) -> Iterator[str]:
    place = f"chunk {chunk.start_line}-{chunk.end_line}"
    if hashlib.sha256(chunk.text.encode("utf-8", "surrogatepass")).hexdigest() != chunk.content_hash:
        yield f"{place} has a content hash that does not match its text"
    at_chars = text[chunk.start_char : chunk.end_char]
    if chunk.masked:
        if not len(chunk.text) == len(at_lines) == len(at_chars):
            yield f"{place} is masked, but its length differs"
        return
    if chunk.text != at_lines:
        yield f"{place} differs from git at its lines"
    if chunk.text != at_chars:
        yield f"{place} differs from git at its characters {chunk.start_char} to {chunk.end_char}"


def _decode(data: bytes, encoding: str | None) -> str:
    """Decode a blob with the encoding of its chunks. A byte order mark belongs to the encoding, not to the text."""
    if encoding is not None:
        return data.decode(encoding, errors="replace")
    return data.decode("utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_corpus_options(parser)
    add_store_options(parser)
    parser.add_argument("--store", choices=STORES, default="embedded")
    options = parser.parse_args()
    clones = find_clones(options.repos, load(only=options.only))
    with scratch_folder(options.scratch) as scratch:
        installation = Installation(scratch / options.store, options.store, options.opensearch, options.index)
        try:
            fill(installation, clones, scratch)
            progress("comparing with git")
            with installation.open_store() as store:
                verdicts = [examine(store, clone) for clone in clones]
        finally:
            if options.scratch is None:
                installation.drop()
    _report(verdicts, as_json=options.json)
    if any(verdict.deviations for verdict in verdicts):
        sys.exit(1)


def _report(verdicts: Sequence[Verdict], *, as_json: bool) -> None:
    rows = [
        {
            "repository": verdict.repo,
            "paths": verdict.paths,
            "indexed": verdict.indexed,
            "skipped": sum(verdict.skipped.values()),
            "chunks": verdict.chunks,
            "deviations": len(verdict.deviations),
            "reasons": ", ".join(f"{reason} {number}" for reason, number in sorted(verdict.skipped.items())),
        }
        for verdict in verdicts
    ]
    if as_json:
        found = {verdict.repo: list(verdict.deviations) for verdict in verdicts}
        print_json({"table": rows, "deviations": found})
        return
    print_table("against git", list(rows[0]), [list(row.values()) for row in rows])
    for verdict in verdicts:
        for deviation in verdict.deviations[:SHOWN]:
            print(f"{verdict.repo}: {deviation}")


if __name__ == "__main__":
    main()
