"""The settings of how an index is written, and how long its history is kept."""

from pydantic import Field

from codequarry.shared.settings.sources import Section


class IndexingSettings(Section):
    """How an indexing run shares the machine."""

    processes: int | None = Field(
        default=None,
        ge=0,
        le=256,
        description="chunking processes; one a core if unset; 0, for debuggers, "
        "reads in the run's own, without limits: the service and workers take it for 1",
    )
    max_paths: int = Field(
        default=3_000_000, ge=1, description="a version with more files is refused; each takes 400 bytes of memory"
    )
    listing_seconds: float = Field(
        default=600, gt=0, description="to list a version's files and match them with patterns may take so long"
    )
    process_memory_bytes: int = Field(
        default=2_000_000_000,
        ge=200_000_000,
        description="memory of each process that lists or reads files; a file that takes more is skipped",
    )
    batch_files: int = Field(default=200, ge=1, le=10_000)
    lease_seconds: float = Field(default=30, gt=0, description="a lease that has not changed for so long has expired")
    grace_seconds: float = Field(default=1, ge=0, description="what a rebuild replaced is kept for so long for readers")
    overlay_max_share: float = Field(
        default=0.25, ge=0, le=1, description="a version that differs in more of its paths is indexed whole"
    )
    overlay_max_paths: int = Field(default=10_000, ge=0, description="the same, as a number of paths")


class KeptHistory(Section):
    """How much of its history one repository keeps, where it differs from the others."""

    keep_commits: int | None = Field(default=None, ge=1)
    keep_days: float | None = Field(default=None, ge=0)


class RetentionSettings(Section):
    """How long a commit that was head stays searchable."""

    keep_commits: int = Field(default=200, ge=1, description="newest indexed commits of a branch that are kept")
    keep_days: float = Field(default=90, ge=0, description="a commit is kept for so long after it was head")
    grace_seconds: float = Field(
        default=60, ge=0, description="longer than any request: collected rows stay for so long"
    )
    repositories: dict[str, KeptHistory] = Field(default={})
