"""Weighted groups of index terms for the text of a query."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import pairwise

from codequarry.search_api.query.names import looks_like_identifier
from codequarry.search_api.query.synonyms import SHORT_FORMS, STOP_WORDS, inflections
from codequarry.shared.identifiers import iter_tokens

# A longer query is pasted code; more words would slow the engines without improving the ranking.
MAX_GROUPS = 32
# Limit for all index terms of a query, including other forms; the engine looks up each term in five fields.
MAX_TERMS = 96
MAX_FORMS = 8
_AROUND_WORDS = ".,;:!?()[]{}<>\"'`"

# The weight of another form of a word; the word itself weighs 1.
INFLECTION_WEIGHT = 0.6
SHORT_FORM_WEIGHT = 0.6
# Two neighbouring words as one name (`read page`, `readPage`); this weight is added to those of the two words.
JOINED_WEIGHT = 0.3


@dataclass(frozen=True, slots=True)
class TermGroup:
    """A query word and the index terms that match it, with their weights; the word itself weighs 1."""

    word: str
    weight: float
    forms: tuple[tuple[str, float], ...]
    joined: bool = False  # two neighbouring words as one name: a match adds to the score, a miss costs nothing


def term_groups(text: str) -> tuple[TermGroup, ...]:
    """Return the groups of a query, in order; stop words are dropped if other words remain."""
    words = list(dict.fromkeys(iter_tokens(text)))
    significant = [word for word in words if word not in STOP_WORDS and (len(word) > 1 or not word.isascii())]
    kept = significant or words
    plain = _plain_words(text)
    groups = [TermGroup(word, 1.0, tuple(_forms(word, word in plain))) for word in kept]
    groups += [
        TermGroup(word, JOINED_WEIGHT, ((word, 1.0),), joined=True) for word in _joined(text) if word not in kept
    ]
    return _bounded(groups)


def index_terms(groups: Iterable[TermGroup]) -> tuple[str, ...]:
    """Return the distinct index terms of the groups."""
    return tuple(dict.fromkeys(term for group in groups for term, _ in group.forms))


def _plain_words(text: str) -> set[str]:
    """Return the words that are not part of an identifier; only these get other forms."""
    return {word.lower() for word in _words(text) if word.isalpha() and not looks_like_identifier(word)}


def _words(text: str) -> list[str]:
    return [word.strip(_AROUND_WORDS) for word in text.split()]


def _forms(word: str, plain: bool) -> Iterator[tuple[str, float]]:
    yield word, 1.0
    if not plain:
        return
    forms = {form: INFLECTION_WEIGHT for form in inflections(word)}
    for base in (word, *forms):
        for short in SHORT_FORMS.get(base, ()):
            forms.setdefault(short, SHORT_FORM_WEIGHT)
    yield from list((form, weight) for form, weight in forms.items() if form != word)[:MAX_FORMS]


def _joined(text: str) -> Iterator[str]:
    """Yield each pair of neighbouring words in a question as one name."""
    plain = _plain_words(text) - STOP_WORDS
    for first, second in pairwise(word.lower() for word in _words(text)):
        if first in plain and second in plain:
            yield first + second


def _bounded(groups: list[TermGroup]) -> tuple[TermGroup, ...]:
    """Limit a long query: keep the longest words, because they are the rarest, then as many forms as fit."""
    kept = sorted(groups, key=lambda group: -len(group.word))[:MAX_GROUPS] if len(groups) > MAX_GROUPS else groups
    left = MAX_TERMS - len(kept)
    bounded: list[TermGroup] = []
    for group in groups:
        if group in kept:
            forms = group.forms[: 1 + max(left, 0)]
            left -= len(forms) - 1
            bounded.append(replace(group, forms=forms))
    return tuple(bounded)
