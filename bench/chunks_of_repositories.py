"""Check the chunks of whole repositories, and count how many chunks begin at a declaration.

    python -m bench.chunks_of_repositories ~/clones/*.git

Every file of HEAD is read as in a run. For each indexed file: every line is in a chunk, chunks are in order, their text
is that of git's bytes, and only a chunk of a single line may exceed the maximum. A failure is printed with its file.

A border is the first row of each chunk but the first of a file. Borders are judged in files that a grammar has read. A
border counts as being at a declaration if both of these hold:

- It begins something whole: the first thing in its row is a node of the syntax tree (a declaration, a statement, an
  entry of a table, or a comment or attribute above it) that does not end in the middle of a row. Blank rows above it
  belong to it. Rows inside a string literal or a comment have no such node.
- It cuts no function in two that would have fitted into one chunk, with the comments above it.

Borders inside one literal or comment that is larger than a chunk have to be somewhere; they are counted apart.
"""

import argparse
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from bench.chunk_borders import outline_of
from bench.chunker_fuzz import broken
from codequarry.ingest.chunking.languages import GRAMMAR_LANGUAGES
from codequarry.ingest.chunking.pieces import Sizes
from codequarry.ingest.chunking.text import SourceText
from codequarry.ingest.files.content import NotText, decode
from codequarry.ingest.files.reader import ReadFile, ReadingRules, judge
from codequarry.ingest.files.scan import PathRules
from codequarry.ingest.git.blob_reader import BlobReader
from codequarry.ingest.git.objects import Mirror
from codequarry.ingest.git.trees import TreeEntry, list_tree
from codequarry.ingest.secrets.policy import SecretRules
from codequarry.shared.errors import CodequarryError
from codequarry.shared.model import INDEXED, Chunk
from codequarry.shared.settings.config import SettingsModel

SETTINGS = SettingsModel()
SIZES = Sizes.of(SETTINGS.chunking)


@dataclass(slots=True)
class Counts:
    """What was seen of one language."""

    repositories: set[str] = field(default_factory=set)
    files: int = 0
    lines: int = 0
    chunks: int = 0
    by_lines: int = 0
    borders: int = 0
    at_declarations: int = 0
    in_texts: int = 0


def differing(chunks: Sequence[Chunk], data: bytes) -> Iterator[str]:
    """Yield the chunks whose text is not that of git's bytes; masked and derived texts differ on purpose."""
    rows = data.split(b"\n")
    for chunk in chunks:
        if not (chunk.masked or chunk.derived or chunk.is_summary):
            end = b"" if chunk.end_line == len(rows) else b"\n"
            if chunk.text.encode() != b"\n".join(rows[chunk.start_line - 1 : chunk.end_line]) + end:
                yield f"bytes: line {chunk.start_line} differs from git's"


class Check:
    """Reads repositories and counts."""

    def __init__(self, show: int) -> None:
        self.counts: defaultdict[str, Counts] = defaultdict(Counts)
        self.failures: list[str] = []
        self.verdicts: Counter[str] = Counter()
        self._show = show

    def read(self, folder: Path) -> None:
        """Check all files of a repository's HEAD."""
        mirror = Mirror(folder, {})
        rules, paths = ReadingRules.of("r", SETTINGS, SecretRules.of(SETTINGS.secrets)), PathRules(SETTINGS)
        with BlobReader(mirror) as blobs:
            for entry in list_tree(folder, mirror.environment, mirror.commit_of("HEAD") or "HEAD"):
                task = paths.decide(entry)
                if task.skip is None and entry.mode.startswith("100"):
                    # A snapshot of a repository may lack its largest blobs.
                    try:
                        data = blobs.read(entry.blob)
                    except CodequarryError:
                        self.verdicts["missing"] += 1
                        continue
                    self._judge(folder, entry, judge(task, data, rules), data)

    def _judge(self, folder: Path, entry: TreeEntry, file: ReadFile, data: bytes) -> None:
        self.verdicts[file.verdict] += 1
        decoded = decode(data)
        if file.verdict != INDEXED or isinstance(decoded, NotText):
            return
        chunks = [piece.chunk for piece in file.pieces if not piece.chunk.is_summary]
        problems = list(broken(file, decoded.text, SETTINGS.chunking.max_tokens))
        problems += differing(chunks, data) if decoded.encoding is None else ()
        self.failures += [f"{folder.parent.name} {entry.path}: {problem}" for problem in problems]
        language = file.language or "text"
        counts = self.counts[language]
        counts.repositories.add(str(folder))
        counts.files += 1
        counts.lines += decoded.text.count("\n") + (not decoded.text.endswith("\n"))
        counts.chunks += len(chunks)
        if language in GRAMMAR_LANGUAGES and chunks:
            self._borders(counts, f"{folder.parent.name} {entry.path}", entry.path, language, decoded.text, chunks)

    def _borders(self, counts: Counts, name: str, path: str, language: str, text: str, chunks: Sequence[Chunk]) -> None:
        source = SourceText.of(text)
        outline = outline_of(language, path, source, SIZES)
        if outline is None:
            counts.by_lines += 1
            return
        for chunk in chunks[1:]:
            if outline.is_in_text(chunk.start_line - 1):
                counts.in_texts += 1
                continue
            good = outline.is_good(chunk.start_line - 1)
            counts.borders += 1
            counts.at_declarations += good
            if not good and self._show:
                self._show -= 1
                print(f"    {language}: {name}:{chunk.start_line} {source.lines[chunk.start_line - 1].strip()[:80]}")


def table(counts: Mapping[str, Counts]) -> Iterator[str]:
    """Yield the rows of a table in Markdown."""
    yield "| language | repositories | files | lines | chunks | by lines | borders | at declarations | in long texts |"
    yield "| --- | --- | --- | --- | --- | --- | --- | --- | --- |"
    for language, seen in sorted(counts.items()):
        share = f"{seen.at_declarations / seen.borders:.3f}" if seen.borders else ""
        numbers = (len(seen.repositories), seen.files, seen.lines, seen.chunks, seen.by_lines or "", seen.borders or "")
        cells = (f"{number:,}" if isinstance(number, int) else number for number in numbers)
        yield f"| {' | '.join((language, *cells, share, str(seen.in_texts or '')))} |"


def main() -> int:
    """Check the given repositories and print a table by language."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", type=Path, help="bare repositories")
    parser.add_argument("--show", type=int, default=0, help="show so many borders that are not at a declaration")
    options = parser.parse_args()
    check = Check(options.show)
    for folder in options.folders:
        check.read(folder)
    print(*table(check.counts), sep="\n")
    borders = sum(seen.borders for seen in check.counts.values())
    good = sum(seen.at_declarations for seen in check.counts.values())
    files, chunks = (sum(getattr(seen, name) for seen in check.counts.values()) for name in ("files", "chunks"))
    print(f"{len(options.folders)} repositories, {len(check.counts)} languages, {files:,} files, {chunks:,} chunks")
    print(f"{good:,} of {borders:,} borders at declarations ({good / max(borders, 1):.4f})")
    print(f"verdicts: {dict(check.verdicts.most_common())}")
    print(*check.failures, f"{len(check.failures)} failures", sep="\n")
    return bool(check.failures)


if __name__ == "__main__":
    sys.exit(main())
