"""Take the fingerprints of the code bases that are measured, from clones of them: copies of their files are then known.

python -m training.fingerprint --repos ~/clones psf/requests pallets/click
"""

import argparse
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from itertools import chain
from pathlib import Path

import numpy as np

from codequarry.ingest.files.kinds import kind_of_path
from codequarry.ingest.files.languages import GRAMMAR_LANGUAGES, language_of
from training.near_copies import ORDERS, Fingerprints, signature

PLACE = Path(__file__).parent / "kept-apart.npz"
# A shorter file is like many others.
LEAST_CHARACTERS = 500


def texts_of(repository: Path) -> Iterator[str]:
    """Yield every source file of a bare clone's newest commit, tests left out."""
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


def _signatures(repository: Path) -> list[np.ndarray]:
    return [signature(text) for text in texts_of(repository)]


def main() -> None:
    """Write one file of fingerprints for all clones; a clone that can't be read fails the whole."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repos", type=Path, required=True, metavar="FOLDER", help="clones, called owner+name")
    parser.add_argument("names", nargs="+", metavar="OWNER/NAME")
    options = parser.parse_args()
    clones = [options.repos / name.replace("/", "+") for name in options.names]
    places = [next(one for one in (clone / "repo" / ".git", clone / "repo", clone) if one.is_dir()) for clone in clones]
    with ProcessPoolExecutor() as pool:
        rows = list(chain.from_iterable(pool.map(_signatures, places)))
    Fingerprints.index(np.stack(rows) if rows else np.zeros((0, ORDERS), np.uint8)).write(PLACE)
    print(f"{len(rows):,} files of {len(places)} code bases", file=sys.stderr)


if __name__ == "__main__":
    main()
