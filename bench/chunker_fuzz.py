"""Feed the chunkers damaged files of every language until the time is up, and keep what breaks an invariant.

Real files are cut, spliced, repeated, nested and changed byte by byte, then decoded, masked and chunked as in a run, in
a child process with limits of memory and processor time. Each file must get a verdict, each line must be in a chunk,
chunks must be in order and have exactly the file's text, and only a chunk of a single line may exceed the maximum. What
fails is made smaller while it fails in the same way, and written to --findings with the reason. Every language that the
installation knows is tested if the given repositories or the tests have a file of it.

    python -m bench.chunker_fuzz ~/clones/*.git --seconds 600 --findings /tmp/findings
"""

import argparse
import hashlib
import os
import pickle
import random
import signal
import subprocess
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from codequarry.ingest.chunking.languages import language_of
from codequarry.ingest.chunking.text import count_tokens
from codequarry.ingest.files.content import NotText, decode
from codequarry.ingest.files.process_limits import limit_memory
from codequarry.ingest.files.read_file import ReadFile, ReadingRules
from codequarry.ingest.files.reader import judge
from codequarry.ingest.files.reading_order import MEMORY_BYTES
from codequarry.ingest.files.scan import FileTask, PathRules
from codequarry.ingest.git.blob_reader import BlobReader
from codequarry.ingest.git.objects import Mirror
from codequarry.ingest.git.trees import TreeEntry, list_tree
from codequarry.ingest.secrets.masked_text import MASK
from codequarry.ingest.secrets.policy import SecretRules
from codequarry.shared.model import INDEXED, SYMBOL_TYPES, Chunk
from codequarry.shared.settings.config import ChunkingSettings, SettingsModel

