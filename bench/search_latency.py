"""Measure warm searches in this process, over the index of CODEQUARRY_HOME or of the settings.

Asks every question of bench/questions twice over all repositories; the first round warms up. Prints wall time and
processor time, because other programs slow only the former.

    python -m bench.search_latency
"""

import argparse
import os
import time

# Must be set before numpy is imported, as in the command line and the service.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from bench.acceptance.questions import load
from bench.acceptance.report import print_table
from codequarry.search_api.search.engine import SearchEngine, parse_request
from codequarry.shared.catalog.ledger import read_head
from codequarry.shared.embedding.factory import open_embedder
from codequarry.shared.model import Filters
from codequarry.shared.settings.config import load_settings
from codequarry.shared.store.factory import open_store
from codequarry.shared.versions.snapshots import head_snapshot

TOP_K = 20


def main() -> None:
    """Print the median and the 95th percentile in milliseconds."""
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    settings = load_settings().settings
    embedder = open_embedder(settings.embedding, settings.home / "models")
    store = open_store(settings, embedder.dimension)
    engine = SearchEngine(store, embedder, settings)
    chunks = store.count(head_snapshot(read_head(store)), Filters())
    requests = [
        parse_request({"query": question.text, "top_k": TOP_K}) for asked in load() for question in asked.questions
    ]
    rows: list[list[object]] = []
    for round_name in ("first round", "warm"):
        clock, processor = [], []
        for request in requests:
            began, used = time.perf_counter(), time.process_time()
            engine.search(request)
            clock.append((time.perf_counter() - began) * 1000)
            processor.append((time.process_time() - used) * 1000)
        shown = [
            f"{sorted(times)[int(len(times) * share)]:.1f}" for times in (clock, processor) for share in (0.5, 0.95)
        ]
        rows.append([round_name, len(requests), *shown])
    headings = ["", "searches", "p50 ms", "p95 ms", "processor p50 ms", "p95 ms"]
    print_table(f"{settings.store} store, {chunks} chunks", headings, rows)
    store.close()
    embedder.close()


if __name__ == "__main__":
    main()
