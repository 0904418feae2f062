"""Print how right edges are in every repository of ``repositories.toml``, as the table of docs/relations.md.

    python -m bench.relations.table FOLDER

For each repository, the folder has its work tree as ``LANGUAGE/NAME.tree`` and what an independent tool found in it as
``LANGUAGE/NAME.jsonl``; a repository without both is left out. Totals are over references, so that a large repository
counts more than a small one.
"""

import argparse
import tomllib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.relations.compare import Score, pair, score
from bench.relations.edges import edges_of
from bench.relations.truth import read_rows

# An edge that is less sure is a guess.
CONFIDENCE = 0.5
KINDS = ("call", "all")
LANGUAGES = {
    "python": ("Python", ["python"]),
    "typescript": ("TypeScript", ["typescript", "javascript"]),
    "go": ("Go", ["go"]),
    "rust": ("Rust", ["rust"]),
    "java": ("Java", ["java"]),
}
REPOSITORIES = Path(__file__).with_name("repositories.toml")


@dataclass(frozen=True, slots=True)
class Measured:
    """The calls and all edges of a repository, or of several."""

    name: str
    is_held_out: bool
    scores: tuple[Score, ...]

    def row(self, language: str) -> str:
        """Return a row of the table."""
        figures = [f"{share:.3f}".lstrip("0") for one in self.scores for share in (one.precision, one.recall)]
        references = f"{self.scores[-1].true_edges:,}"
        return f"| {' | '.join([language, self.name, 'yes' if self.is_held_out else '', references, *figures])} |"


def total(name: str, measured: Sequence[Measured]) -> Measured:
    """Return the sum of several repositories."""
    columns = zip(*(one.scores for one in measured), strict=True)
    sums = (
        Score(
            sum(one.true_edges for one in column), sum(one.judged for one in column), sum(one.right for one in column)
        )
        for column in columns
    )
    return Measured(name, all(one.is_held_out for one in measured), tuple(sums))


def measure(folder: Path, language: str, repositories: Iterable[tuple[str, bool]]) -> Iterator[Measured]:
    """Yield the figures of the repositories, each given with whether it is held out, for which the folder has both."""
    for name, is_held_out in repositories:
        tree, truth = folder / language / f"{name}.tree", folder / language / f"{name}.jsonl"
        if tree.is_dir() and truth.is_file():
            pairs = pair(read_rows(truth), edges_of(tree, LANGUAGES[language][1])[0])
            chosen = ([one for one in pairs if kind in ("all", one.truth["kind"])] for kind in KINDS)
            yield Measured(name, is_held_out, tuple(score(ones, CONFIDENCE) for ones in chosen))


def print_language(language: str, measured: Sequence[Measured]) -> None:
    """Print a row for each repository and the totals; the first row names the language."""
    held = [one for one in measured if one.is_held_out]
    sums = [total("**held out**", held)] if held else []
    sums += [total("**all**", measured)] if measured else []
    for at, one in enumerate((*measured, *sums)):
        print(one.row(LANGUAGES[language][0] if at == 0 else ""), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--language", action="append", choices=LANGUAGES, help="all of them if none is given")
    options = parser.parse_args()
    listed = tomllib.loads(REPOSITORIES.read_text())
    print("| language | repository | held out | references | calls: precision | recall | all: precision | recall |")
    print("|---|---|---|---|---|---|---|---|")
    for language in options.language or LANGUAGES:
        halves = listed[language]
        repositories = [(one["name"].partition("/")[2], half == "held") for half in halves for one in halves[half]]
        print_language(language, list(measure(options.folder, language, repositories)))


if __name__ == "__main__":
    main()
