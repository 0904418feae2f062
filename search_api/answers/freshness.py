"""The freshness of an answer: one entry for each searched version of a repository."""

from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field

from codequarry.shared.versions.refs import RefKind

IndexState = Literal["ready", "importing", "not indexed"]
READY: IndexState = "ready"
IMPORTING: IndexState = "importing"
NOT_INDEXED: IndexState = "not indexed"

HeadCommit = Annotated[str | None, Field(description="the newest commit of this version that a fetch has seen")]
CommitsBehind = Annotated[int | None, Field(description="0 at head, null if unknown")]


@dataclass(frozen=True, slots=True)
class Freshness:
    """How fresh the answer is for one version of a repository."""

    repo: str
    ref: str
    kind: RefKind
    indexed_commit: str | None
    head_commit: HeadCommit
    commits_behind: CommitsBehind
    indexed_at: str | None
    skipped_files: Annotated[int | None, Field(description="null if the key sees only some paths of the repository")]
    state: IndexState
    percent: int | None
