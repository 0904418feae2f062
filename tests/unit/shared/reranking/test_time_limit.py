"""A re-ranker has a time limit, and its errors never escape."""

from collections.abc import Callable, Iterator, Sequence
from threading import Event

from codequarry.shared.errors import EmbeddingError
from codequarry.shared.reranking.time_limit import scored_within

# No test waits this long: scores that are in time arrive at once.
LONG = 60.0
SHORT = 0.05
TEXTS = ["a", "bb", "ccc"]


class Scripted:
    """A re-ranker that scores a text by its length and calls ``before`` for each text."""

    name = "scripted"
    leaves_machine = False

    def __init__(self, before: Callable[[int], None] = lambda _: None) -> None:
        self._before = before
        self.asked: list[tuple[str, float]] = []

    def score(self, query: str, texts: Sequence[str], seconds: float) -> Iterator[tuple[int, float]]:
        self.asked.append((query, seconds))
        for index, text in enumerate(texts):
            self._before(index)
            yield index, float(len(text))

    def close(self) -> None:
        """Do nothing: nothing is open."""


def test_every_text_is_scored_if_there_is_time() -> None:
    model = Scripted()
    outcome = scored_within(model, "query", TEXTS, LONG)
    assert (outcome.scores, outcome.ended, outcome.error) == ({0: 1.0, 1: 2.0, 2: 3.0}, True, None)
    assert model.asked == [("query", LONG)]


def test_late_scores_are_left_out_and_earlier_scores_kept() -> None:
    released, ended = Event(), Event()

    def hang(index: int) -> None:
        if index == 2:
            released.wait(LONG)
            ended.set()

    outcome = scored_within(Scripted(hang), "query", TEXTS, 1.0)
    assert (outcome.scores, outcome.ended) == ({0: 1.0, 1: 2.0}, False)
    released.set()
    assert ended.wait(LONG)
    assert outcome.scores == {0: 1.0, 1: 2.0}, "late scores must not be added after the outcome"


def test_a_model_that_hangs_times_out() -> None:
    released = Event()
    outcome = scored_within(Scripted(lambda _: bool(released.wait(LONG)) and None), "query", TEXTS, SHORT)
    released.set()
    assert (outcome.scores, outcome.ended) == ({}, False)


def test_an_abandoned_model_stops_at_its_next_score() -> None:
    released, seen = Event(), list[int]()
    stopped = Event()

    class Stopping(Scripted):
        def score(self, query: str, texts: Sequence[str], seconds: float) -> Iterator[tuple[int, float]]:
            try:
                yield from super().score(query, texts, seconds)
            finally:
                stopped.set()

    def hang(index: int) -> None:
        seen.append(index)
        released.wait(LONG)

    scored_within(Stopping(hang), "query", TEXTS, SHORT)
    released.set()
    assert stopped.wait(LONG)
    assert seen == [0]


def test_an_error_of_the_model_is_in_the_outcome() -> None:
    def fail(index: int) -> None:
        if index:
            raise EmbeddingError("out of order")

    outcome = scored_within(Scripted(fail), "query", TEXTS, LONG)
    assert outcome.ended
    assert str(outcome.error) == "out of order"


def test_an_unexpected_error_of_the_model_is_in_the_outcome() -> None:
    outcome = scored_within(Scripted(lambda _: {}["no key"]), "query", TEXTS, LONG)
    assert isinstance(outcome.error, KeyError)
