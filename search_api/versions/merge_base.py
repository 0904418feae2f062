"""The merge base of two versions, as far as the catalog has it; git finds the others in a job or a command."""

from collections.abc import Mapping
from dataclasses import dataclass
from shlex import quote
from typing import Self

from codequarry.search_api.versions.missing_version import VersionMissing
from codequarry.search_api.versions.views import View
from codequarry.shared.catalog.merge_bases import read_merge_base
from codequarry.shared.catalog.pull_requests import read_pull_request
from codequarry.shared.errors import NotIndexed, UsageError
from codequarry.shared.store.port import DocumentStore
from codequarry.shared.versions.head import Head

SHORT_COMMIT = 12


@dataclass(frozen=True, slots=True)
class Fork:
    """Two versions of a repository whose merge base is wanted, by name and commit; a working tree counts as its HEAD.

    ``pull`` is the number of the pull request, if they are its target and its head. The commit of the target is "" if
    that branch is not indexed.
    """

    repo: str
    repo_id: str
    names: tuple[str, str]
    commits: tuple[str, str]
    pull: str = ""

    @classmethod
    def of(cls, head: Head, before: View, after: View) -> Self:
        """Return two views of one repository as a fork."""
        repo_id = head.timelines[after.timeline].repo_id
        return cls(after.repo, repo_id, (before.ref.name, after.ref.name), (before.commit, after.commit))

    def __str__(self) -> str:
        first, second = (
            f"{name} ({commit[:SHORT_COMMIT]})" for name, commit in zip(self.names, self.commits, strict=True)
        )
        return f"{first} and {second} in {self.repo}"


class MergeBaseUnknown(NotIndexed):
    """Git has not been asked for a merge base yet; carries the two versions, so that it can be.

    The message ends with the ``command`` that finds it. Where no command can be run, say ``problem`` instead.
    """

    def __init__(self, fork: Fork) -> None:
        self.fork = fork
        versions = f"--pull {fork.pull}" if fork.pull else "...".join(fork.commits)
        self.problem = f"the merge base of {fork} is not known yet"
        self.command = f"codequarry diff-search QUERY {versions} --repo {quote(fork.repo)}"
        super().__init__(f"{self.problem}; to find it: {self.command}")


class MergeBaseMissing(VersionMissing):
    """A merge base is known, but that commit is not indexed."""

    def __init__(self, error: VersionMissing, forks: Mapping[str, Fork]) -> None:
        self.missing = error.missing
        named = [forks[item.repo] for item in error.missing if item.repo in forks]
        about = f"the merge base of {named[0]}: " if named else ""
        self.problem, self.command, self.is_workspace = about + error.problem, error.command, False
        super(VersionMissing, self).__init__(f"{about}{error}")


def merge_base(store: DocumentStore, fork: Fork) -> str:
    """Return the commit that ``git diff before...after`` compares with ``after``, and for a pull request its base.

    Raise MergeBaseUnknown if git has not been asked yet, UsageError if there is none.
    """
    target, head = fork.commits
    found = read_merge_base(store, fork.repo_id, target, head)
    # After the merge of a pull request, the merge base is its own head; its changes begin where it branched off.
    if fork.pull and found in (None, head):
        known = read_pull_request(store, fork.repo_id, fork.pull)
        found = known.base if known.head == head and known.base else None
    if found is None:
        raise MergeBaseUnknown(fork)
    if not found:
        raise UsageError(f"{fork} have no common history, so there is no merge base; compare them directly (two dots)")
    return found
