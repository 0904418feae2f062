"""Write the fingerprints of the code bases that are measured on, from clones, so that copies of their files are known.

The functions of CoSQA come from many projects, so each function gets a fingerprint.

    python -m training.fingerprint --repos ~/clones psf/requests pallets/click
    python -m training.fingerprint --cosqa ~/cosqa
"""

import argparse
import subprocess
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from itertools import chain
from pathlib import Path

from codequarry.ingest.chunking.chunker import chunk_file
from codequarry.ingest.chunking.languages import GRAMMAR_LANGUAGES, language_of
from codequarry.ingest.chunking.pieces import Sizes
from codequarry.ingest.chunking.source_file import SourceFile
from codequarry.ingest.files.kinds import kind_of_path
from codequarry.shared.settings.config import ChunkingSettings
from training.cosqa import read_cosqa
from training.near_copies import Fingerprints, Signature, signature
from training.pairs import without_doc

FILES = Path(__file__).parent / "kept-apart.npz"
FUNCTIONS = Path(__file__).parent / "kept-apart-functions.npz"
# Shorter files resemble many other files.
LEAST_CHARACTERS = 500


def texts_of(repository: Path) -> Iterator[str]:
    """Yield every source file of a bare clone's newest commit, without tests."""
    git = ("git", f"--git-dir={repository}")
    listed = subprocess.run([*git, "ls-tree", "-r", "-z", "--name-only", "HEAD"], capture_output=True, check=True)
    for path in listed.stdout.decode(errors="replace").split("\0"):
        language = language_of(path) if path else None
        if language not in GRAMMAR_LANGUAGES or kind_of_path(path, language) != "source":
            continue
        blob = subprocess.run([*git, "show", f"HEAD:{path}"], capture_output=True, check=False)
        text = blob.stdout.decode(errors="replace")
        if len(text) >= LEAST_CHARACTERS:
            yield text


def _signatures(repository: Path) -> list[Signature]:
    return [signature(text) for text in texts_of(repository)]


def bare_functions(folder: Path) -> Iterator[str]:
    """Yield the functions of CoSQA without their docstrings, as pairs have them."""
    for code in read_cosqa(folder).codes:
        for chunk in chunk_file(SourceFile("cosqa", "function.py", "", "python", code), Sizes.of(ChunkingSettings())):
            yield without_doc(chunk)


def fingerprints_of(repositories: Sequence[Path]) -> Fingerprints:
    """Return the fingerprints of all files of some bare clones."""
    with ProcessPoolExecutor() as pool:
        return Fingerprints.of_signatures(list(chain.from_iterable(pool.map(_signatures, repositories))))


def main() -> None:
    """Write one file of fingerprints for all clones; an unreadable clone fails the run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repos", type=Path, metavar="FOLDER", help="folder of clones named owner+name")
    parser.add_argument("--cosqa", type=Path, metavar="FOLDER", help="CoSQA's folder, with its code_idx_map.txt")
    parser.add_argument("names", nargs="*", metavar="OWNER/NAME")
    options = parser.parse_args()
    if options.names and not options.repos:
        parser.error("OWNER/NAME needs --repos, the folder of the clones")
    if options.cosqa:
        found = Fingerprints.of(bare_functions(options.cosqa))
        found.write(FUNCTIONS)
        print(f"{len(found.rows):,} functions of CoSQA", file=sys.stderr)
    if options.names:
        clones = [options.repos / name.replace("/", "+") for name in options.names]
        places = [
            next(path for path in (clone / "repo" / ".git", clone / "repo", clone) if path.is_dir()) for clone in clones
        ]
        found = fingerprints_of(places)
        found.write(FILES)
        print(f"{len(found.rows):,} files of {len(places)} code bases", file=sys.stderr)


if __name__ == "__main__":
    main()
