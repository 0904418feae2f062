"""Limits how long a search waits for a re-ranker, whatever the re-ranker does."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from threading import Event, Lock, Thread

from codequarry.shared.reranking.port import Reranker


@dataclass(frozen=True, slots=True)
class TimedOutcome:
    """The scores that a re-ranker returned in time, by index of the text; ``over`` is set when it actually ends."""

    scores: dict[int, float] = field(default_factory=dict)
    ended: bool = True
    error: Exception | None = None
    over: Event = field(default_factory=Event)


def scored_within(model: Reranker, query: str, texts: Sequence[str], seconds: float) -> TimedOutcome:
    """Return the scores that come within ``seconds``; a model error is part of the outcome."""
    run = _Run(model, query, texts, seconds)
    # A call into a model cannot be interrupted. The thread stops at its next score, or with the process.
    Thread(target=run.work, name="reranking", daemon=True).start()
    return run.outcome()


class _Run:
    def __init__(self, model: Reranker, query: str, texts: Sequence[str], seconds: float) -> None:
        self._model, self._query, self._texts, self._seconds = model, query, texts, seconds
        self._lock = Lock()
        self._ended = Event()
        self._timed_out = False
        self._scores: dict[int, float] = {}
        self._error: Exception | None = None

    def work(self) -> None:
        """Collect scores until there are no more or the time is up."""
        try:
            for index, score in self._model.score(self._query, self._texts, self._seconds):
                with self._lock:
                    if self._timed_out:
                        return
                    self._scores[index] = score
        # No model error may fail the search: models run third-party native code.
        except Exception as error:
            self._error = error
        finally:
            self._ended.set()

    def outcome(self) -> TimedOutcome:
        """Wait for the end or the time limit, and return the outcome."""
        ended = self._ended.wait(self._seconds)
        with self._lock:
            self._timed_out = True
            return TimedOutcome(self._scores, ended, self._error, self._ended)
