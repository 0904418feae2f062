"""Measure the embedding models that run on this machine: opening, texts a second, one query.

``python bench/embedding_models.py [--models codequarry-1 minilm] [--folder FOLDER] [--seconds 5]``

Short texts are one-line functions, chunks are 1,200 characters of the standard library's source. MiniLM is installed
into the folder (a temporary folder by default) unless it is there already. Every text is new to the model: no cache.
"""

import argparse
import os
import statistics
import sys
import sysconfig
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from codequarry.shared.embedding.factory import open_embedder
from codequarry.shared.embedding.install import install_model
from codequarry.shared.embedding.port import Embedder
from codequarry.shared.known_models import DEFAULT, find_model
from codequarry.shared.settings.config import EmbeddingSettings

CHUNK_CHARACTERS = 1200
TEXTS = 20_000
QUERIES = 50
BATCH = 128
ROW = "{:12}" + " {:>10}" * 6


def main() -> None:
    """Measure each model and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", nargs="+", default=[DEFAULT, "minilm"])
    parser.add_argument("--folder", type=Path, help="models folder; a temporary folder if not given")
    parser.add_argument("--seconds", type=float, default=5.0, help="how long each rate is measured")
    given = parser.parse_args()
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f} before the first measurement")
    print(ROW.format("model", "load s", "short/s", "per cpu-s", "chunks/s", "per cpu-s", "query ms"))
    with _models_folder(given.folder) as folder:
        for name in given.models:
            known = find_model(name)
            if known is not None and known.jar is not None:
                install_model(name, folder, lambda text: print(text, file=sys.stderr))
            _measure(name, folder, given.seconds)


def _measure(name: str, folder: Path, seconds: float) -> None:
    before = time.perf_counter()
    embedder = open_embedder(EmbeddingSettings(model=name), folder)
    embedder.embed_query("load")
    loaded = time.perf_counter() - before
    short, short_cpu = _rate(embedder, _short_texts(), seconds)
    chunks, chunks_cpu = _rate(embedder, _chunks(), seconds)
    query = _query_seconds(embedder)
    embedder.close()
    rates = [f"{rate:,.0f}" for rate in (short, short_cpu, chunks, chunks_cpu)]
    print(ROW.format(name, f"{loaded:.2f}", *rates, f"{1000 * query:.2f}"))


def _rate(embedder: Embedder, texts: Sequence[str], seconds: float) -> tuple[float, float]:
    """Return texts per second of wall time and per second of processor time."""
    done, start, processor = 0, time.perf_counter(), time.process_time()
    while time.perf_counter() - start < seconds:
        at = done % len(texts)
        done += len(embedder.embed_documents(texts[at : at + BATCH]))
    return done / (time.perf_counter() - start), done / (time.process_time() - processor)


def _query_seconds(embedder: Embedder) -> float:
    times = []
    for number in range(QUERIES):
        before = time.perf_counter()
        embedder.embed_query(f"where is the retry delay of request {number} computed?")
        times.append(time.perf_counter() - before)
    return statistics.median(times)


def _short_texts() -> list[str]:
    return [f"def get_user_{number}(self, id: int) -> User: return self.users.find(id)" for number in range(TEXTS)]


def _chunks() -> list[str]:
    folder = Path(sysconfig.get_path("stdlib"))
    source = "".join(path.read_text("utf-8", "replace") for path in sorted(folder.glob("*.py")))
    return [source[at : at + CHUNK_CHARACTERS] for at in range(0, len(source), CHUNK_CHARACTERS)]


@contextmanager
def _models_folder(given: Path | None) -> Iterator[Path]:
    if given is not None:
        yield given
        return
    with tempfile.TemporaryDirectory() as scratch:
        yield Path(scratch)


if __name__ == "__main__":
    main()
