"""Extracts pairs from packages: from every source file, without duplicates, tests, generated files and foreign code."""

import gzip
import hashlib
import json
import random
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, fields
from fnmatch import fnmatch
from multiprocessing import get_context
from pathlib import Path

from codequarry.ingest.chunking.languages import GRAMMAR_LANGUAGES, language_of
from codequarry.ingest.files.content import NotText, decode, generated_marker, is_minified
from codequarry.ingest.files.kinds import kind_of_path
from training.archives import BROKEN, files_of
from training.clients import Fetched
from training.metadata import refused_files
from training.near_copies import Fingerprints
from training.pairs import Pair, pairs_of
from training.writing import whole

# Limits per package, so that the style of one project is not what is learned.
MOST_FILES = 1_000
MOST_PAIRS = 12_000
# Shorter files are left out.
_LEAST_CHARACTERS = 300
SUFFIXES = frozenset(
    {
        ".py", ".js", ".jsx", ".mjs", ".ts", ".tsx", ".go", ".rs", ".java", ".kt", ".scala", ".c", ".h", ".cc", ".cpp",
        ".cxx", ".hh", ".hpp", ".cs", ".rb", ".php", ".swift", ".sh",
    }
)  # fmt: skip
_FIELDS = tuple(field.name for field in fields(Pair))
# Prefixes that the registries put before a package's paths.
_PREFIXES = ("usr/share/php/", "usr/share/", "usr/lib/ruby/vendor_ruby/", "usr/lib/ruby/", "usr/lib/", "package/")


@dataclass(frozen=True, slots=True)
class KeptApart:
    """Fingerprints of the code that is measured on: whole files, and Python functions."""

    files: Path
    functions: Path

    def has_file(self, text: str) -> bool:
        """Return whether a file is a near copy of one of these files."""
        return Fingerprints.read(self.files).has_near_copy(text)

    def has_function(self, text: str) -> bool:
        """Return whether a function without its docstring is a near copy of one of these functions."""
        return Fingerprints.read(self.functions).has_near_copy(text)


def extract(fetched: Fetched, kept_apart: KeptApart) -> list[Pair]:
    """Return at most MOST_PAIRS pairs of a package; its key seeds the choice, which is thus the same each time."""
    chance = random.Random(fetched.package.key)
    files = list(_sources(fetched))
    chance.shuffle(files)
    found: list[Pair] = []
    for path, language, text in files[:MOST_FILES]:
        if not kept_apart.has_file(text):
            found += pairs_of(path, language, text, kept_apart.has_function if language == "python" else None)
    chance.shuffle(found)
    return found[:MOST_PAIRS]


def _sources(fetched: Fetched) -> Iterator[tuple[str, str, str]]:
    seen, refused = set(), refused_files(fetched)
    for raw, data in files_of(fetched.archive, SUFFIXES):
        path = own_path(raw, fetched)
        language = language_of(path)
        if language not in GRAMMAR_LANGUAGES or path.endswith(".d.ts") or kind_of_path(path, language) != "source":
            continue
        if any(_fits(path, pattern) for pattern in refused):
            continue
        decoded = decode(data)
        if isinstance(decoded, NotText) or len(decoded.text) < _LEAST_CHARACTERS:
            continue
        text = decoded.text.replace("\r\n", "\n")
        digest = hashlib.sha256(text.encode()).digest()
        if digest in seen or generated_marker(text, language) or is_minified(text, language):
            continue
        seen.add(digest)
        yield path, language, text


def _fits(path: str, pattern: str) -> bool:
    """Return whether a pattern for the upstream sources may match a file, whose installed path differs."""
    folder, _, name = pattern.rpartition("/")
    if set(name) <= {"*"}:
        return f"/{folder.rpartition('/')[2]}/" in f"/{path}"
    return fnmatch(path.rpartition("/")[2], name)


def own_path(path: str, fetched: Fetched) -> str:
    """Return a file's path in its project, without the prefix of the registry."""
    path = path.removeprefix("./")
    if fetched.package.registry == "go":
        return path.removeprefix(f"{fetched.package.name}@{fetched.package.version}/")
    if fetched.package.registry == "crates":
        return path.partition("/")[2]
    return next((path.removeprefix(prefix) for prefix in _PREFIXES if path.startswith(prefix)), path)


def extract_all(fetched: Iterable[Fetched], folder: Path, kept_apart: KeptApart) -> Iterator[tuple[str, int]]:
    """Write missing files of pairs while packages are still fetched; then yield each key and its number of pairs."""
    folder.mkdir(parents=True, exist_ok=True)
    # No fork, because threads fetch packages at the same time.
    with ProcessPoolExecutor(mp_context=get_context("forkserver")) as pool:
        try:
            running = {
                pool.submit(_write, package, folder, kept_apart): package
                for package in fetched
                if not _place(folder, package).exists()
            }
            for done in as_completed(running):
                yield running[done].package.key, done.result()
        except BaseException:
            pool.shutdown(cancel_futures=True)  # finished packages are kept
            raise


def _write(fetched: Fetched, folder: Path, kept_apart: KeptApart) -> int:
    try:
        pairs = extract(fetched, kept_apart)
    except BROKEN as error:
        raise RuntimeError(f"{fetched.archive} can't be read: {error}; delete it to fetch it again") from error
    with whole(_place(folder, fetched)) as fresh, gzip.open(fresh, "wt", compresslevel=3) as file:
        file.writelines(json.dumps({name: getattr(pair, name) for name in _FIELDS}) + "\n" for pair in pairs)
    return len(pairs)


def read_pairs(folder: Path, key: str) -> list[Pair]:
    """Read the extracted pairs of a package."""
    with gzip.open(folder / f"{key}.jsonl.gz", "rt") as file:
        return [Pair(**json.loads(line)) for line in file]


def _place(folder: Path, fetched: Fetched) -> Path:
    return folder / f"{fetched.package.key}.jsonl.gz"
