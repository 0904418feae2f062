"""Compare the definitions of chunks with those of Universal Ctags, per language.

    python -m bench.definitions_against_ctags FOLDER [FOLDER ...] [--held-out FOLDER] [--language lua] [--missing 20]

A folder may be a git repository; only its tracked files are read then. A definition counts as found if the chunk that
holds its line has its name among ``defines`` (or as its symbol). Tags that are no definitions in our sense are left
out; ``bench/ctags_tags.py`` says which and why. Query files are tuned with the first folders. Of folders after
--held-out, only totals are shown, so that nobody tunes with them.
"""

import argparse
import re
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from bench.ctags_tags import Tag, lines_of_texts, read_tags, reason_left_out
from codequarry.ingest.chunking.chunker import chunk_file
from codequarry.ingest.chunking.languages import GRAMMAR_LANGUAGES, language_of
from codequarry.ingest.chunking.pieces import Sizes
from codequarry.ingest.chunking.source_file import SourceFile
from codequarry.shared.model import Chunk
from codequarry.shared.settings.config import ChunkingSettings

LARGEST_FILE = 1_000_000
# Files with such lines are minified, and not indexed.
MINIFIED_LINE, MINIFIED_MEAN_LINE = 5_000, 300
COMPARED = GRAMMAR_LANGUAGES | {"perl", "less"}


@dataclass(slots=True)
class Recall:
    """What was found of one language."""

    files: int = 0
    total: int = 0
    found: int = 0
    left_out: Counter[str] = field(default_factory=Counter)
    lost: list[Tag] = field(default_factory=list)

    @property
    def share(self) -> str:
        """The share of definitions that chunks know."""
        return f"{self.found / self.total:.3f}" if self.total else "-"


def sources(folder: Path) -> Iterator[Path]:
    """Yield the files of a folder, or the tracked files of a repository."""
    listed = subprocess.run(["git", "-C", folder, "ls-files", "-z"], capture_output=True, check=False)
    if listed.returncode == 0 and listed.stdout:
        yield from (folder / name for name in listed.stdout.decode(errors="replace").split("\0") if name)
    else:
        yield from sorted(path for path in folder.rglob("*") if path.is_file())


def by_language(folders: Sequence[Path], wanted: frozenset[str]) -> dict[str, list[Path]]:
    """Return the files of some folders that are to be compared."""
    files: defaultdict[str, list[Path]] = defaultdict(list)
    for path in (path for folder in folders for path in sources(folder)):
        language = language_of(path.name)
        if language in wanted and path.is_file() and path.stat().st_size < LARGEST_FILE:
            files[language].append(path)
    return files


def chunks_of(path: Path) -> list[Chunk]:
    """Return the chunks of a file, or none if it is minified or not text."""
    try:
        text = path.read_bytes().decode()
    except (OSError, UnicodeDecodeError):
        return []
    lines = text.split("\n")
    if max(map(len, lines)) > MINIFIED_LINE or len(text) > MINIFIED_MEAN_LINE * len(lines):
        return []
    language = language_of(str(path), lines[0]) or "text"
    return chunk_file(SourceFile("bench", str(path), "", language, text), Sizes.of(ChunkingSettings()))


def recall_of(paths: Sequence[Path]) -> Recall:
    """Compare the chunks of some files with the tags of ctags."""
    tags: defaultdict[str, list[Tag]] = defaultdict(list)
    for tag in read_tags(paths):
        tags[tag.path].append(tag)
    recall = Recall(len(paths))
    for path in paths:
        chunks = chunks_of(path) if str(path) in tags else []
        known = [(chunk.start_line - 1, chunk.end_line + 1, names_of(chunk)) for chunk in chunks]
        texts = lines_of_texts(path) if path.suffix in {".ex", ".exs"} else frozenset()
        for tag in tags[str(path)] if chunks else ():
            if reason := "an example in a doc string" if tag.line in texts else reason_left_out(tag):
                recall.left_out[f"{tag.kind} ({reason})"] += 1
                continue
            recall.total += 1
            found = is_found(tag, known)
            recall.found += found
            recall.lost += [] if found else [tag]
    return recall


def names_of(chunk: Chunk) -> frozenset[str]:
    """Return the names that a chunk defines."""
    given = (*chunk.defines, chunk.symbol_name, chunk.qualified_name, chunk.package)
    return frozenset(_plain(name) for name in given if name)


def is_found(tag: Tag, known: Sequence[tuple[int, int, frozenset[str]]]) -> bool:
    """Return whether a chunk at the line of a tag has its name; chunks have a first line, a last line and names."""
    # A selector of Objective-C has as many words as arguments; the chunk's name is the first.
    name = tag.name.split(":", 1)[0] if tag.language == "ObjectiveC" else tag.name
    # A pseudo class belongs to no name.
    name = re.split(r"(?<!^)[:\[]", name, maxsplit=1)[0] if tag.language in {"CSS", "SCSS"} else name
    # ``attr_accessor :x`` also defines ``x=``.
    name = _plain(name.removesuffix("=") if tag.kind == "accessor" else name)
    # A name may be qualified on one side only: `Foo::bar`, `M.pay`, `M:pay`.
    last = re.split(r"::|[.:\\]", name)[-1]
    here = (names for start, end, names in known if start <= tag.line <= end)
    return any(name in names or last in names or any(f".{name}." in f".{other}." for other in names) for names in here)


def _plain(name: str) -> str:
    """Return a name without quotes, sigils, type parameters and the brackets of an operator."""
    return re.sub(r"\{.*\}$", "", name.replace(" ", "")).strip("`$@%&()") or name


def main() -> int:
    """Print a table in Markdown, and what was not found."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--held-out", nargs="+", type=Path, default=[], help="folders of which only totals are shown")
    parser.add_argument("--language", action="append", help="only this language (as in docs/languages.md)")
    parser.add_argument("--missing", type=int, default=0, help="show so many definitions that were not found")
    options = parser.parse_args()
    wanted = frozenset(options.language or COMPARED)
    tuned, held_out = by_language(options.folders, wanted), by_language(options.held_out, wanted)
    print("| language | files | definitions | recall | held out: files | definitions | recall |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for language in sorted({*tuned, *held_out}):
        ours, others = recall_of(tuned.get(language, [])), recall_of(held_out.get(language, []))
        if ours.total or others.total:
            cells = (f"{each.files:,} | {each.total:,} | {each.share}" for each in (ours, others))
            print(f"| {language} | {' | '.join(cells)} |", flush=True)
        for tag in ours.lost[:: max(1, len(ours.lost) // max(options.missing, 1))][: options.missing]:
            print(f"    {tag.kind} {tag.name} {tag.path}:{tag.line} {tag.pattern}")
        for kind, number in ours.left_out.most_common(8):
            print(f"{language}: left out: {number:,} {kind}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
