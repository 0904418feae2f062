"""Asking a re-ranker for no longer than a search can wait, whatever it does meanwhile."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from threading import Event, Lock, Thread

from codequarry.shared.reranking.port import Reranker


@dataclass(frozen=True, slots=True)
class TimedOutcome:
    """What a re-ranker said in its time: scores by the index of their text.

    ``ended`` where it has said all that it will; ``error`` is what it failed with. ``over`` is set as soon as it has
    ended, be it after its time.
    """

    scores: dict[int, float] = field(default_factory=dict)
    ended: bool = True
    error: Exception | None = None
    over: Event = field(default_factory=Event)


def scored_within(model: Reranker, query: str, texts: Sequence[str], seconds: float) -> TimedOutcome:
    """Return the scores that come within ``seconds``; what the model raises is in the outcome.

    A call into a model can't be ended from outside, so it has a thread of its own, which stops at its next score.
    """
    run = _Run(model, query, texts, seconds)
    # A process that ends does not wait for it.
    Thread(target=run.work, name="reranking", daemon=True).start()
    return run.outcome()


class _Run:
    """One call, in the thread that makes it and in the one that waits for it."""

    def __init__(self, model: Reranker, query: str, texts: Sequence[str], seconds: float) -> None:
        self._model, self._query, self._texts, self._seconds = model, query, texts, seconds
        self._lock = Lock()
        self._ended = Event()
        self._given_up = False
        self._scores: dict[int, float] = {}
        self._error: Exception | None = None

    def work(self) -> None:
        """Collect scores until there are no more, or nobody waits any more."""
        try:
            for index, score in self._model.score(self._query, self._texts, self._seconds):
                with self._lock:
                    if self._given_up:
                        return
                    self._scores[index] = score
        # Whatever it is, it must not end a search: models run native code of others.
        except Exception as error:
            self._error = error
        finally:
            self._ended.set()

    def outcome(self) -> TimedOutcome:
        """Wait for the end, as long as a search can."""
        ended = self._ended.wait(self._seconds)
        with self._lock:
            self._given_up = True
            return TimedOutcome(self._scores, ended, self._error, self._ended)
