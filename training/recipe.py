"""What decides the model beside the data."""

import math
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Course:
    """How long and how fast a table learns: ``rate`` is of Adam, after a short rise, with cosine decay."""

    epochs: int
    rate: float
    warm_up: float = 0.02

    def rate_at(self, number: int, steps: int) -> float:
        """Return the rate of a step, counted from 1."""
        warm = max(1.0, self.warm_up * steps)
        return self.rate * min(1.0, number / warm) * 0.5 * (1 + math.cos(math.pi * min(1.0, number / steps)))


@dataclass(frozen=True, slots=True)
class Member:
    """One of the tables that are learned apart: from the pairs alone, or ``taught`` besides (training.teacher)."""

    course: Course = Course(epochs=1, rate=0.01)
    taught: bool = False


@dataclass(frozen=True, slots=True)
class Recipe:
    """What decides the model beside the data. Shares are probabilities."""

    dimension: int = 256
    # Tables that are learned apart from each other and then merged (training.merge). Those that were taught find more
    # of what people ask, the others more of what comments say; merged, they do both (README.md).
    members: tuple[Member, ...] = (Member(taught=True), Member(taught=True), Member(), Member())
    batch: int = 2_048
    # Pairs of one package that stand together: each is a hard negative of the others.
    block: int = 8
    scale: float = 20.0
    # A model that says how near the texts of a batch are: how much that counts beside the pairs, and the scale of
    # cosines. minilm is all-MiniLM-L6-v2, Apache-2.0, which `codequarry models install` brings as well.
    teacher: str = "minilm"
    # What it says of other texts is not asked for: comments inside code are a third of what it would read.
    taught_kinds: tuple[str, ...] = ("doc", "name", "title")
    teacher_weight: float = 1.0
    teacher_scale: float = 20.0
    text_dropout: float = 0.1
    # Texts that are cut to a few of their first words: what people ask is shorter than what they write beside code.
    short_share: float = 0.3
    fewest_words: int = 3
    most_words: int = 9
    code_dropout: float = 0.2
    path_share: float = 0.7
    head_share: float = 0.7
    # Codes that keep some words of their doc comment, as they do in an index, and how many of the words.
    doc_share: float = 0.2
    doc_words: float = 0.3
    # Queries that get words as people put before what they ask, and the name of the language.
    question_share: float = 0.33
    language_share: float = 0.15
