"""Measures a model: mean reciprocal ranks on CoSQA's development half and on held-out packages."""

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
    """A model under measurement: how it embeds queries and documents."""

    queries: Embed
    documents: Embed


# Candidates among which the code of a text must be found.
CANDIDATES = 4_000
# Samples of the bootstrap (Efron 1979), and the percentiles of its interval.
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
        """Return the mean over queries, with its interval by bootstrap."""
        chance = np.random.default_rng(1)
        means = reciprocal[chance.integers(len(reciprocal), size=(_SAMPLES, len(reciprocal)))].mean(axis=1)
        low, high = np.percentile(means, _ENDS)
        return cls(float(reciprocal.mean()), float(low), float(high), len(reciprocal))

    def __str__(self) -> str:
        return f"{self.mean:.3f} ({self.low:.3f} to {self.high:.3f}, {self.queries:,} queries)"


def reciprocal_ranks(queries: Matrix, candidates: Matrix, right: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the reciprocal rank of each query's right candidate; ties count against it."""
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
    """Measure texts against their code among CANDIDATES of held-out packages: all, by kind, and by language."""
    chance = np.random.default_rng(4000)
    # The code of a title contains a doc comment that often repeats the title, so titles measure nothing new.
    pairs = [pair for pair in pairs if pair.kind != "title"]
    chosen = [pairs[number] for number in chance.permutation(len(pairs))[:CANDIDATES]]
    codes = model.documents(["\n".join(filter(None, (pair.path, pair.head, pair.code))) for pair in chosen])
    found = reciprocal_ranks(model.queries([pair.text for pair in chosen]), codes, np.arange(len(chosen)))
    figures = {"all": Figure.of(found)}
    for labels in (np.array([pair.kind for pair in chosen]), np.array([pair.language for pair in chosen])):
        figures |= {str(label): Figure.of(found[labels == label]) for label in sorted(set(labels))}
    return figures
