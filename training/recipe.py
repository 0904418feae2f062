"""The settings that decide the model, besides the data."""

import math
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Course:
    """How long and how fast a table learns: ``rate`` is Adam's, after a short rise, with cosine decay."""

    epochs: int
    rate: float
    warm_up: float = 0.02

    def rate_at(self, number: int, steps: int) -> float:
        """Return the rate of a step, counted from 1."""
        warm = max(1.0, self.warm_up * steps)
        return self.rate * min(1.0, number / warm) * 0.5 * (1 + math.cos(math.pi * min(1.0, number / steps)))


@dataclass(frozen=True, slots=True)
class Member:
    """One of the tables that are trained separately: from pairs only, or also ``taught`` (training.teacher)."""

    course: Course = Course(epochs=1, rate=0.01)
    taught: bool = False


@dataclass(frozen=True, slots=True)
class Recipe:
    """The settings of a model. Shares are probabilities."""

    dimension: int = 256
    # Tables that are trained separately and then merged (training.merge). Taught tables find more of what people ask,
    # the others find more of what comments say, and the merged table does both (README.md).
    members: tuple[Member, ...] = (Member(taught=True), Member(taught=True), Member(), Member())
    batch: int = 2_048
    # Pairs of one package in a row: each is a hard negative of the others.
    block: int = 8
    scale: float = 20.0
    # A model that gives the similarity of the texts of a batch, the weight of that beside the pairs, and the scale of
    # cosines. minilm is all-MiniLM-L6-v2 (Apache-2.0), which `codequarry models install` installs too.
    teacher: str = "minilm"
    # Other kinds are not read by the teacher: comments inside code would be a third of its work.
    taught_kinds: tuple[str, ...] = ("doc", "name", "title")
    teacher_weight: float = 1.0
    teacher_scale: float = 20.0
    text_dropout: float = 0.1
    # Texts that are cut to their first words: questions are shorter than comments.
    short_share: float = 0.3
    fewest_words: int = 3
    most_words: int = 9
    code_dropout: float = 0.2
    path_share: float = 0.7
    head_share: float = 0.7
    # Codes that keep some words of their doc comment, as in an index, and the share of the words.
    doc_share: float = 0.2
    doc_words: float = 0.3
    # Texts that get the words of a question, or the name of the language.
    question_share: float = 0.33
    language_share: float = 0.15
