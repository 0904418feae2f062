"""The answer to a comparison of two versions."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field

from codequarry.search_api.answers.freshness import Freshness
from codequarry.search_api.answers.hits import Score, VersionedChunk

Change = Literal["added", "removed", "moved", "renamed", "changed", "unchanged"]
CHANGES: tuple[Change, ...] = ("added", "removed", "moved", "renamed", "changed", "unchanged")


@dataclass(frozen=True, slots=True)
class Difference:
    """A piece of code, and how it differs between the two versions."""

    change: Change
    score: Annotated[Score, Field(description="score of the better of the two chunks")]
    repo: str
    path: str
    symbol: str | None
    before: Annotated[VersionedChunk | None, Field(serialization_alias="from", description="null if code was added")]
    after: Annotated[VersionedChunk | None, Field(serialization_alias="to", description="null if code was removed")]


@dataclass(frozen=True, slots=True)
class ComparedMergeBase:
    """The commit that the newer version of a repository is compared with: where it branched off from the older."""

    repo: str
    commit: str
    before: Annotated[str, Field(serialization_alias="from", description="the name of the older version")]
    after: Annotated[str, Field(serialization_alias="to", description="the name of the newer version")]


@dataclass(frozen=True, slots=True)
class ComparisonAnswer:
    """The answer to a comparison."""

    results: tuple[Difference, ...]
    counts: Annotated[Mapping[Change, int], Field(description="number of compared hits, by change")]
    freshness: Annotated[tuple[Freshness, ...], Field(description="the freshness of both versions")]
    merge_bases: Annotated[
        tuple[ComparedMergeBase, ...],
        Field(description="empty, unless the request asked for a merge base or a pull request"),
    ]
    degraded: tuple[str, ...]
    reason: str | None
    took_ms: float
