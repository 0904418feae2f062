"""Measure the built-in model: texts of 100 tokens a second, and the start-up time of a process until its first query.

``python bench/embedding_speed.py [--model FOLDER] [--seconds 5] [--starts 9]``

The texts are stretches of the standard library's source of exactly 100 of the model's tokens. Each text occurs once,
names recur as they do in a repository. Start-up is measured in new processes: from opening the model to the vector of
the first query and to the model's name, and the imports before that. There is no cache.
"""

import argparse
import os
import statistics
import subprocess
import sys
import sysconfig
import time
from collections.abc import Iterator
from itertools import cycle, islice
from pathlib import Path

from codequarry.shared.embedding.factory import FOLDER
from codequarry.shared.embedding.table_embedder import TableEmbedder
from codequarry.shared.embedding.token_table import TokenTable
from codequarry.shared.settings.config import EmbeddingSettings

TOKENS = 100
START = """
import sys, time
began = time.perf_counter()
from codequarry.shared.embedding.table_embedder import TableEmbedder
from codequarry.shared.settings.config import EmbeddingSettings
from pathlib import Path
imported = time.perf_counter()
model = TableEmbedder(Path(sys.argv[1]), "model", EmbeddingSettings(), "")
model.embed_query("where is the retry delay computed?")
asked = time.perf_counter()
model.name
print(imported - began, asked - imported, time.perf_counter() - imported)
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--model", type=Path, default=FOLDER, help="folder of a token table; the built-in model if not given"
    )
    parser.add_argument("--seconds", type=float, default=5.0, help="how long the rate is measured")
    parser.add_argument("--starts", type=int, default=9, help="number of processes to start")
    given = parser.parse_args()
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f} before the first measurement")
    imports, query, name = (f"{1000 * seconds:.0f} ms" for seconds in _start(given.model, given.starts))
    print(f"start-up    {query} to the first query, {name} with the model's name (imports before that: {imports})")
    rate, processor = _rate(given.model, given.seconds)
    print(f"embedding   {rate:,.0f} texts/s of {TOKENS} tokens, {processor:,.0f} per second of processor time")


def _start(folder: Path, starts: int) -> list[float]:
    """Return the medians of what START prints, in seconds."""
    command = [sys.executable, "-c", START, str(folder)]
    runs = [subprocess.run(command, check=True, capture_output=True, text=True).stdout for _ in range(starts)]
    return [statistics.median(column) for column in zip(*(map(float, run.split()) for run in runs), strict=True)]


def _rate(folder: Path, seconds: float) -> tuple[float, float]:
    """Return texts per second of wall time and per second of processor time."""
    model = TableEmbedder(folder, "model", EmbeddingSettings(), "")
    texts = list(_texts(TokenTable.read(folder)))
    done, start, processor = 0, time.perf_counter(), time.process_time()
    endless = cycle(texts)
    while batch := list(islice(endless, model.preferred_batch)):
        done += len(model.embed_documents(batch))
        if time.perf_counter() - start >= seconds:
            break
    return done / (time.perf_counter() - start), done / (time.process_time() - processor)


def _texts(table: TokenTable) -> Iterator[str]:
    """Yield stretches of source of TOKENS tokens each."""
    for path in sorted(Path(sysconfig.get_path("stdlib")).glob("*.py")):
        source = path.read_text("utf-8", "replace")
        spans = table.vocabulary.spans(source)
        for at in range(0, len(spans) - TOKENS, TOKENS):
            yield source[spans[at][0] : spans[at + TOKENS - 1][1]]


if __name__ == "__main__":
    main()
