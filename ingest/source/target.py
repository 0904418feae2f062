"""What a run wants to publish."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class IndexTarget:
    """A commit of a version under the rules of the settings.

    ``ref`` is the version in words, ``key`` what timelines call it: empty for the repository's default branch.
    ``rules`` is the hash of all that decides verdicts, and for a working tree also of its files. ``repo_id`` is the
    repository's id in the catalog.
    """

    repo: str
    ref: str
    commit: str
    rules: str
    key: str = ""
    repo_id: str = ""
