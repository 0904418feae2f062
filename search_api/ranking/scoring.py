"""From candidates to a ranked list with scores from 0 to 1.

relevance    a weighted mean of what a chunk says (lexical) and means (semantic), less for prose and settings
score        relevance, lifted by what names the chunk, and lowered for kinds of files nobody asked for and for
             chunks of a file that has a better one

Every lift closes a share of what is missing to 1, so that a score stays between 0 and 1, grows with every signal, and
means the same for every query: how far the hit is everything that was asked for.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from codequarry.search_api.answers.hits import Blend
from codequarry.search_api.query.plan import QueryPlan
from codequarry.search_api.ranking.bm25f import Statistics, lexical_scorer
from codequarry.search_api.ranking.signals import (
    Signals,
    definition_signal,
    path_signal,
    phrase_signal,
    semantic_signal,
)
from codequarry.shared.model import Candidate, Chunk, KindOfFile, SymbolType
from codequarry.shared.store.records import Recall

# Measured by bench/ranking.py with the default model: mean reciprocal rank of the 152 development questions .620 at 0.4
# and 0.6, .616 at 0.45 and 0.55, .613 at 0.3 and 0.7, .593 at the 0.55 and 0.45 that an earlier, weaker model wanted.
LEXICAL_WEIGHT = 0.4
SEMANTIC_WEIGHT = 0.6
# How much of what is missing to 1 a full signal closes. Who writes a name wants its definition: it must pass any use
# of it, even in a test. Who quotes a phrase, or writes a path, wants it nearly as much.
DEFINITION_LIFT = 0.95
PHRASE_LIFT = 0.8
PATH_LIFT = 0.5
# What a kind of file weighs when the query does not ask for it: people look for the code that does a thing.
KIND_WEIGHTS: Mapping[KindOfFile, float] = {
    "source": 1.0,
    "config": 0.85,
    "example": 0.7,
    "docs": 0.75,
    "test": 0.6,
    "generated": 0.6,
    "vendored": 0.6,
    "lock": 0.4,
}
# Prose speaks the language of questions, and so comes before the code that it describes; settings and the lines between
# declarations seldom do a thing by themselves.
TYPE_WEIGHTS: Mapping[SymbolType, float] = {"documentation": 0.7, "config": 0.7, "block": 0.9}
# The k-NN always finds something. Where no candidate of a query shares a word with it and none is nearer than this,
# the honest answer is that there is no match. With the default model the nearest chunk of a repository is at least so
# near for 82 % of the 152 development questions and 18 % of questions about something else ("how do volcanoes erupt"),
# for 32 % of single words of programming and 8 % of others (14 repositories, 20 of each).
MIN_SIMILARITY = 0.45
# What each further chunk of a file weighs against the one before it, unless it was asked for by name or verbatim: it
# says less that is new than the first of another file. On the 74 development questions 0.92 instead of 0.88 have the
# right file in the first ten hits; anything from 0.5 to 0.7 does the same, 0.8 and 0.85 gave 0.91.
REPEAT_WEIGHT = 0.7
# A search within one file keeps telling its chunks apart by their own scores.
MOST_REPEATS = 2
# Stores compute a cosine with different rounding; beyond these digits scores would differ, and with them the order.
SCORE_DIGITS = 4


@dataclass(frozen=True, slots=True)
class Ranked:
    """A candidate with its score, the signals behind it, and what its kind, its type and its turn in its file weigh.

    ``blend`` where a second stage has scored it too.
    """

    candidate: Candidate
    score: float
    signals: Signals
    kind_weight: float
    repeat_weight: float = 1.0
    type_weight: float = 1.0
    blend: Blend | None = None

    @property
    def id(self) -> str:
        """The chunk's id."""
        return self.candidate.chunk.id

    @property
    def weight(self) -> float:
        """What it weighs before anything is known of its meaning: its kind of file, its type, its turn in its file."""
        return self.kind_weight * self.type_weight * self.repeat_weight

    @property
    def is_asked_for(self) -> bool:
        """Tell whether the query names it, its file, or a phrase of it: then it is no matter of meaning."""
        return bool(self.signals.definition or self.signals.phrase or self.signals.path)


def rank(plan: QueryPlan, recall: Recall) -> list[Ranked]:
    """Score every candidate and return them best first; equal scores by place, so that every store ranks alike."""
    candidates = list(recall.candidates.values())
    signals = _signals(plan, recall, candidates)
    ranked = [_ranked(plan, candidate, signal) for candidate, signal in zip(candidates, signals, strict=True)]
    return sorted(_spread(sorted(ranked, key=order)), key=order)


def _spread(ranked: Sequence[Ranked]) -> list[Ranked]:
    """Lower what comes after better chunks of its file, so that the first hits show more of the places there are."""
    better: Counter[tuple[str, str]] = Counter()
    spread = []
    for item in ranked:
        file = (item.candidate.chunk.repo, item.candidate.chunk.path)
        repeats = min(better[file], MOST_REPEATS)
        better[file] += 1
        if repeats and not item.signals.definition and not item.signals.phrase:
            weight = REPEAT_WEIGHT**repeats
            item = replace(item, score=round(item.score * weight, SCORE_DIGITS), repeat_weight=round(weight, 4))
        spread.append(item)
    return spread


def has_match(plan: QueryPlan, ranked: Iterable[Ranked]) -> bool:
    """Tell whether any candidate has to do with the query: a word, a name, a path, or a near meaning.

    Who filters has said what to look at, and sees it in the order of its score whatever the words.
    """
    if plan.is_narrowed:
        return True
    return any(
        item.signals.lexical or item.signals.definition or item.signals.path or item.signals.semantic >= MIN_SIMILARITY
        for item in ranked
    )


