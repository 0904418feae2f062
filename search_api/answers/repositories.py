"""Answers about indexed repositories and their versions."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from codequarry.search_api.answers.freshness import CommitsBehind, HeadCommit, HeadSeenAt, IndexState
from codequarry.shared.versions.refs import RefKind

WholeCount = Annotated[int | None, Field(description="null if the key sees only some paths of the repository")]


@dataclass(frozen=True, slots=True)
class IndexedVersion:
    """One version of a repository."""

    ref: str
    kind: RefKind
    indexed_commit: str | None
    indexed_at: str | None
    head_commit: HeadCommit
    commits_behind: CommitsBehind
    head_seen_at: HeadSeenAt
    files: WholeCount
    chunks: WholeCount


@dataclass(frozen=True, slots=True)
class FailedCommit:
    """A commit that reached a limit in the settings."""

    ref: str
    commit: str
    reason: str
    failed_at: str


@dataclass(frozen=True, slots=True)
class IndexedRepository:
    """One repository of the catalog, at its default branch."""

    name: str
    origin: str
    branch: str
    indexed_commit: str | None
    indexed_at: str | None
    head_commit: HeadCommit
    commits_behind: CommitsBehind
    head_seen_at: HeadSeenAt
    files: WholeCount
    chunks: WholeCount
    skipped: Annotated[Mapping[str, int] | None, Field(description="number of skipped files, by reason")]
    state: IndexState
    percent: Annotated[int | None, Field(description="progress of the first import, while it is running")]
    model: Annotated[str | None, Field(description="the model of the vectors; null before the first import")]
    versions: Annotated[tuple[IndexedVersion, ...], Field(description="every indexed version, default branch first")]
    failures: Annotated[
        tuple[FailedCommit, ...],
        Field(
            description="commits that reached a limit; they are not retried until the commit or the settings change, "
            "or a user requests it; empty if the key sees only some paths"
        ),
    ]


@dataclass(frozen=True, slots=True)
class Repositories:
    """Every repository that the key may see, by name."""

    repos: tuple[IndexedRepository, ...]
