"""The rules for a version's log: which commits it has, and what of them is indexed."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Self

from codequarry.ingest.files.scan import PathRules, rules_digest
from codequarry.shared.authors import EmailRule

if TYPE_CHECKING:  # the processes that read commits load no settings
    from codequarry.shared.settings.config import SettingsModel

# Part of the hash of the rules. Increase it when the documents of commits change.
LOG_VERSION = 1


@dataclass(frozen=True, slots=True)
class LogRules:
    """The settings of ``[history]``, and the rules that decide which files of a commit are indexed and masked."""

    repo: str
    commits: int
    diffs: int
    most_files: int
    most_lines: int
    emails: EmailRule
    paths: PathRules = field(compare=False)

    @classmethod
    def of(cls, repo: str, settings: "SettingsModel", paths: PathRules) -> Self:
        """Return the rules from the settings and, for paths and secrets, also from the version's own lists."""
        history = settings.history
        limits = (history.commits, history.diffs, history.max_diff_files, history.max_diff_lines)
        return cls(repo, *limits, history.emails, paths)

    @property
    def digest(self) -> str:
        """The hash of everything that decides what a log holds, or an empty string if it holds nothing."""
        if not self.commits:
            return ""
        limits = (self.diffs, self.most_files, self.most_lines)
        return rules_digest(LOG_VERSION, *limits, self.emails, self.paths.digest)
