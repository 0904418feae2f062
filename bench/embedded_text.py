"""Measure the gain of the lines before a chunk's text, such as names and signature, on public code.

The query is the first sentence of a function's doc comment, and the comment is removed from the text. The function
itself is the correct hit, among all chunks of its repository. Such queries name symbols more often than people do, so
the gain is an upper bound. Only repositories of the development half of bench/questions are read.

    python -m bench.embedded_text --repos ~/clones
"""

import argparse
import random
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np

from bench.acceptance.corpus import find_clones
from bench.acceptance.questions import load
from bench.acceptance.report import print_table
from bench.acceptance.repositories import Clone
from codequarry.ingest.chunking.chunker import chunk_file
from codequarry.ingest.chunking.comments import summary
from codequarry.ingest.chunking.languages import GRAMMAR_LANGUAGES, language_of
from codequarry.ingest.chunking.lexical import embedded_text
from codequarry.ingest.chunking.pieces import Sizes
from codequarry.ingest.chunking.source_file import SourceFile
from codequarry.shared.embedding.factory import open_embedder
from codequarry.shared.model import Chunk
from codequarry.shared.settings.config import ChunkingSettings, EmbeddingSettings

QUERIES = 200
FEWEST_WORDS = 6
MOST_CHUNKS = 8000


def chunks_of(clone: Clone) -> Iterator[Chunk]:
    """Yield the chunks of every file that has a grammar."""
    git = ("git", f"--git-dir={clone.git_dir}")
    listed = subprocess.run([*git, "ls-tree", "-r", "-z", "--name-only", clone.commit], capture_output=True, check=True)
    for path in listed.stdout.decode(errors="replace").split("\0"):
        language = language_of(path)
        if language not in GRAMMAR_LANGUAGES:
            continue
        blob = subprocess.run([*git, "show", f"{clone.commit}:{path}"], capture_output=True, check=False)
        text = blob.stdout.decode(errors="replace")
        yield from chunk_file(SourceFile("r", path, "b", language, text), Sizes.of(ChunkingSettings()))


def without_doc(chunk: Chunk) -> Chunk:
    """Remove the doc comment from a chunk, because the query comes from it."""
    text = chunk.text
    for line in chunk.doc.split("\n"):
        text = text.replace(line.strip(), "") if len(line.strip()) > len("*/ ") else text
    return replace(chunk, text=text, doc="")


def without_names(chunk: Chunk) -> str:
    """Return the embedded text with path, context and text only."""
    return embedded_text(replace(chunk, symbol_name=None, qualified_name=None, signature=None))


def main() -> None:
    """Print one row for each repository."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repos", type=Path, required=True, metavar="FOLDER", help="clones, called owner+name or name")
    options = parser.parse_args()
    embedder = open_embedder(EmbeddingSettings(), Path("models"))
    wanted = [questionnaire for questionnaire in load() if questionnaire.split == "development"]
    rows: list[list[object]] = []
    for clone in find_clones(options.repos, wanted):
        chunks = list(chunks_of(clone))[:MOST_CHUNKS]
        asked = [
            (place, summary(chunk.doc))
            for place, chunk in enumerate(chunks)
            if chunk.symbol_type in ("function", "method") and len(chunk.doc.split()) >= FEWEST_WORDS
        ]
        asked = random.Random(1).sample(asked, min(QUERIES, len(asked)))
        queries = np.stack([embedder.embed_query(text) for _, text in asked])
        bare = [without_doc(chunk) for chunk in chunks]
        scores = []
        for texts in (map(without_names, bare), map(embedded_text, bare)):
            cosines = queries @ embedder.embed_documents(list(texts)).T
            ranks = [(row > row[place]).sum() + 1 for row, (place, _) in zip(cosines, asked, strict=True)]
            scores.append(float(np.mean(1 / np.array(ranks))))
        rows.append([clone.name, len(chunks), len(asked), *(f"{score:.3f}" for score in scores)])
    print_table("mean reciprocal rank", ["repository", "chunks", "queries", "without names", "with"], rows)


if __name__ == "__main__":
    main()
