"""Scoring: from candidates to a ranked list with scores from 0 to 1.

relevance    a weighted mean of words (lexical) and meaning (semantic), lower for prose and settings
score        relevance, lifted if the query names the chunk, and lowered for kinds of files that the query does not ask
             for and for chunks of a file with a better chunk

Each lift closes a share of the gap to 1. So a score stays between 0 and 1, grows with every signal, and means the same
for every query: how completely the hit matches the request.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from codequarry.search_api.answers.hits import Blend
from codequarry.search_api.query.plan import QueryPlan
from codequarry.search_api.ranking.bm25f import Statistics, lexical_scorer
from codequarry.search_api.ranking.declarations import Declarations, of_several_versions
from codequarry.search_api.ranking.signals import (
    Signals,
    definition_signal,
    path_signal,
    phrase_signal,
    semantic_signal,
)
from codequarry.shared.model import COMMIT_DOCUMENTS, Candidate, Chunk, KindOfFile, SymbolType
from codequarry.shared.store.records import Recall

# Mean reciprocal rank for the 152 development questions with the default model (bench/ranking.py): .620 at 0.4 and 0.6,
# .616 at 0.45 and 0.55, .613 at 0.3 and 0.7, .593 at 0.55 and 0.45, which suited an earlier, weaker model.
LEXICAL_WEIGHT = 0.4
SEMANTIC_WEIGHT = 0.6
# Share of the gap to 1 that a full signal closes. A query that is a name should rank the definition above every use,
# including uses in tests. A quoted phrase or a path counts nearly as much.
DEFINITION_LIFT = 0.95
PHRASE_LIFT = 0.8
PATH_LIFT = 0.5
# Weight of a kind of file that the query does not ask for: people look for the code that does something.
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
# Prose uses the words of questions and would rank above the code that it describes; settings and the lines between
# declarations seldom do anything.
TYPE_WEIGHTS: Mapping[SymbolType, float] = {"documentation": 0.7, "config": 0.7, "block": 0.9}
# Weight of the summary of a file. It has words of many declarations, so at full weight it displaces the declaration
# that a question is about: mean reciprocal rank of the right file's first other chunk .605 instead of .646 (86
# development questions). From 0.85 down no question loses its chunk.
SUMMARY_WEIGHT = 0.85
# Its weight if the query asks for files: with "Which file: " before the same questions, the mean reciprocal rank is
# .636, and .625 at 0.85. At 1.1 it is .643, but .563 instead of .587 for the 19 questions that are only measured.
ASKED_SUMMARY_WEIGHT = 1.05
# k-NN always finds something. If no candidate shares a word with the query and none is nearer than this, nothing
# matches. With the default model the nearest chunk of a repository is at least this near for 82% of the 152
# development questions and 18% of unrelated questions ("how do volcanoes erupt"), for 32% of single programming words
# and 8% of other words (14 repositories, 20 of each kind).
MIN_SIMILARITY = 0.45
# Weight of each further chunk of a file relative to the previous chunk, unless the query names or quotes it: it adds
# less than the first chunk of another file. It raises the share of the 74 development questions with the right file in
# the first ten hits from 0.88 to 0.92; any value from 0.5 to 0.7 does the same, 0.8 and 0.85 gave 0.91.
REPEAT_WEIGHT = 0.7
# Chunks after the third are not demoted further: a search within one file still ranks them by their own scores.
MOST_REPEATS = 2
# Stores round cosines differently; with more digits, scores and their order would differ between stores.
SCORE_DIGITS = 4


@dataclass(frozen=True, slots=True)
class Ranked:
    """A candidate with its score, signals and weights; ``blend`` is set if a second stage scored it too.

    ``others`` are the candidates with the same declaration in other versions of the file, best first.
    """

    candidate: Candidate
    score: float
    signals: Signals
    kind_weight: float
    repeat_weight: float = 1.0
    type_weight: float = 1.0
    blend: Blend | None = None
    others: tuple["Ranked", ...] = ()

    @property
    def id(self) -> str:
        """The chunk's id."""
        return self.candidate.chunk.id

    @property
    def weight(self) -> float:
        """The product of the weights: kind of file, type of chunk, repetition in its file."""
        return self.kind_weight * self.type_weight * self.repeat_weight

    @property
    def is_named_by_query(self) -> bool:
        """Whether the query names its symbol or file or quotes a phrase of it, so that meaning does not decide."""
        return bool(self.signals.definition or self.signals.phrase or self.signals.path)


def rank(plan: QueryPlan, recall: Recall) -> list[Ranked]:
    """Score all candidates; return them by score (highest first), then by place, so that every store ranks alike."""
    candidates = list(recall.candidates.values())
    signals = _signals(plan, recall, candidates)
    ranked = [_ranked(plan, candidate, signal) for candidate, signal in zip(candidates, signals, strict=True)]
    return sorted(_spread(_one_for_each_declaration(sorted(ranked, key=order))), key=order)


def _one_for_each_declaration(ranked: Sequence[Ranked]) -> Sequence[Ranked]:
    """Return the best candidate of each declaration, with the candidates from other versions of its file."""
    chunks = [item.candidate.chunk for item in ranked]
    if not of_several_versions(chunks):
        return ranked
    declarations = Declarations()
    declarations.add(chunks)
    together: dict[int, list[Ranked]] = {}
    for item in ranked:
        together.setdefault(id(declarations.of(item.candidate.chunk)), []).append(item)
    return [replace(best, others=tuple(others)) for best, *others in together.values()]


