"""A cluster that has just refused to search: what it does not answer soon, it will not answer in time."""

from time import monotonic

# A node that has just refused to search still reads its shards, and its disk is busy with that. So long after the last
# refusal it has only so much time for each answer.
UNREADY_SECONDS = 5.0
UNREADY_ANSWER_SECONDS = 1.0
NOT_READY = 503


class Readiness:
    """Remembers the last refusal; all connections to one cluster share it."""

    def __init__(self) -> None:
        self._unready_until = float("-inf")

    def note(self, status: object) -> None:
        """Take note of an answer's status."""
        if status == NOT_READY:
            self._unready_until = monotonic() + UNREADY_SECONDS

    def limited(self, seconds: float | None) -> float | None:
        """Return how long an answer is waited for, ``seconds`` (None: for ever) at most."""
        if monotonic() >= self._unready_until:
            return seconds
        return UNREADY_ANSWER_SECONDS if seconds is None else min(seconds, UNREADY_ANSWER_SECONDS)
