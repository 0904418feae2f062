"""Which commits a run would index, for its estimate: how many there are, and a sample of their documents."""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass

from codequarry.ingest.files.scan import FileTask
from codequarry.ingest.git.ancestry import commits_of
from codequarry.ingest.git.commits import read_commits
from codequarry.ingest.history.documents import commit_tasks
from codequarry.ingest.history.log_rules import LogRules
from codequarry.ingest.source.source import FileSource
from codequarry.shared.errors import GitError, LimitExceeded
from codequarry.shared.settings.config import SettingsModel
from codequarry.shared.versions.transactions import TransactionRecord

# Of each kind, commits with changed lines and messages alone: most messages are about equally long.
SAMPLE_COMMITS = 100


@dataclass(frozen=True, slots=True)
class LogSample:
    """How many ``commits`` a run would add, and tasks for some, each with the number of documents it represents."""

    commits: int = 0
    tasks: tuple[tuple[FileTask, float], ...] = ()


def sample_log(
    repo: str, source: FileSource, settings: SettingsModel, records: tuple[TransactionRecord | None, ...]
) -> LogSample:
    """Sample the commits that the versions of ``records`` lack; a version with other rules counts as none."""
    rules = LogRules.of(repo, settings, source.rules)
    known = [f"^{record.commit}" for record in records if record and record.log_rules == rules.digest]
    tips = (source.commit, *known)
    found = (commits_of(source.mirror, *tips, most=rules.commits) if rules.digest else None) or []
    with_lines = min(rules.diffs, len(found))
    tasks: list[tuple[FileTask, float]] = []
    for first, most, diffs in ((0, with_lines, True), (with_lines, len(found) - with_lines, False)):
        read = min(most, SAMPLE_COMMITS)
        with suppress(GitError, LimitExceeded):  # what cannot be read is not indexed either
            tasks += _tasks(source, tips, rules, range(first, first + read), most / max(1, read), diffs=diffs)
    return LogSample(len(found), tuple(tasks))


def _tasks(
    source: FileSource, tips: tuple[str, ...], rules: LogRules, places: range, weight: float, *, diffs: bool
) -> Iterator[tuple[FileTask, float]]:
    for commit in read_commits(source.mirror, tips, most=len(places), skip=places.start, patches=diffs):
        for task in commit_tasks(commit, rules, diffs=diffs):
            yield task, weight