def order(item: Ranked) -> tuple[float, str, str, int, str]:
    """Return the key of the one order of hits: by score, equal ones by place."""
    chunk = item.candidate.chunk
    return -item.score, chunk.repo, chunk.path, chunk.start_line, chunk.id


def _signals(plan: QueryPlan, recall: Recall, candidates: Iterable[Candidate]) -> list[Signals]:
    statistics = Statistics(recall.live_chunks, recall.document_frequencies, recall.average_lengths)
    scorer = lexical_scorer(plan.groups, statistics)
    return [
        Signals(
            semantic=semantic_signal(candidate.similarity),
            lexical=scorer.score(candidate.tokens),
            definition=definition_signal(candidate.chunk, plan.names),
            path=path_signal(candidate.chunk.path, plan.paths),
            phrase=phrase_signal(candidate, plan.phrases),
        )
        for candidate in candidates
    ]


def _ranked(plan: QueryPlan, candidate: Candidate, signals: Signals) -> Ranked:
    kind_weight, type_weight = _weights(plan, candidate.chunk)
    value = round(score(signals, type_weight) * kind_weight, SCORE_DIGITS)
    return Ranked(candidate, value, signals, kind_weight, type_weight=type_weight)


def _weights(plan: QueryPlan, chunk: Chunk) -> tuple[float, float]:
    """Return what the kind of file and the type of chunk weigh; both nothing where the query asks for such."""
    if plan.selection.asks_for_kind or chunk.kind_of_file in plan.kinds_asked:
        return 1.0, 1.0
    return KIND_WEIGHTS[chunk.kind_of_file], TYPE_WEIGHTS.get(chunk.symbol_type, 1.0)


def score(signals: Signals, type_weight: float = 1.0) -> float:
    """Return the score of a candidate before its kind of file is weighed."""
    relevance = LEXICAL_WEIGHT * signals.lexical + SEMANTIC_WEIGHT * signals.semantic
    missing = 1 - relevance * type_weight
    missing *= 1 - DEFINITION_LIFT * signals.definition
    missing *= 1 - PHRASE_LIFT * signals.phrase
    missing *= 1 - PATH_LIFT * signals.path
    return 1 - missing


# Two chunks that share this much of the shorter one say the same thing twice; parts of a split symbol share only a
# few lines, and are named as parts instead.
REDUNDANT_SHARE = 0.5
# What says nothing new comes after everything that does, however many hits of a file are allowed.
LAST = 1_000_000


@dataclass(frozen=True, slots=True)
class ResultPage:
    """One page of hits, best first; ``has_more`` where another page would not be empty."""

    hits: tuple[Ranked, ...]
    has_more: bool


def cut_page(ranked: Sequence[Ranked], top_k: int, max_per_file: int, number: int) -> ResultPage:
    """Return page ``number`` (from 0) of ``top_k`` hits.

    Each page takes the best that are left with at most ``max_per_file`` of a file; where these don't fill it, the
    limit is lifted just as far as needed. Every candidate is on exactly one page, and a page is sorted by score.
    """
    left = list(zip(ranked, _crowding(ranked), strict=True))
    for _ in range(number):
        taken = {item.id for item in _take(left, top_k, max_per_file)}
        left = [(item, crowd) for item, crowd in left if item.id not in taken]
    hits = _take(left, top_k, max_per_file)
    return ResultPage(tuple(hits), len(left) > len(hits))


def _take(left: Sequence[tuple[Ranked, int]], top_k: int, max_per_file: int) -> list[Ranked]:
    crowds = sorted(crowd for _, crowd in left)
    needed = crowds[min(top_k, len(crowds)) - 1] if crowds else 0
    limit = max(max_per_file, needed)
    return [item for item, crowd in left if crowd <= limit][:top_k]


def _crowding(ranked: Sequence[Ranked]) -> list[int]:
    """Say of each candidate which one of its file it is, from 1; what repeats a better one is LAST."""
    seen: dict[tuple[str, str], list[Chunk]] = defaultdict(list)
    texts: set[tuple[str, str]] = set()
    crowding = []
    for item in ranked:
        chunk = item.candidate.chunk
        others, text = seen[chunk.repo, chunk.path], (chunk.repo, chunk.content_hash)
        is_copy = text in texts and not item.signals.definition
        if is_copy or any(is_redundant(chunk, other) for other in others):
            crowding.append(LAST)
            continue
        texts.add(text)
        others.append(chunk)
        crowding.append(len(others))
    return crowding


def is_redundant(chunk: Chunk, better: Chunk) -> bool:
    """Tell whether a chunk of the same file says again what a better one says: a part of its symbol, or its lines.

    Of two versions of a file lines say nothing: there it is the same declaration that says it again.
    """
    if chunk.blob != better.blob:
        return chunk.qualified_name is not None and chunk.qualified_name == better.qualified_name
    if chunk.symbol_part and better.symbol_part and chunk.qualified_name == better.qualified_name is not None:
        return _touches(chunk, better)
    shared = min(chunk.end_line, better.end_line) - max(chunk.start_line, better.start_line) + 1
    shorter = min(chunk.end_line - chunk.start_line, better.end_line - better.start_line) + 1
    return shared >= REDUNDANT_SHARE * shorter


def _touches(chunk: Chunk, other: Chunk) -> bool:
    """Tell whether two chunks share a line."""
    return chunk.start_line <= other.end_line and other.start_line <= chunk.end_line