def _spread(ranked: Sequence[Ranked]) -> list[Ranked]:
    """Demote each chunk that follows better chunks of its file, so that the first hits show more places.

    A summary demotes no chunk of its file: it shows that the file matters, not where.
    """
    better: Counter[tuple[str, str]] = Counter()
    spread = []
    for item in ranked:
        file = (item.candidate.chunk.repo, item.candidate.chunk.path)
        repeats = min(better[file], MOST_REPEATS)
        better[file] += not item.candidate.chunk.is_summary
        if repeats and not item.signals.definition and not item.signals.phrase:
            weight = REPEAT_WEIGHT**repeats
            item = replace(item, score=round(item.score * weight, SCORE_DIGITS), repeat_weight=round(weight, 4))
        spread.append(item)
    return spread


def has_match(plan: QueryPlan, ranked: Iterable[Ranked]) -> bool:
    """Return whether any candidate matches the query by a word, a name, a path or a near meaning."""
    if plan.is_narrowed:
        return True  # a search with filters lists everything that passes them
    return any(
        item.signals.lexical or item.signals.definition or item.signals.path or item.signals.semantic >= MIN_SIMILARITY
        for item in ranked
    )


def order(item: Ranked) -> tuple[float, str, str, int, str]:
    """Return the sort key of hits: by score, then by place."""
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
    """Return the weights of kind of file and type of chunk; both 1 if the query asks for that kind."""
    if plan.selection.chooses_kind or chunk.kind_of_file in plan.kinds_asked:
        return 1.0, 1.0
    return KIND_WEIGHTS[chunk.kind_of_file], _type_weight(plan, chunk)


def _type_weight(plan: QueryPlan, chunk: Chunk) -> float:
    if chunk.is_summary:
        return ASKED_SUMMARY_WEIGHT if plan.asks_for_files else SUMMARY_WEIGHT
    return TYPE_WEIGHTS.get(chunk.symbol_type, 1.0)


def score(signals: Signals, type_weight: float = 1.0) -> float:
    """Return the score of a candidate before the weight of its kind of file."""
    relevance = LEXICAL_WEIGHT * signals.lexical + SEMANTIC_WEIGHT * signals.semantic
    missing = max(0.0, 1 - relevance * type_weight)
    missing *= 1 - DEFINITION_LIFT * signals.definition
    missing *= 1 - PHRASE_LIFT * signals.phrase
    missing *= 1 - PATH_LIFT * signals.path
    return 1 - missing


# Two chunks that share this much of the shorter chunk are redundant. Parts of a split symbol share only a few lines;
# they are recognised as parts instead.
REDUNDANT_SHARE = 0.5
# Redundant chunks come after all others, however many hits of a file are allowed.
LAST = 1_000_000


@dataclass(frozen=True, slots=True)
class ResultPage:
    """One page of hits, best first; ``has_more`` if the next page is not empty."""

    hits: tuple[Ranked, ...]
    has_more: bool


def cut_page(ranked: Sequence[Ranked], top_k: int, max_per_file: int, number: int) -> ResultPage:
    """Return page ``number`` (from 0) of ``top_k`` hits.

    Each page takes the best remaining candidates, at most ``max_per_file`` from a file; if they don't fill the page,
    the limit is raised only as far as needed. Every candidate is on exactly one page, and a page is sorted by score.
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
    """Return each candidate's position in its file, from 1, or LAST if it repeats a better candidate."""
    seen: dict[tuple[str, str], list[Chunk]] = defaultdict(list)
    texts: set[tuple[str, str]] = set()
    crowding = []
    for item in ranked:
        chunk = item.candidate.chunk
        others, text = seen[chunk.repo, chunk.path], (chunk.repo, chunk.content_hash)
        is_copy = text in texts and not item.signals.definition
        if chunk.is_summary:
            # It shares lines with every chunk of its file but repeats none, and no other chunk repeats it.
            crowding.append(1)
            continue
        # Two commits with the same message are two facts, and lines that a commit removed have no place in the file.
        repeats = is_copy or any(is_redundant(chunk, other) for other in others)
        if repeats and chunk.symbol_type not in COMMIT_DOCUMENTS:
            crowding.append(LAST)
            continue
        texts.add(text)
        others.append(chunk)
        crowding.append(len(others))
    return crowding


def is_redundant(chunk: Chunk, better: Chunk) -> bool:
    """Return whether a chunk repeats a better chunk of its file: an overlapping part of a symbol, or the same lines."""
    # Lines of two versions of a file are not comparable.
    if chunk.blob != better.blob:
        return False
    if chunk.symbol_part and better.symbol_part and chunk.qualified_name == better.qualified_name is not None:
        return _touches(chunk, better)
    shared = min(chunk.end_line, better.end_line) - max(chunk.start_line, better.start_line) + 1
    shorter = min(chunk.end_line - chunk.start_line, better.end_line - better.start_line) + 1
    return shared >= REDUNDANT_SHARE * shorter


def _touches(chunk: Chunk, other: Chunk) -> bool:
    return chunk.start_line <= other.end_line and other.start_line <= chunk.end_line
