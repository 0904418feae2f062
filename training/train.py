"""Trains the token table: texts near their code, far from all other code of the batch.

The loss is symmetric InfoNCE (van den Oord et al. 2018, as in CLIP, Radford et al. 2021) with a learned scale. A vector
is the normalised sum of sqrt(tf) times the token's row; its gradient is written out, so numpy and scipy suffice. A
table may also learn from a teacher how similar the texts of a batch are (training.teacher).
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from training.augmentation import Augmentation
from training.dataset import Dataset
from training.recipe import Course, Recipe
from training.teacher import Teacher

Matrix = NDArray[np.float32]
Report = Callable[[float, float], None]
Seed = int | Sequence[int]
# Pairs in which document frequencies are counted: enough for all but rare tokens.
_COUNTED = 200_000


@dataclass(frozen=True, slots=True)
class Weights:
    """What is learned: ``rows`` (tokens, dimension), and the logarithm of each token's factor in queries (tokens)."""

    rows: Matrix
    log_query: NDArray[np.float32]


class Adam:
    """Adam (Kingma and Ba 2015) for rows with a gradient only; other rows keep their moments."""

    def __init__(self, shape: tuple[int, ...], first: float = 0.9, second: float = 0.999) -> None:
        self._mean = np.zeros(shape, dtype=np.float32)
        self._square = np.zeros(shape, dtype=np.float32)
        self._first, self._second = first, second

    def step(self, weights: Matrix, rows: NDArray[np.int64], gradient: Matrix, rate: float, number: int) -> None:
        """Move ``weights[rows]`` against ``gradient``; ``number`` counts steps from 1."""
        mean = self._mean[rows] * self._first + gradient * (1 - self._first)
        square = self._square[rows] * self._second + gradient**2 * (1 - self._second)
        self._mean[rows], self._square[rows] = mean, square
        corrected = rate * math.sqrt(1 - self._second**number) / (1 - self._first**number)
        weights[rows] -= corrected * mean / (np.sqrt(square) + 1e-8)


def begin(data: Dataset, tokens: int, recipe: Recipe, seed: Seed) -> Weights:
    """Return an untrained table: random directions with the length of the token's inverse document frequency."""
    chance = np.random.default_rng(seed)
    sample = chance.permutation(len(data))[:_COUNTED]
    seen = np.zeros(tokens)
    for part in (data.parts["text"], data.parts["code"]):
        places, ids = part.take(sample)
        seen += np.bincount(np.unique(places * tokens + ids) % tokens, minlength=tokens)
    frequency = np.log((2 * len(sample) + 1) / (seen + 1)) + 0.1
    directions = chance.standard_normal((tokens, recipe.dimension)) / math.sqrt(recipe.dimension)
    rows = (directions * (frequency / frequency.mean())[:, None]).astype(np.float32)
    return Weights(rows, np.zeros(tokens, dtype=np.float32))


def batches(data: Dataset, recipe: Recipe, chance: np.random.Generator) -> Iterator[NDArray[np.int64]]:
    """Yield batches of blocks of pairs from one package; every pair occurs about once."""
    order = chance.permutation(len(data))
    order = order[np.argsort(data.package[order], kind="stable")]
    whole = len(order) // recipe.block * recipe.block
    blocks = order[:whole].reshape(-1, recipe.block)
    # A block that reaches into the next package does no harm.
    blocks = blocks[chance.permutation(len(blocks))]
    a_batch = recipe.batch // recipe.block
    for at in range(0, len(blocks) - a_batch + 1, a_batch):
        yield blocks[at : at + a_batch].ravel()


