"""Measure vectors without a ranker: files cut every 50 lines below their path, and the pieces nearest to a question.

There is no ranker, no words and no chunker, so the figures are those of the model. Asks the questions of
bench/questions and bench/tuning at their commits and prints the mean reciprocal rank of the first correct file.

    python -m bench.plain_retrieval --repos ~/clones
    python -m bench.plain_retrieval --repos ~/clones --models codequarry-1 minilm --split heldout --only koajs/koa
"""

import argparse
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path

import numpy as np

from bench.acceptance.questions import Questionnaire, load
from bench.acceptance.report import print_table, progress
from bench.acceptance.repositories import LINK_MODE, SUBMODULE_MODE, Clone, find_clone, read_blobs, read_tree
from bench.ranking import QUESTIONS
from codequarry.ingest.chunking.languages import GRAMMAR_LANGUAGES, language_of
from codequarry.ingest.files.content import NotText, decode, generated_marker, is_minified
from codequarry.shared.embedding.factory import open_embedder
from codequarry.shared.embedding.port import Embedder
from codequarry.shared.index.opened_index import models_folder
from codequarry.shared.settings.config import EmbeddingSettings, load_settings
from training.figures import Figure

LINES = 50


def pieces(clone: Clone) -> Iterator[tuple[str, str]]:
    """Yield path and text of each piece of LINES lines of the source files that people wrote."""
    entries = [entry for entry in read_tree(clone) if entry.mode not in (LINK_MODE, SUBMODULE_MODE)]
    sources = [entry for entry in entries if language_of(entry.path) in GRAMMAR_LANGUAGES]
    for entry, (_, data) in zip(sources, read_blobs(clone, [entry.blob for entry in sources]), strict=True):
        decoded = decode(data)
        if isinstance(decoded, NotText):
            continue
        language = language_of(entry.path) or "text"
        if generated_marker(decoded.text, language) or is_minified(decoded.text, language):
            continue
        lines = decoded.text.split("\n")
        for at in range(0, len(lines), LINES):
            text = "\n".join(lines[at : at + LINES])
            if text.strip():
                yield entry.path, f"{entry.path}\n{text}"


def ask(model: Embedder, questionnaire: Questionnaire, found: Sequence[tuple[str, str]]) -> list[float]:
    """Return the reciprocal rank of the first correct file for each question, 0 if none is a source file."""
    paths = [path for path, _ in found]
    rows = model.embed_documents([text for _, text in found])
    reciprocal = []
    for question in questionnaire.questions:
        nearest = np.argsort(-(rows @ model.embed_query(question.text)), kind="stable")
        files = list(dict.fromkeys(paths[place] for place in nearest))
        right = [files.index(path) + 1 for path in question.paths if path in files]
        reciprocal.append(1 / min(right) if right else 0.0)
    return reciprocal


def main() -> None:
    """Print a row for each repository, and the figure of all."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repos", type=Path, required=True, metavar="FOLDER", help="clones of the public repositories")
    parser.add_argument("--models", nargs="+", default=["codequarry-1", "minilm"], metavar="NAME")
    parser.add_argument("--split", choices=("development", "heldout"), default="development")
    parser.add_argument("--only", nargs="+", default=(), metavar="OWNER/NAME", help="only these repositories")
    options = parser.parse_args()
    folder = models_folder(load_settings().settings)
    questionnaires = [item for place in QUESTIONS for item in load(place, options.only) if item.split == options.split]
    every: dict[str, list[float]] = defaultdict(list)
    rows: list[list[object]] = []
    for questionnaire in questionnaires:
        found = list(pieces(find_clone(options.repos, questionnaire.repo, questionnaire.commit)))
        row: list[object] = [questionnaire.repo, len(found), len(questionnaire.questions)]
        for name in options.models:
            progress(f"{questionnaire.repo}: {len(found):,} pieces by {name}")
            with closing(open_embedder(EmbeddingSettings(model=name), folder)) as model:
                reciprocal = ask(model, questionnaire, found)
            every[name] += reciprocal
            row.append(float(np.mean(reciprocal)))
        rows.append(row)
    print_table(
        f"{LINES} lines, vectors only, {options.split}", ["repository", "pieces", "questions", *options.models], rows
    )
    for name, reciprocal in every.items():
        print(f"{name}: {Figure.of(np.array(reciprocal))}")


if __name__ == "__main__":
    main()
