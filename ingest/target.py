"""What a run wants to publish."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Target:
    """A commit of a repository under the rules of the settings; ``rules`` is the hash of all that decides verdicts."""

    repo: str
    ref: str
    commit: str
    rules: str