def train(
    data: Dataset,
    weights: Weights,
    augmentation: Augmentation,
    course: Course,
    seed: Seed,
    report: Report,
    teacher: Teacher | None = None,
) -> None:
    """Train ``weights`` in place; ``report`` receives the share that is done and the mean loss."""
    recipe, chance = augmentation.recipe, np.random.default_rng(seed)
    log_scale = np.array([math.log(recipe.scale)], dtype=np.float32)
    adam, query_adam, scale_adam = Adam(weights.rows.shape), Adam(weights.log_query.shape), Adam((1,))
    steps = course.epochs * (len(data) // recipe.batch)
    number, losses = 0, []
    for _ in range(course.epochs):
        for which in batches(data, recipe, chance):
            number += 1
            texts = augmentation.texts(data, which, chance)
            codes = augmentation.codes(data, which, chance)
            same = _same(data.code_key[which]) | _same(data.text_key[which])
            taught = _taught(data, which, teacher, recipe) if teacher else None
            loss, slope = loss_and_gradient(weights, texts, codes, float(np.exp(log_scale[0])), same, taught)
            rate = course.rate_at(number, steps)
            adam.step(weights.rows, slope.tokens, slope.rows, rate, number)
            query_adam.step(weights.log_query, slope.tokens, slope.log_query, rate, number)
            scale_adam.step(log_scale, np.array([0]), np.array([slope.log_scale], np.float32), rate, number)
            np.clip(log_scale, 0.0, math.log(100.0), out=log_scale)
            losses.append(loss)
            if number % 50 == 0:
                report(number / steps, float(np.mean(losses[-50:])))


@dataclass(frozen=True, slots=True)
class Taught:
    """The teacher's softmax of ``scale`` times the cosines between texts ``which`` of a batch (texts, texts)."""

    which: NDArray[np.int64]
    shares: Matrix
    scale: float
    weight: float

    @classmethod
    def of(cls, which: NDArray[np.int64], cosines: Matrix, recipe: Recipe) -> "Taught":
        """Make the shares from the teacher's cosines between these texts."""
        # A copy of a text takes nearly all of its shares; leaving copies out changed nothing (README.md).
        return cls(which, _among_others(recipe.teacher_scale * cosines), recipe.teacher_scale, recipe.teacher_weight)

    def loss_and_slope(self, vectors: Matrix) -> tuple[float, Matrix]:
        """Return the cross entropy of the shares and those of the batch's vectors, and its slope for each vector."""
        taught = vectors[self.which]
        own = _among_others(self.scale * (taught @ taught.T))
        loss = -float((self.shares * np.log(own + 1e-12)).sum()) / len(own)
        by_cosine = (own - self.shares) * (self.weight * self.scale / len(own))
        slope = np.zeros_like(vectors)
        slope[self.which] = (by_cosine + by_cosine.T) @ taught
        return self.weight * loss, slope


def _taught(data: Dataset, batch: NDArray[np.int64], teacher: Teacher, recipe: Recipe) -> Taught | None:
    which = data.of_kinds(recipe.taught_kinds, batch)
    if len(which) < 2:
        return None  # there is no other text
    return Taught.of(which, teacher.likeness(data.text_key[batch[which]]), recipe)


@dataclass(frozen=True, slots=True)
class Gradient:
    """The slope of the loss for the ``tokens`` of the batch, and for log(scale)."""

    tokens: NDArray[np.int64]
    rows: Matrix
    log_query: NDArray[np.float32]
    log_scale: float


def loss_and_gradient(
    weights: Weights,
    texts: sparse.csr_matrix,
    codes: sparse.csr_matrix,
    scale: float,
    same: NDArray[np.bool_],
    taught: Taught | None = None,
) -> tuple[float, Gradient]:
    """Return the loss and its gradient; ``same`` marks pairs with equal texts or codes, which are no negatives."""
    asked = texts @ sparse.diags(np.exp(weights.log_query)).tocsr()
    text_vectors, text_lengths = _unit(asked @ weights.rows)
    code_vectors, code_lengths = _unit(codes @ weights.rows)
    cosines = text_vectors @ code_vectors.T
    logits = scale * cosines
    logits[same] = -np.inf
    by_text, by_code = _softmax(logits, axis=1), _softmax(logits, axis=0)
    own = np.arange(len(logits))
    loss = float(-np.mean(np.log(by_text[own, own] + 1e-12) + np.log(by_code[own, own] + 1e-12)) / 2)
    slope = by_text + by_code
    slope[own, own] -= 2.0
    slope /= 2 * len(logits)
    of_scale = float((slope * cosines).sum()) * scale
    slope *= scale
    towards_texts = slope @ code_vectors
    if taught:
        more, towards = taught.loss_and_slope(text_vectors)
        loss, towards_texts = loss + more, towards_texts + towards
    back_to_texts = _through_unit(towards_texts, text_vectors, text_lengths)
    back_to_codes = _through_unit(slope.T @ text_vectors, code_vectors, code_lengths)
    tokens = np.union1d(texts.indices, codes.indices).astype(np.int64)
    of_texts = asked.T.tocsr()[tokens] @ back_to_texts
    of_codes = codes.T.tocsr()[tokens] @ back_to_codes
    # A token's row enters a query times exp(log_query), so the gradient of the product gives that of both factors.
    of_query = (of_texts * weights.rows[tokens]).sum(axis=1)
    return loss, Gradient(tokens, of_texts + of_codes, of_query, of_scale)


def _unit(sums: Matrix) -> tuple[Matrix, Matrix]:
    lengths = np.maximum(np.linalg.norm(sums, axis=1, keepdims=True), 1e-6)
    return sums / lengths, lengths


def _through_unit(slope: Matrix, unit: Matrix, lengths: Matrix) -> Matrix:
    return (slope - unit * (slope * unit).sum(axis=1, keepdims=True)) / lengths


def _softmax(logits: Matrix, axis: int) -> Matrix:
    powers = np.exp(logits - logits.max(axis=axis, keepdims=True))
    return powers / powers.sum(axis=axis, keepdims=True)


def _among_others(logits: Matrix) -> Matrix:
    others = logits.copy()
    np.fill_diagonal(others, -np.inf)
    return _softmax(others, axis=1)


def _same(keys: NDArray[np.int64]) -> NDArray[np.bool_]:
    equal = keys[:, None] == keys[None, :]
    np.fill_diagonal(equal, False)
    return equal
