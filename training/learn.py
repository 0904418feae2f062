"""Learning one model: several tables apart from each other, a process each, then all of them merged into one."""

import multiprocessing
import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from codequarry.shared.embedding.vocabulary import Vocabulary
from training.augmentation import Augmentation
from training.dataset import Dataset
from training.merge import merge
from training.questions import language_tokens, question_tokens
from training.recipe import Recipe
from training.reporting import say
from training.train import Report, Weights, begin, train

PAIRS = "train.npz"
VOCABULARY = "vocabulary.txt"
# Each learning process multiplies with one thread: so many at once as there are cores, none waits for another's.
_THREADS = "OPENBLAS_NUM_THREADS"


@dataclass(frozen=True, slots=True)
class Learning:
    """What every table learns from."""

    data: Dataset
    vocabulary: Vocabulary
    augmentation: Augmentation

    @classmethod
    def read(cls, work: Path, recipe: Recipe) -> "Learning":
        """Read the pairs and tokens of a folder."""
        data, vocabulary = Dataset.read(work / PAIRS), Vocabulary.read(work / VOCABULARY)
        questions, languages = question_tokens(vocabulary), language_tokens(vocabulary, data.languages)
        return cls(data, vocabulary, Augmentation(recipe, questions, languages, len(vocabulary.tokens)))

    @property
    def tokens(self) -> int:
        """How many tokens there are."""
        return len(self.vocabulary.tokens)

    def occurrences(self) -> NDArray[np.int64]:
        """Return how often each token stands in a text or code (tokens)."""
        parts = (self.data.parts["text"], self.data.parts["code"])
        return np.sum([np.bincount(part.flat, minlength=self.tokens) for part in parts], axis=0)


def learn(work: Path, seed: int, recipe: Recipe) -> tuple[Vocabulary, Weights]:
    """Return what one seed learns; members that were learned before are taken as they are."""
    parts = [work / f"part-{seed}-{number}.npz" for number in range(recipe.members)]
    missing = [(number, part) for number, part in enumerate(parts) if not part.exists()]
    if missing:
        with _one_thread_each(), ProcessPoolExecutor(mp_context=multiprocessing.get_context("spawn")) as pool:
            list(pool.map(partial(_learn_apart, work, seed, recipe), *zip(*missing, strict=True)))
    learning = Learning.read(work, recipe)
    weights = merge([_read(part) for part in parts], learning.occurrences())
    if recipe.merged.epochs:
        told = reporting(f"seed {seed}, merged")
        train(learning.data, weights, learning.augmentation, recipe.merged, _chance_of(seed, recipe.members), told)
    return learning.vocabulary, weights


def _learn_apart(work: Path, seed: int, recipe: Recipe, number: int, part: Path) -> None:
    learning = Learning.read(work, recipe)
    chance = _chance_of(seed, number)
    weights = begin(learning.data, learning.tokens, recipe, chance)
    told = reporting(f"seed {seed}, member {number + 1} of {recipe.members}")
    train(learning.data, weights, learning.augmentation, recipe.apart, chance, told)
    fresh = part.with_suffix(".new.npz")
    np.savez(fresh, rows=weights.rows, log_query=weights.log_query)
    fresh.replace(part)


def _chance_of(seed: int, number: int) -> Sequence[int]:
    return (seed, number)


def _read(part: Path) -> Weights:
    with np.load(part) as stored:
        return Weights(stored["rows"], stored["log_query"])


def reporting(what: str) -> Report:
    """Return how a training tells how far it is."""
    return lambda share, loss: say(f"train: {what}, {share:.0%}, loss {loss:.3f}")


@contextmanager
def _one_thread_each() -> Iterator[None]:
    before = os.environ.get(_THREADS)
    os.environ[_THREADS] = "1"
    try:
        yield
    finally:
        os.environ.pop(_THREADS)
        if before is not None:
            os.environ[_THREADS] = before
