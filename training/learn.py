"""Trains one model: several tables in separate processes, which are then merged."""

import hashlib
import multiprocessing
import os
from collections.abc import Iterator
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
from training.teacher import Teacher
from training.train import Report, Weights, begin, train
from training.writing import whole

PAIRS = "train.npz"
VOCABULARY = "vocabulary.txt"
TEACHER = "teacher"
# Each training process uses one thread for multiplications, so that the processes do not compete for cores.
_THREADS = "OPENBLAS_NUM_THREADS"


@dataclass(frozen=True, slots=True)
class Learning:
    """What every table is trained with."""

    data: Dataset
    vocabulary: Vocabulary
    augmentation: Augmentation

    @classmethod
    def read(cls, work: Path, recipe: Recipe) -> "Learning":
        """Read the pairs and tokens of a folder."""
        data, vocabulary = Dataset.read(work / PAIRS), Vocabulary.read(work / VOCABULARY)
        questions, languages = question_tokens(vocabulary), language_tokens(vocabulary, data.languages)
        return cls(data, vocabulary, Augmentation(recipe, questions, languages, len(vocabulary.tokens)))

    def occurrences(self) -> NDArray[np.int64]:
        """Return how often each token occurs in texts and codes (tokens)."""
        parts = (self.data.parts["text"], self.data.parts["code"])
        return np.sum([np.bincount(part.flat, minlength=self.augmentation.tokens) for part in parts], axis=0)


def made_of(work: Path, recipe: Recipe) -> str:
    """Return a hash of everything that decides what is learned, except the program."""
    digest = hashlib.blake2b(repr(recipe).encode(), digest_size=16)
    for name in (PAIRS, VOCABULARY):
        with (work / name).open("rb") as file:
            digest.update(hashlib.file_digest(file, "blake2b").digest())
    return digest.hexdigest()


def learn(work: Path, seed: int, recipe: Recipe) -> tuple[Vocabulary, Weights]:
    """Return what one seed learns; existing members are used again."""
    parts = [work / f"part-{seed}-{number}.npz" for number in range(len(recipe.members))]
    missing = [(number, part) for number, part in enumerate(parts) if not part.exists()]
    if missing:
        with _one_thread_each(), ProcessPoolExecutor(mp_context=multiprocessing.get_context("spawn")) as pool:
            list(pool.map(partial(_learn_apart, work, seed, recipe), *zip(*missing, strict=True)))
    learning = Learning.read(work, recipe)
    return learning.vocabulary, merge([_read(part) for part in parts], learning.occurrences())


def _learn_apart(work: Path, seed: int, recipe: Recipe, number: int, part: Path) -> None:
    learning, member, chance = Learning.read(work, recipe), recipe.members[number], (seed, number)
    weights = begin(learning.data, learning.augmentation.tokens, recipe, chance)
    report = reporting(f"seed {seed}, member {number + 1} of {len(recipe.members)}")
    teacher = Teacher.read(recipe, learning.data, work / TEACHER) if member.taught else None
    train(learning.data, weights, learning.augmentation, member.course, chance, report, teacher)
    with whole(part) as fresh, fresh.open("wb") as file:
        np.savez(file, rows=weights.rows, log_query=weights.log_query)


def _read(part: Path) -> Weights:
    with np.load(part) as stored:
        return Weights(stored["rows"], stored["log_query"])


def reporting(what: str) -> Report:
    """Return a function that prints the progress of a training."""
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
