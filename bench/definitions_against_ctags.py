"""Compare the definitions of chunks with those of Universal Ctags, per language.

    python -m bench.definitions_against_ctags FOLDER [FOLDER ...] [--language lua] [--missing 20]

A folder may be a git repository; only its tracked files are read then. A definition counts as found if the chunk that
holds its line has its name among ``defines`` (or as its symbol). Kinds of ctags that are no definitions in our sense
are left out; ``LEFT_OUT`` says which and why.
"""

import argparse
import json
import re
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

from codequarry.ingest.chunking.chunker import chunk_file
from codequarry.ingest.chunking.languages import GRAMMAR_LANGUAGES, language_of
from codequarry.ingest.chunking.pieces import Sizes
from codequarry.ingest.chunking.source_file import SourceFile
from codequarry.shared.model import Chunk
from codequarry.shared.settings.config import ChunkingSettings

LARGEST_FILE = 1_000_000
# A file with a longer line is minified: its names are in one chunk, which keeps the first few hundred.
MINIFIED_LINE = 5_000
LEFT_OUT = {
    "local": "a local variable",
    "label": "a label inside a function",
    "parameter": "a parameter",
    "unknown": "ctags does not know what it is",
    "anchor": "a YAML anchor",
    "heredoc": "a here document",
    "script": "a sourced file, which is an import",
    "import": "an import",
    "library": "an import",
    "packageName": "a package clause",
    "package": "a package clause (but Perl's packages and Elixir's modules are counted)",
    "id": "an id",
    "globalVar": "an assignment that no function's definition belongs to",
    "functionVar": "a variable inside a function",
    "implementation": "an extension of a protocol that is defined elsewhere",
    "nameattr": "a column name",
    "loadedPackage": "an import",
    "using": "an import",
    "makefile": "an included makefile, which is an import",
    "image": "a base image, which is an import",
    "listelement": "an element of a vector",
    "vector": "a literal value inside a call",
    "list": "a literal value inside a call",
    "dataframe": "a literal value inside a call",
}
LEFT_OUT_IN = {
    ("PowerShell", "variable"): "an assignment, local or not",
    ("ObjectiveC", "category"): "an extension of a class that is defined elsewhere",
    ("ObjectiveC", "typedef"): "ctags takes the arguments of a block type for names",
    ("Perl", "format"): "a report format; ctags also takes `format => x` in a hash for one",
}
# What ctags takes for names: keywords in Haskell (`pattern X = ...`), and local variables in Lua
# (`local s = spy.new(function`).
MISTAKEN = {
    "Haskell": re.compile(r"^/\^(?:pattern|\s+return) "),
    "Lua": re.compile(r"^/\^\s*local [\w, ]+= *(?!function)"),
}
COUNTED_IN = {"package": {"Perl", "Java"}}


def sources(folder: Path) -> Iterator[Path]:
    """Yield the files of a folder, or the tracked files of a repository."""
    listed = subprocess.run(["git", "-C", folder, "ls-files", "-z"], capture_output=True, check=False)
    if listed.returncode == 0 and listed.stdout:
        yield from (folder / name for name in listed.stdout.decode(errors="replace").split("\0") if name)
    else:
        yield from sorted(path for path in folder.rglob("*") if path.is_file())


def ctags(paths: list[Path]) -> Iterator[dict[str, object]]:
    """Yield the tags of some files."""
    command = ["ctags", "--output-format=json", "--fields=+neKSPl", "-L", "-", "-f", "-"]
    listed = "\n".join(map(str, paths))
    ran = subprocess.run(command, input=listed, capture_output=True, text=True, check=False, errors="replace")
    for line in ran.stdout.splitlines():
        tag = json.loads(line)
        if tag.get("_type") == "tag" and "line" in tag:
            yield tag


def chunks_of(path: Path) -> list[Chunk]:
    """Return the chunks of a file, or none if it is minified or not text."""
    try:
        text = path.read_bytes().decode()
    except (OSError, UnicodeDecodeError):
        return []
    if max(map(len, text.split("\n"))) > MINIFIED_LINE:
        return []
    language = language_of(str(path), text.split("\n", 1)[0]) or "text"
    return chunk_file(SourceFile("bench", str(path), "", language, text), Sizes.of(ChunkingSettings()))