# A file that takes longer than the first is reported; the second ends the process, as in a run.
SLOW_SECONDS, MOST_SECONDS = 8.0, 30
MOST_BYTES = 300_000
SEEDS_OF_A_LANGUAGE = 60
SEED_BYTES = 60_000
SHRINK_SECONDS = 60.0
SAMPLES = Path(__file__).parents[1] / "tests/unit/ingest/chunking/samples"
# What breaks lexers, and what opens without closing.
TOKENS = [
    b"(", b"[", b"{", b"}", b"]", b")", b"<", b">", b"/*", b"*/", b"'''", b'"""', b"'", b'"', b"`", b"```\n",
    b"~~~\n", b"$(", b"${", b"#{", b"<<EOF\n", b"\\\n", b"\\", b"\t", b"\n", b"\n\n", b"\r", b"\r\n", b"\f", b"\0",
    b"\x0b", b"\xe2\x80\xa8", b"\xc2\x85", b"\xef\xbb\xbf", b"\xff", b"\xc3", "é".encode(), "名".encode(),
    "😀".encode(), b"end\n", b"class A {\n", b"class A:\n", b"def f(a):\n", b"a<b,", b"x => ", b"? : ", b"# ",
    b"---\n", b"- ", b"key: ", b"key = ", b"[a]\n", b"#if X\n", b"#endif\n", b"@", b";", b",", b"<a>", b"</a>",
    b"<!--", b"-->", b"<![CDATA[", b"|", b"&a *a\n", b"\\begin{a}\n", b"====\n", b".. a::\n", b"begin\n",
    b"BEGIN;\n", b"SELECT ", b"{{", b"{%", b"%}", b"<?php ", b"if a\n", b"fn a() {\n", b"lambda: ", b"not ",
    b"a.b", b"password = 'hunter2!x'\n", b"-----BEGIN RSA PRIVATE KEY-----\n",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Case:
    """A file to chunk: its path, which decides the language, its bytes and the chunking settings."""

    path: str
    data: bytes
    sizes: ChunkingSettings


def problem(case: Case) -> str:
    """Chunk a file as a run does; return the invariant that its chunks break, or an empty string."""
    settings = SettingsModel(chunking=case.sizes)
    rules = ReadingRules.of("r", settings, SecretRules.of(settings.secrets))
    task: FileTask = PathRules(settings).decide(TreeEntry(case.path, "100644", "b" * 40, len(case.data)))
    file = judge(task, case.data, rules)
    decoded = decode(case.data)
    if isinstance(decoded, NotText):
        return "" if file.verdict == decoded.reason else f"verdict: {file.verdict} for {decoded.reason}"
    if file.verdict != INDEXED:
        return f"verdict: {file.verdict} for a text"
    return next(broken(file, decoded.text, case.sizes.max_tokens), "")


def broken(file: ReadFile, text: str, maximum: int) -> Iterator[str]:
    """Yield the invariants that the chunks of a file break."""
    # The summary of a file spans lines that other chunks hold.
    chunks = [piece.chunk for piece in file.pieces if not piece.chunk.is_summary]
    starts = [0]
    for row in text.split("\n"):
        starts.append(min(starts[-1] + len(row) + 1, len(text)))
    starts = starts[:-1] if starts[-1] == starts[-2] else starts
    if bool(chunks) != bool(text):
        yield "coverage: text without chunks"
    if chunks and (chunks[0].start_line, chunks[-1].end_line) != (1, len(starts) - 1):
        yield "coverage: the first or the last line is in no chunk"
    if [chunk.ordinal for chunk in chunks] != list(range(len(chunks))):
        yield "order: ordinals"
    if len({chunk.id for chunk in chunks}) != len(chunks):
        yield "order: equal ids"
    for before, after in pairwise(chunks):
        if not before.start_line < after.start_line <= before.end_line + 1 <= after.end_line:
            yield "order: lines"
    if chunks and all(chunk.derived and not chunk.text.strip() for chunk in chunks) and text.strip():
        yield "text: nothing of the file"
    for chunk in chunks:
        yield from _broken_chunk(chunk, text, starts, maximum)


def _broken_chunk(chunk: Chunk, text: str, starts: Sequence[int], maximum: int) -> Iterator[str]:
    if not 1 <= chunk.start_line <= chunk.end_line < len(starts):
        yield "lines: out of range"
        return
    if (chunk.start_char, chunk.end_char) != (starts[chunk.start_line - 1], starts[chunk.end_line]):
        yield "lines: characters"
    expected = text[chunk.start_char : chunk.end_char]
    # A chunk of a notebook has the text of its cells.
    if chunk.text != expected and not chunk.derived and not _is_masked(chunk, expected):
        yield "text: differs"
    if (
        count_tokens(chunk.text if chunk.derived else expected) > maximum
        and chunk.start_line != chunk.end_line
        and not chunk.masked
    ):
        yield "size: over the maximum"
    if chunk.symbol_type not in SYMBOL_TYPES:
        yield "type: unknown"
    if chunk.body_start_char is not None and not chunk.start_char <= chunk.body_start_char <= chunk.end_char:
        yield "body: outside"


def _is_masked(chunk: Chunk, expected: str) -> bool:
    same = zip(chunk.text, expected, strict=False)
    return chunk.masked and len(chunk.text) == len(expected) and all(a in (b, MASK) for a, b in same)


def work() -> None:
    """Answer each case from the input with its problem and its processor time."""
    outbox = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    limit_memory(MEMORY_BYTES)
    while True:
        try:
            case = pickle.load(sys.stdin.buffer)
        except EOFError:
            return
        began = time.process_time()
        signal.setitimer(signal.ITIMER_VIRTUAL, MOST_SECONDS)
        try:
            found = problem(case)
        except Exception as error:
            place = error.__traceback__
            while place and place.tb_next:
                place = place.tb_next
            where = f"{Path(place.tb_frame.f_code.co_filename).name}:{place.tb_lineno}" if place else ""
            found = f"exception: {type(error).__name__} at {where}"
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        took = time.process_time() - began
        pickle.dump(found or ("slow" if took > SLOW_SECONDS else ""), outbox)
        outbox.flush()


class Worker:
    """A child process that survives its own crashes by being replaced."""

    def __init__(self) -> None:
        self._start()

    def _start(self) -> None:
        command = [sys.executable, "-m", "bench.chunker_fuzz", "--work"]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def problem(self, case: Case) -> str:
        """Return what is wrong with a case, including how it ended the process."""
        assert self._process.stdin
        assert self._process.stdout
        try:
            pickle.dump(case, self._process.stdin)
            self._process.stdin.flush()
            return str(pickle.load(self._process.stdout))
        except (EOFError, BrokenPipeError, pickle.UnpicklingError):
            code = self._process.wait()
            self._start()
            return f"ended: {signal.Signals(-code).name if code < 0 else f'exit {code}'}"

    def close(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.wait()


def mutated(data: bytes, others: Sequence[bytes], chance: random.Random) -> bytes:
    """Return a file with up to eight changes."""
    for _ in range(chance.randint(1, 8)):
        data = chance.choice(MUTATIONS)(data, others, chance)[:MOST_BYTES]
    return data


def _slice(data: bytes, chance: random.Random, most: int = 2_000) -> tuple[int, int]:
    start = chance.randint(0, len(data))
    return start, min(len(data), start + int(chance.paretovariate(0.6)) % most)


def _splice(data: bytes, others: Sequence[bytes], chance: random.Random) -> bytes:
    other = chance.choice(others)
    start, end = _slice(other, chance)
    at = chance.randint(0, len(data))
    return data[:at] + other[start:end] + data[at:]


def _delete(data: bytes, others: Sequence[bytes], chance: random.Random) -> bytes:
    start, end = _slice(data, chance)
    return data[:start] + data[end:]


def _repeat(data: bytes, others: Sequence[bytes], chance: random.Random) -> bytes:
    start, end = _slice(data, chance, 200)
    return data[:end] + data[start:end] * int(chance.paretovariate(0.4) % 5_000) + data[end:]


def _nest(data: bytes, others: Sequence[bytes], chance: random.Random) -> bytes:
    at, times = chance.randint(0, len(data)), int(chance.paretovariate(0.4) % 20_000)
    opener = b"".join(chance.choices(TOKENS, k=chance.randint(1, 3)))
    return data[:at] + opener * times + data[at:]


def _insert(data: bytes, others: Sequence[bytes], chance: random.Random) -> bytes:
    at = chance.randint(0, len(data))
    return data[:at] + chance.choice(TOKENS) + data[at:]


def _change(data: bytes, others: Sequence[bytes], chance: random.Random) -> bytes:
    changed = bytearray(data)
    for _ in range(min(len(data), chance.randint(1, 20))):
        changed[chance.randrange(len(changed))] = chance.randrange(256)
    return bytes(changed)


def _cut_off(data: bytes, others: Sequence[bytes], chance: random.Random) -> bytes:
    at = chance.randint(0, len(data))
    return chance.choice([data[:at], data[at:]])


def _line_ends(data: bytes, others: Sequence[bytes], chance: random.Random) -> bytes:
    old, new = (
        chance.choice([b"\n", b"\r\n", b" "]),
        chance.choice([b"\r", b"\r\n", b"\n", b"\n\n", b"\n\r", b"\f", b""]),
    )
    return data.replace(old, new, chance.choice([1, 10, -1]))


def _move_lines(data: bytes, others: Sequence[bytes], chance: random.Random) -> bytes:
    lines = data.split(b"\n")
    at, to = chance.randrange(len(lines)), chance.randrange(len(lines))
    lines[at], lines[to] = lines[to], b" " * chance.choice([0, 1, 4, 80]) + lines[at]
    return b"\n".join(lines)


Mutation = Callable[[bytes, Sequence[bytes], random.Random], bytes]
MUTATIONS: list[Mutation] = [
    _splice, _delete, _repeat, _nest, _insert, _insert, _change, _cut_off, _line_ends, _move_lines,
]  # fmt: skip


def shrunk(case: Case, found: str, worker: Worker) -> Case:
    """Return a smaller case with the same problem."""
    deadline, step = time.monotonic() + SHRINK_SECONDS, max(1, len(case.data) // 2)
    while step and time.monotonic() < deadline:
        at, is_smaller = 0, False
        while at < len(case.data) and time.monotonic() < deadline:
            less = Case(case.path, case.data[:at] + case.data[at + step :], case.sizes)
            if worker.problem(less) == found:
                case, is_smaller = less, True
            else:
                at += step
        step = step if is_smaller and step > 1 else step // 2
    return case


def seeds(folders: Sequence[Path]) -> dict[str, list[tuple[str, bytes]]]:
    """Return real files by language: paths, whose extensions matter, and bytes."""
    found: defaultdict[str, list[tuple[str, bytes]]] = defaultdict(list)
    for path in sorted(SAMPLES.rglob("*")):
        if path.is_file() and (language := language_of(path.name)):
            found[language].append((path.name, path.read_bytes()))
    for folder in folders:
        mirror = Mirror(folder, {})
        with BlobReader(mirror) as blobs:
            for entry in list_tree(folder, mirror.environment, mirror.commit_of("HEAD") or "HEAD"):
                language = language_of(entry.path)
                is_wanted = entry.mode.startswith("100") and 0 < entry.size <= SEED_BYTES
                if language and is_wanted and len(found[language]) < SEEDS_OF_A_LANGUAGE:
                    found[language].append((entry.path.rpartition("/")[2], blobs.read(entry.blob)))
    return {language: files for language, files in sorted(found.items()) if files}


def fuzz(
    language: str, files: Sequence[tuple[str, bytes]], seconds: float, chance: random.Random, worker: Worker, kept: Path
) -> Counter[str]:
    """Test a language for some seconds; return how often each problem was met."""
    others = [data for _, data in files] + TOKENS
    met: Counter[str] = Counter()
    deadline, cases = time.monotonic() + seconds, 0
    while time.monotonic() < deadline:
        path, data = chance.choice(files)
        sizes = chance.choice(
            [ChunkingSettings(), ChunkingSettings(target_tokens=30, max_tokens=60, overlap_tokens=10)]
        )
        case = Case(path, mutated(data, others, chance), sizes)
        cases += 1
        if found := worker.problem(case):
            met[found] += 1
            if met[found] == 1:
                smaller = shrunk(case, found, worker)
                name = hashlib.sha256(smaller.data).hexdigest()[:8]
                (kept / f"{name}-{smaller.path}").write_bytes(smaller.data)
                print(f"  {language}: {found}, {len(smaller.data)} bytes in {name}-{smaller.path} ({sizes.max_tokens})")
    print(f"{language}: {cases:,} cases, {sum(met.values())} with problems", flush=True)
    return met


def main() -> None:
    """Test the chosen languages and print what was found."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="*", type=Path, help="bare repositories to take files from")
    parser.add_argument("--seconds", type=float, default=600, help="time for each language (600)")
    parser.add_argument("--language", action="append", help="test only this language; may be repeated")
    parser.add_argument("--findings", type=Path, default=Path("findings"), help="folder for what was found")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--work", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.work:
        work()
        return
    given.findings.mkdir(parents=True, exist_ok=True)
    worker = Worker()
    failed: Counter[str] = Counter()
    try:
        for language, files in seeds(given.folders).items():
            if not given.language or language in given.language:
                chance = random.Random(f"{given.seed} {language}")
                failed += fuzz(language, files, given.seconds, chance, worker, given.findings)
    finally:
        worker.close()
    print(dict(failed) or "no problems")
    sys.exit(bool(failed))


if __name__ == "__main__":
    main()
