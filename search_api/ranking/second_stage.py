"""The second stage: another model scores the best candidates of a search again, in bounded time.

A failure here does not fail the answer: the candidates keep their places, and a warning says why.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from math import isfinite
from threading import Event, Lock
from time import monotonic
from typing import TYPE_CHECKING

from codequarry.search_api.ranking.score_fusion import SecondScores, key_of
from codequarry.search_api.ranking.scoring import SCORE_DIGITS
from codequarry.shared.errors import CodequarryError, public
from codequarry.shared.index.opened_index import models_folder
from codequarry.shared.liveness.breaker import Breaker
from codequarry.shared.model import Chunk
from codequarry.shared.repositories.model_permission import allows_external_model
from codequarry.shared.reranking.factory import open_reranker
from codequarry.shared.reranking.port import Reranker
from codequarry.shared.reranking.time_limit import TimedOutcome, scored_within
from codequarry.shared.settings.config import SettingsModel
from codequarry.shared.settings.reranking import RerankingSettings

if TYPE_CHECKING:
    from structlog.stdlib import BoundLogger

STAGE = "reranking"
LOGGER = "codequarry.reranking"
# Seconds until a model that could not be opened is tried again: it may be installed or repaired by then.
RETRY_SECONDS = 30.0
# Seconds without calls after a model scored nothing in time, so that searches don't each wait for it in vain.
PAUSE_SECONDS = 5.0
# Maximum number of running calls that no search waits for: each is a thread, and a model that hangs never ends it.
MAX_ABANDONED_CALLS = 32


@dataclass(frozen=True, slots=True)
class _Failure:
    reason: str
    at: float


class SecondStage:
    """Scores candidates of concurrent searches; the first search opens the model."""

    def __init__(
        self,
        settings: RerankingSettings,
        open_model: Callable[[], Reranker],
        allows_external_model: Callable[[str], bool],
        clock: Callable[[], float] = monotonic,
    ) -> None:
        """Use ``open_model`` to open the model; ``allows_external_model`` says whether code of an origin may leave this machine."""
        self._settings = settings
        self._open_model = open_model
        self._may_leave = allows_external_model
        self._clock = clock
        self._lock = Lock()
        self._opened: Reranker | _Failure | None = None
        self._abandoned: list[Event] = []
        self._breaker = Breaker(PAUSE_SECONDS, settings.timeout_seconds + PAUSE_SECONDS, clock)

    @property
    def candidate_count(self) -> int:
        """The number of best candidates to score."""
        return self._settings.candidate_count

    def score(self, query: str, chunks: Sequence[Chunk], origins: Mapping[str, str]) -> SecondScores:
        """Return the model's scores within the timeout; never raise. ``origins`` has the origin of each repository."""
        model = self._model()
        if isinstance(model, _Failure):
            return self._none(model.reason)
        sent = [chunk for chunk in chunks if not model.leaves_machine or self._may_be_sent(origins.get(chunk.repo))]
        if not sent:
            return SecondScores(self._settings.weight, warning=self._warning(len(chunks), 0, 0))
        if self._is_busy():
            return self._none(f"{model.name} is still busy with earlier searches")
        if not self._breaker.allows():
            return self._none(f"{model.name} did not answer a moment ago")
        outcome = scored_within(model, query, [text_of(chunk) for chunk in sent], self._settings.timeout_seconds)
        self._note(outcome)
        if outcome.error is not None:
            return self._none(_reason(outcome.error))
        known = {index: score for index, score in outcome.scores.items() if isfinite(score)}
        scores = {key_of(sent[index]): round(score, SCORE_DIGITS) for index, score in known.items()}
        return SecondScores(self._settings.weight, scores, self._warning(len(chunks), len(sent), len(scores)))

    def close(self) -> None:
        """Close the model; the next search opens it again."""
        with self._lock:
            opened, self._opened = self._opened, None
        if opened is not None and not isinstance(opened, _Failure):
            opened.close()

    def _model(self) -> Reranker | _Failure:
        with self._lock:
            opened = self._opened
            if opened is None or (isinstance(opened, _Failure) and self._clock() - opened.at >= RETRY_SECONDS):
                opened = self._opened = self._open()
            return opened

    def _open(self) -> Reranker | _Failure:
        try:
            return self._open_model()
        # Anything may go wrong here: an unreadable file, a broken library.
        except Exception as error:
            if isinstance(error, CodequarryError):
                _log().warning("no second stage", detail=str(error))
            else:
                _log().exception("no second stage")
            return _Failure(_reason(error), self._clock())

    def _may_be_sent(self, origin: str | None) -> bool:
        """Return whether a repository's code may go to another machine; False for an unknown repository."""
        return origin is not None and self._may_leave(origin)

    def _is_busy(self) -> bool:
        with self._lock:
            self._abandoned = [over for over in self._abandoned if not over.is_set()]
            return len(self._abandoned) >= MAX_ABANDONED_CALLS

    def _note(self, outcome: TimedOutcome) -> None:
        if not outcome.ended:
            with self._lock:
                self._abandoned.append(outcome.over)
        if outcome.error is not None and not isinstance(outcome.error, CodequarryError):
            _log().error("the second stage failed", exc_info=outcome.error)
        if outcome.ended or outcome.scores:
            self._breaker.record_success()
        else:
            self._breaker.record_failure()

    def _none(self, reason: str) -> SecondScores:
        return SecondScores(
            self._settings.weight, warning=f"{STAGE}: hits are in the order of the first stage: {reason}"
        )

    def _warning(self, asked: int, sent: int, scored: int) -> str:
        parts = []
        if sent < asked:
            parts.append(f"{asked - sent} stayed on this machine (external_models = false)")
        if scored < sent:
            parts.append(f"{sent - scored} were not scored within {self._settings.timeout_seconds:g} s")
        return f"{STAGE}: of {asked} candidates {' and '.join(parts)}, and keep their places" if parts else ""


def text_of(chunk: Chunk) -> str:
    """Return the text of a chunk for the model: path, qualified name, documentation and code."""
    return "\n".join(filter(None, (chunk.path, chunk.qualified_name, chunk.doc, chunk.text)))


def _reason(error: Exception) -> str:
    return public(error) if isinstance(error, CodequarryError) else f"{type(error).__name__} in the model; see the log"


def second_stage(settings: SettingsModel) -> SecondStage | None:
    """Return the second stage of the settings, None if it is off; nothing is opened yet."""
    if not settings.reranking.enabled:
        return None
    open_model = partial(open_reranker, settings.reranking, models_folder(settings))
    return SecondStage(settings.reranking, open_model, partial(allows_external_model, settings))


def _log() -> "BoundLogger":
    from codequarry.shared.telemetry.logs import logger  # few searches log, and all import this module

    return logger(LOGGER)
