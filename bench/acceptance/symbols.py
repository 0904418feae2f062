"""Definitions found without our chunker: by Universal Ctags, and by patterns for languages that it does not know."""

import random
import re
import shutil
import subprocess
from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

from bench.acceptance.repositories import Clone, export

# Shorter names are more often ordinary words than names that people look up.
SHORTEST_NAME = 5
LANGUAGES = "C,C++,C#,Go,Java,JavaScript,Kotlin,PHP,Python,Ruby,Rust,Sh,TypeScript"
# Kinds of Universal Ctags that people look up by name. Variables, fields and members only make a name ambiguous.
LOOKED_UP = frozenset({
    "alias", "class", "enum", "func", "function", "generator", "interface", "method", "module", "object",
    "singletonMethod", "struct", "trait", "type", "typealias", "typedef", "union",
})  # fmt: skip
# Kinds that refer to something defined elsewhere.
NO_DEFINITION = frozenset({"implementation", "import", "library", "package", "packageName"})
# Excludes `use X` and local variables.
PHP_KINDS = "--kinds-PHP=cdfit"
# Nobody enters a code base by the names of its tests, and they are so long that they are found too easily.
_TEST_PATH = re.compile(
    r"(^|/)[^/]*(tests?|specs?|testing|testdata|fixtures)[^/]*/|(test|tests|spec|specs)\.\w+$|(^|/)test_", re.IGNORECASE
)
_NO_NAMES = ("__anon", "AnonymousFunction", "constructor", "test_")
_NAME = re.compile(r"[A-Za-z_]\w*[?!]?")

_MODIFIERS = r"(?:[\w@]+(?:\([\w, ]*\))?\s+)*"
_SWIFT = re.compile(rf"^\s*{_MODIFIERS}(?:func|class|struct|enum|protocol|actor|typealias)\s+(\w+)")
_SCALA = re.compile(r"^\s*(?:[\w\[\]@]+\s+)*?(?:def|class|trait|object|type)\s+(\w+)")
# Methods of object literals, which Ctags misses.
_NO_METHOD = r"(?!(?:if|for|while|switch|catch|function)\b)"
_SCRIPT = re.compile(rf"^\s*(?:(?:static|async|get|set)\s+)*{_NO_METHOD}(\w+)\s*\([^()]*\)\s*\{{")
_PATTERNS = {".swift": _SWIFT, ".scala": _SCALA, ".js": _SCRIPT, ".mjs": _SCRIPT, ".ts": _SCRIPT}
_COMMENT = ("//", "/*", "*")


@dataclass(frozen=True, slots=True)
class Definition:
    """Where a name is defined, lines from 1; ``looked_up`` if people search for its kind by name."""

    name: str
    path: str
    line: int
    looked_up: bool


def unique_definitions(clone: Clone, scratch: Path) -> list[Definition]:
    """Return the definitions outside tests whose names have five or more characters and occur only once."""
    folder = export(clone, scratch)
    found = {
        (entry.name, entry.path, entry.line): entry for entry in (*_by_pattern(folder), *_by_ctags(folder))
    }.values()
    times = Counter(definition.name for definition in found)
    unique = (entry for entry in found if entry.looked_up and times[entry.name] == 1 and _is_wanted(entry))
    return sorted(unique, key=lambda entry: (entry.path, entry.line))


def sample(definitions: Collection[Definition], indexed: Collection[str], size: int, seed: int) -> list[Definition]:
    """Draw a sample of the definitions in indexed files."""
    candidates = [entry for entry in definitions if entry.path in indexed]
    return random.Random(seed).sample(candidates, min(size, len(candidates)))


def _is_wanted(entry: Definition) -> bool:
    if len(entry.name) < SHORTEST_NAME or entry.name.startswith(_NO_NAMES) or _TEST_PATH.search(entry.path):
        return False
    return _NAME.fullmatch(entry.name) is not None


def _by_ctags(folder: Path) -> Iterator[Definition]:
    program = shutil.which("ctags-universal") or shutil.which("ctags")
    if program is None:
        raise SystemExit("Universal Ctags is missing; on Debian: apt install universal-ctags")
    arguments = ["-R", "-n", "-f", "-", "--fields=K", PHP_KINDS, f"--languages={LANGUAGES}", "."]
    listing = subprocess.run([program, *arguments], cwd=folder, capture_output=True, check=True).stdout
    for line in listing.decode(errors="replace").splitlines():
        if line.startswith("!_TAG"):
            continue
        name, path, place, kind = line.split("\t")[:4]
        if kind not in NO_DEFINITION:
            number = int(place.removesuffix(';"'))
            yield Definition(name.rpartition(".")[2], path.removeprefix("./"), number, kind in LOOKED_UP)


def _by_pattern(folder: Path) -> Iterator[Definition]:
    for path in sorted(folder.rglob("*")):
        pattern = _PATTERNS.get(path.suffix)
        if pattern is None or not path.is_file() or path.is_symlink():
            continue
        for number, line in enumerate(path.read_text(errors="replace").splitlines(), start=1):
            match = None if line.lstrip().startswith(_COMMENT) else pattern.match(line)
            if match:
                yield Definition(match.group(1), path.relative_to(folder).as_posix(), number, True)
