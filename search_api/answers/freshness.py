"""The freshness of an answer: one entry for each searched version of a repository."""

from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field

from codequarry.shared.versions.refs import RefKind

IndexState = Literal["ready", "importing", "not indexed"]
SHORT_COMMIT = 12
# The beginning of an entry of an answer's `degraded` about a version that could not be brought up to date.
NOT_REFRESHED = "indexing: "
READY: IndexState = "ready"
IMPORTING: IndexState = "importing"
NOT_INDEXED: IndexState = "not indexed"

HeadCommit = Annotated[
    str | None,
    Field(description="the newest commit of this version at its origin, as of head_seen_at; null if unknown or gone"),
]
CommitsBehind = Annotated[
    int | None,
    Field(description="commits between indexed_commit and head_commit: 0 if they are the same, null if not counted"),
]
HeadSeenAt = Annotated[
    str | None,
    Field(description="when the origin was last looked at for head_commit; null if never, or if a commit was named"),
]


@dataclass(frozen=True, slots=True)
class Freshness:
    """How fresh the answer is for one version of a repository."""

    repo: str
    ref: str
    kind: RefKind
    indexed_commit: str | None
    head_commit: HeadCommit
    commits_behind: CommitsBehind
    head_seen_at: HeadSeenAt
    indexed_at: str | None
    skipped_files: Annotated[int | None, Field(description="null if the key sees only some paths of the repository")]
    state: IndexState
    percent: int | None

    @property
    def lag(self) -> str:
        """How far the version is behind its head, for people; "" if it is not known to be behind."""
        return describe_lag(self.indexed_commit, self.head_commit, self.commits_behind)


def describe_lag(indexed_commit: str | None, head_commit: str | None, commits_behind: int | None) -> str:
    """Return how far an indexed commit is behind the head of its version, or "" if it is not known to be behind."""
    if commits_behind:
        return f"{commits_behind:,} {'commit' if commits_behind == 1 else 'commits'} behind"
    if indexed_commit and head_commit and head_commit != indexed_commit:
        return f"behind commit {head_commit[:SHORT_COMMIT]}"
    return ""
