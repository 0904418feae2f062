"""Filters on commits: what kind of document is searched, by whom and from when it is."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta

from codequarry.shared.authors import searched_forms
from codequarry.shared.errors import UnknownName, UsageError
from codequarry.shared.model import COMMIT_DOCUMENTS, CommitDocument, CommitFilters

CODE = "code"
TYPES: tuple[str, ...] = (CODE, *COMMIT_DOCUMENTS)
TYPE, AUTHOR, SINCE, UNTIL = "type", "author", "since", "until"
# Filters on commits: of documents of commits the commit itself, of code the last commit that touched the file.
# The same filters by the names of the fields of a hit; a date means that day.
COMMIT_AUTHOR, COMMIT_DATE = "commit_author", "commit_date"
OF_COMMITS: tuple[str, ...] = (AUTHOR, SINCE, UNTIL, COMMIT_AUTHOR, COMMIT_DATE)
DAY_FORMS = "2024-05-31, today, yesterday, or a number of days, weeks, months or years ago, as in '2 weeks ago' or 2w"
_EPOCH = date(1970, 1, 1)
_DAYS = {"d": 1, "w": 7, "m": 30, "y": 365}
_AGO = re.compile(r"(\d{1,5})\s*(?:([dwmy])|(day|week|month|year)s?)(?:\s+ago)?")


@dataclass(frozen=True, slots=True)
class AskedCommits:
    """The kinds of documents that a search covers instead of code, and the filters on their commits."""

    documents: tuple[CommitDocument, ...] = ()
    filters: CommitFilters = field(default_factory=CommitFilters)


def asked_commits(
    types: Sequence[str],
    authors: Sequence[str],
    excluded_authors: Sequence[str],
    since: Sequence[str],
    until: Sequence[str],
    today: date | None = None,
) -> AskedCommits:
    """Combine the values of the filters; raise UsageError or UnknownName for a value or combination without meaning."""
    documents = _documents(types)
    today = today or datetime.now(UTC).date()
    filters = CommitFilters(
        tuple(form for author in authors for form in searched_forms(author)),
        tuple(form for author in excluded_authors for form in searched_forms(author)),
        max((day_of(SINCE, text, today) for text in since), default=None),
        min((day_of(UNTIL, text, today) for text in until), default=None),
    )
    return AskedCommits(documents, filters)


def _documents(types: Sequence[str]) -> tuple[CommitDocument, ...]:
    for name in types:
        if name not in TYPES:
            raise UnknownName(TYPE, name, TYPES)
    if CODE in types and len(set(types)) > 1:
        raise UsageError("a search covers code or commits, not both; give type:code, or type:commit and type:diff")
    return tuple(name for name in COMMIT_DOCUMENTS if name in types)


def day_of(name: str, text: str, today: date) -> int:
    """Return the day that a value of ``since`` or ``until`` names, counted from 1970; raise UsageError."""
    asked = text.strip().lower()
    if asked in ("today", "yesterday"):
        return (today - _EPOCH).days - (asked == "yesterday")
    if ago := _AGO.fullmatch(asked):
        return max(0, (today - _EPOCH).days - int(ago[1]) * _DAYS[ago[2] or ago[3][0]])
    try:
        # A time of day is accepted and left out: a search takes whole days.
        return (datetime.fromisoformat(asked.upper()).date() - _EPOCH).days
    except ValueError:
        raise UsageError(f"the filter '{name}' must be a day, not '{text}'; write {DAY_FORMS}") from None


def today() -> int:
    """Return the present day in UTC, counted from 1970."""
    return (datetime.now(UTC).date() - _EPOCH).days


def shown_day(day: int) -> str:
    """Return a day as in ``2024-05-31``."""
    return (_EPOCH + timedelta(days=day)).isoformat()
