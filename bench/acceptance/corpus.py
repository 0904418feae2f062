"""Fill an installation with pinned public repositories."""

import argparse
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from bench.acceptance.installation import Installation
from bench.acceptance.questions import Questionnaire, check_evidence
from bench.acceptance.report import progress
from bench.acceptance.repositories import Clone, find_clone, pinned


def add_corpus_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that every check over public repositories takes."""
    parser.add_argument("--repos", type=Path, required=True, metavar="FOLDER", help="clones, called owner+name or name")
    parser.add_argument("--only", nargs="+", default=[], metavar="OWNER/NAME", help="only these repositories")
    parser.add_argument("--scratch", type=Path, metavar="FOLDER", help="keep the index here and reuse it")
    parser.add_argument("--seed", type=int, default=1, help="seed of every random choice (1)")
    parser.add_argument("--json", action="store_true", help="print one JSON document instead of tables")


@contextmanager
def scratch_folder(kept: Path | None) -> Iterator[Path]:
    """Yield the folder to keep, or a temporary folder if there is none."""
    if kept is not None:
        kept.mkdir(parents=True, exist_ok=True)
        yield kept.resolve()
        return
    with TemporaryDirectory(prefix="codequarry-bench-") as folder:
        yield Path(folder)


def find_clones(folder: Path, questionnaires: Iterable[Questionnaire]) -> list[Clone]:
    """Return the clone of each questionnaire at its commit, after checking the evidence of its answers."""
    clones = []
    for questionnaire in questionnaires:
        clone = find_clone(folder, questionnaire.repo, questionnaire.commit)
        check_evidence(questionnaire, clone)
        clones.append(clone)
    return clones


def fill(installation: Installation, clones: Iterable[Clone], scratch: Path) -> None:
    """Index every clone at its commit with the `codequarry` command."""
    sources = scratch / "repositories"
    for clone in clones:
        progress(f"indexing {clone.name} into the {installation.store} store")
        installation.run("index", str(pinned(clone, sources)), "--name", clone.short_name)


def indexed_paths(installation: Installation, clone: Clone) -> set[str]:
    """Return the paths that are indexed of a repository, without the skipped ones."""
    listing = installation.run("files", clone.short_name)
    return {record["path"] for record in listing["files"]}
