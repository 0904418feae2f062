"""How good a model is: mean reciprocal ranks, on CoSQA's development half and on packages that were held out."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from codequarry.shared.arrays import Matrix
from training.cosqa import read_cosqa
from training.pairs import Pair

Embed = Callable[[Sequence[str]], Matrix]


@dataclass(frozen=True, slots=True)
class Model:
    """What is measured: how it embeds what is asked, and what is looked through."""

    queries: Embed
    documents: Embed


# Candidates among which a text's own code is looked for.
CANDIDATES = 4_000
# Samples of the bootstrap (Efron 1979) and what lies between its ends.
_SAMPLES, _ENDS = 1_000, (2.5, 97.5)


@dataclass(frozen=True, slots=True)
class Figure:
    """A mean reciprocal rank over ``queries``, with the ends of its 95 % confidence interval."""

    mean: float
    low: float
    high: float
    queries: int

    @classmethod
    def of(cls, reciprocal: NDArray[np.float64]) -> "Figure":
        """Take the mean over queries, and its interval by bootstrap."""
        chance = np.random.default_rng(1)
        means = reciprocal[chance.integers(len(reciprocal), size=(_SAMPLES, len(reciprocal)))].mean(axis=1)
        low, high = np.percentile(means, _ENDS)
        return cls(float(reciprocal.mean()), float(low), float(high), len(reciprocal))

    def __str__(self) -> str:
        return f"{self.mean:.3f} ({self.low:.3f} to {self.high:.3f}, {self.queries:,} queries)"


def reciprocal_ranks(queries: Matrix, candidates: Matrix, right: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return one over the rank of each query's right candidate; a tie counts against it."""
    ranks = np.empty(len(queries))
    for at in range(0, len(queries), 512):
        scores = queries[at : at + 512] @ candidates.T
        own = scores[np.arange(len(scores)), right[at : at + 512]]
        ranks[at : at + 512] = (scores >= own[:, None]).sum(axis=1)
    return 1 / ranks


def cosqa(model: Model, folder: Path) -> Figure:
    """Measure the development queries of CoSQA over its functions."""
    asked = read_cosqa(folder)
    return Figure.of(
        reciprocal_ranks(model.queries(asked.queries), model.documents(asked.codes), np.array(asked.right))
    )


def held_out(model: Model, pairs: Sequence[Pair]) -> dict[str, Figure]:
    """Measure texts against their code among CANDIDATES of held-out packages: all, by kind, and by language.

    A title's code is that of its name with a doc comment that often repeats it: nothing new to measure.
    """
    chance = np.random.default_rng(4000)
    pairs = [one for one in pairs if one.kind != "title"]
    chosen = [pairs[number] for number in chance.permutation(len(pairs))[:CANDIDATES]]
    codes = model.documents(["\n".join(filter(None, (one.path, one.head, one.code))) for one in chosen])
    found = reciprocal_ranks(model.queries([one.text for one in chosen]), codes, np.arange(len(chosen)))
    figures = {"all": Figure.of(found)}
    for labels in (np.array([one.kind for one in chosen]), np.array([one.language for one in chosen])):
        figures |= {str(label): Figure.of(found[labels == label]) for label in sorted(set(labels))}
    return figures
