"""From candidates to a ranked list with scores from 0 to 1.

relevance    a weighted mean of what a chunk says (lexical) and means (semantic)
score        relevance, lifted by what names the chunk, and lowered for kinds of files nobody asked for

Every lift closes a share of what is missing to 1, so that a score stays between 0 and 1, grows with every signal, and
means the same for every query: how far the hit is everything that was asked for.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from codequarry.search_api.lexical import Statistics, lexical_scorer
from codequarry.search_api.plan import Plan
from codequarry.search_api.signals import (
    Signals,
    definition_signal,
    name_signal,
    path_signal,
    phrase_signal,
    semantic_signal,
)
from codequarry.shared.model import Candidate, KindOfFile
from codequarry.shared.store.port import Recall

LEXICAL_WEIGHT = 0.65
SEMANTIC_WEIGHT = 0.35
# How much of what is missing to 1 a full signal closes.
DEFINITION_LIFT = 0.9
PHRASE_LIFT = 0.8
NAME_LIFT = 0.2
PATH_LIFT = 0.2
FILE_LIFT = 0.2
# What a kind of file weighs when the query does not ask for it: people look for the code that does a thing.
KIND_WEIGHTS: Mapping[KindOfFile, float] = {
    "source": 1.0,
    "config": 0.85,
    "example": 0.75,
    "docs": 0.75,
    "test": 0.7,
    "generated": 0.6,
    "vendored": 0.6,
    "lock": 0.4,
}
# The k-NN always finds something. Where no candidate of a query shares a word with it and none is nearer than this,
# the honest answer is that there is no match.
MIN_SIMILARITY = 0.25
# Stores compute a cosine with different rounding; beyond these digits scores would differ, and with them the order.
SCORE_DIGITS = 4


@dataclass(frozen=True, slots=True)
class Ranked:
    """A candidate with its score, the signals behind it and what its kind of file weighs."""

    candidate: Candidate
    score: float
    signals: Signals
    kind_weight: float

    @property
    def id(self) -> str:
        """The chunk's id."""
        return self.candidate.chunk.id


def rank(plan: Plan, recall: Recall) -> list[Ranked]:
    """Score every candidate and return them best first; equal scores by place, so that every store ranks alike."""
    candidates = list(recall.candidates.values())
    signals = _signals(plan, recall, candidates)
    ranked = [_ranked(plan, candidate, signal) for candidate, signal in zip(candidates, signals, strict=True)]
    return sorted(ranked, key=_order)


def is_match(item: Ranked) -> bool:
    """Tell whether a candidate has anything to do with the query: a word, a name, a path, or a near meaning."""
    signals = item.signals
    return bool(signals.lexical or signals.definition or signals.path) or signals.semantic >= MIN_SIMILARITY


def _order(item: Ranked) -> tuple[float, str, str, int, str]:
    chunk = item.candidate.chunk
    return -item.score, chunk.repo, chunk.path, chunk.start_line, chunk.id


def _signals(plan: Plan, recall: Recall, candidates: Iterable[Candidate]) -> list[Signals]:
    statistics = Statistics(recall.live_chunks, recall.document_frequencies, recall.average_lengths)
    scorer = lexical_scorer(plan.groups, statistics)
    return [
        Signals(
            semantic=semantic_signal(candidate.similarity),
            lexical=scorer.score(candidate.tokens),
            definition=definition_signal(candidate.chunk, plan.names),
            name=name_signal(candidate.chunk, plan.words),
            path=path_signal(candidate.chunk.path, plan.paths, plan.words),
            phrase=phrase_signal(candidate, plan.phrases),
        )
        for candidate in candidates
    ]


def _ranked(plan: Plan, candidate: Candidate, signals: Signals) -> Ranked:
    kind_weight = _kind_weight(plan, candidate.chunk.kind_of_file)
    return Ranked(candidate, round(score(signals) * kind_weight, SCORE_DIGITS), signals, kind_weight)


def _kind_weight(plan: Plan, kind: KindOfFile) -> float:
    if plan.selection.asks_for_kind or kind in plan.kinds_asked:
        return 1.0
    return KIND_WEIGHTS[kind]


def score(signals: Signals) -> float:
    """Return the score of a candidate before its kind of file is weighed."""
    relevance = LEXICAL_WEIGHT * signals.lexical + SEMANTIC_WEIGHT * signals.semantic
    missing = 1 - relevance
    missing *= 1 - DEFINITION_LIFT * signals.definition
    missing *= 1 - PHRASE_LIFT * signals.phrase
    missing *= 1 - NAME_LIFT * signals.name
    missing *= 1 - PATH_LIFT * signals.path
    return 1 - missing
