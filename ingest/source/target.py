"""The version that a run would publish."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class IndexTarget:
    """A version's commit under the configured rules.

    ``ref`` is the version's readable name, ``key`` its key in timelines, empty for the default branch. ``rules`` is the
    hash of everything that decides verdicts and, for a working tree, of its files.
    """

    repo: str
    ref: str
    commit: str
    rules: str
    key: str = ""
    repo_id: str = ""