def is_counted(tag: dict[str, object]) -> bool:
    """Return whether a tag is a definition that an index should know."""
    kind, name = str(tag["kind"]), str(tag["name"])
    if name in {"()", "_", "__attribute__"} or name.startswith(
        ("__anon", "anonymous", "AnonymousFunction", "anonFunc")
    ):
        return False
    language = str(tag.get("language"))
    mistaken = MISTAKEN.get(language)
    if (language, kind) in LEFT_OUT_IN or (mistaken and mistaken.match(str(tag.get("pattern")))):
        return False
    if language == "OCaml" and kind == "module" and tag["line"] == 1:  # named by its file
        return False
    scoped_in_function = tag.get("scopeKind") in {"function", "method", "func", "subroutine"}
    if scoped_in_function and kind in {"variable", "constant", "member", "field", "property"}:
        return False
    return kind not in LEFT_OUT or language in COUNTED_IN.get(kind, ())


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--language", action="append", help="only this language (as in docs/languages.md)")
    parser.add_argument("--missing", type=int, default=0, help="show so many definitions that were not found")
    options = parser.parse_args()
    wanted = set(options.language or GRAMMAR_LANGUAGES)
    files: dict[str, list[Path]] = defaultdict(list)
    for folder in options.folders:
        for path in sources(folder):
            language = language_of(path.name)
            if language in wanted and path.is_file() and path.stat().st_size < LARGEST_FILE:
                files[language].append(path)
    print(f"{'language':<18}{'files':>7}{'ctags':>9}{'found':>9}{'recall':>8}  left out")
    for language, paths in sorted(files.items()):
        print(_row(language, paths, options.missing))
    for kind, reason in LEFT_OUT.items():
        print(f"left out: {kind}: {reason}", file=sys.stderr)
    return 0


def _row(language: str, paths: list[Path], missing: int) -> str:
    tags: dict[str, list[dict[str, object]]] = defaultdict(list)
    left_out: Counter[str] = Counter()
    for tag in ctags(paths):
        if is_counted(tag):
            tags[str(tag["path"])].append(tag)
        else:
            left_out[str(tag["kind"])] += 1
    total = found = 0
    lost: list[str] = []
    for path in paths:
        expected = tags.get(str(path))
        if not expected:
            continue
        chunks = chunks_of(path)
        if not chunks:
            continue
        for tag in expected:
            total += 1
            if _is_found(tag, chunks):
                found += 1
            else:
                lost.append(f"    {tag['kind']} {tag['name']} {path}:{tag['line']}")
    recall = f"{found / total:.3f}" if total else "-"
    kinds = ", ".join(f"{kind} {count}" for kind, count in left_out.most_common(6))
    row = f"{language:<18}{len(paths):>7}{total:>9}{found:>9}{recall:>8}  {kinds}"
    step = max(1, len(lost) // missing) if missing else 1
    return "\n".join([row, *(lost[::step][:missing] if missing else [])])


def _is_found(tag: dict[str, object], chunks: list[Chunk]) -> bool:
    line, name = int(str(tag["line"])), str(tag["name"])
    # A name may be qualified on one side only: `Foo::bar`, `M.pay`, `-[Foo bar:]`.
    # A selector of Objective-C has as many words as arguments; the chunk's name is the first.
    name = name.split(":", 1)[0] if tag.get("language") == "ObjectiveC" else name
    name = name.strip("()") or name
    last = name.replace("::", ".").rsplit(".", 1)[-1]
    for chunk in chunks:
        if chunk.start_line - 1 <= line <= chunk.end_line + 1:
            names = {
                *(known.strip("`") for known in chunk.defines),
                chunk.symbol_name,
                chunk.qualified_name,
                chunk.package,
            }
            if name in names or last in names or any(known and f".{name}." in f".{known}." for known in names):
                return True
    return False


if __name__ == "__main__":
    sys.exit(main())
