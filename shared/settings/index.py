"""Settings for writing an index and keeping its history."""

from typing import Literal

from pydantic import Field

from codequarry.shared.settings.sources import Section


class IndexingSettings(Section):
    """Limits and concurrency of an indexing run."""

    processes: int | None = Field(
        default=None, ge=0, le=256, description="processes that read files; one per core if unset; 0 (debugging): none"
    )
    max_paths: int = Field(default=3_000_000, ge=1, description="maximum files per version; each takes 400 bytes")
    listing_seconds: float = Field(default=600, gt=0, description="time limit for listing a version's files")
    process_memory_bytes: int = Field(default=2_000_000_000, ge=200_000_000, description="memory per reader process")
    batch_files: int = Field(default=200, ge=1, le=10_000)
    lease_seconds: float = Field(default=30, gt=0, description="a lease expires if it is not renewed for this long")
    grace_seconds: float = Field(default=1, ge=0, description="how long readers keep what a rebuild replaced")
    overlay_max_share: float = Field(default=0.25, ge=0, le=1, description="maximum share of paths in an overlay")
    overlay_max_paths: int = Field(default=10_000, ge=0, description="maximum number of paths in an overlay")


class HistorySettings(Section):
    """The commits that are indexed, so that searches find their messages and what they changed."""

    commits: int = Field(default=1_000, ge=0, le=100_000, description="newest commits of a version's first run; 0: off")
    diffs: int = Field(
        default=100, ge=0, le=100_000, description="of these, the newest whose changed lines are indexed"
    )
    max_diff_files: int = Field(default=50, ge=1, description="a commit that changes more files has only its message")
    max_diff_lines: int = Field(default=500, ge=1, description="changed lines indexed per file of a commit")
    file_commits: int = Field(
        default=100_000, ge=0, le=10_000_000, description="newest commits read for the history of files; 0: off"
    )
    emails: Literal["keep", "hash", "drop"] = Field(
        default="hash", description="e-mail addresses of authors; hash: only a search for the whole address finds them"
    )


class KeptHistory(Section):
    """Retention for one repository; unset values are taken from ``[retention]``."""

    keep_commits: int | None = Field(default=None, ge=1)
    keep_days: float | None = Field(default=None, ge=0)


class RetentionSettings(Section):
    """How long earlier heads of a branch stay searchable."""

    keep_commits: int = Field(default=200, ge=1, description="number of newest indexed commits kept per branch")
    keep_days: float = Field(default=90, ge=0, description="how long a commit is kept after another became head")
    keep_ended: int = Field(default=1000, ge=0, description="number of deleted branches, tags... kept per repository")
    grace_seconds: float = Field(default=60, ge=0, description="delay before expired rows are deleted")
    repositories: dict[str, KeptHistory] = Field(default={})
