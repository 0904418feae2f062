"""The version that a run is to publish."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class IndexTarget:
    """A commit of a version under the rules of the settings.

    ``ref`` is the version's name for people, ``key`` its key in timelines, empty for the default branch. ``rules`` is
    the hash of everything that decides verdicts and, for a working tree, of its files.
    """

    repo: str
    ref: str
    commit: str
    rules: str
    key: str = ""
    repo_id: str = ""
