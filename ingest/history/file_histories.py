"""The history of the files that a run writes, read from git and put into their chunks."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from codequarry.ingest.files.read_file import ReadFile, ReadingRules
from codequarry.ingest.files.reading_pool import Readers
from codequarry.ingest.files.scan import FileTask
from codequarry.ingest.git.file_log import (
    boundary_commits,
    read_changes,
    read_changes_with,
    read_graph,
    read_messages,
)
from codequarry.ingest.git.objects import Mirror
from codequarry.ingest.history.file_facts import FactRules, history_fields
from codequarry.ingest.history.touched_files import TouchedFile, TouchPass, touched_by
from codequarry.shared.errors import GitError, LimitExceeded
from codequarry.shared.paths import raw
from codequarry.shared.telemetry.traces import span

# One pass over all commits costs about as much as asking git for this many files.
FEW_FILES = 4
# Of the pass, git's part included: celery 0.00015, werkzeug 0.00005 s of processor time per commit.
_SECONDS_PER_COMMIT = 0.00015


# Not slotted, because the histories are cached.
@dataclass(frozen=True)
class FileHistories:
    """The histories of files at a ``commit``; without ``paths``, of any file of it.

    If git fails, the files are indexed without.
    """

    mirror: Mirror
    commit: str
    rules: ReadingRules
    paths: Collection[str] | None = None
    _problems: list[str] = field(default_factory=list, init=False, compare=False)

    @property
    def problem(self) -> str:
        """What the files lack because git failed, or ""."""
        return "; ".join(self._problems)

    def dated(self, file: ReadFile) -> ReadFile:
        """Return a file whose chunks have its history; a file that the commit has otherwise, or lacks, stays as it is.

        The latter is changed in a working tree: no commit has written its text.
        """
        touched = self._touched.get(file.task.path) if file.pieces else None
        if touched is None or touched.content.rpartition(b" ")[2].decode() != file.task.blob:
            return file
        newest = touched.commits[0].id
        rules = FactRules(self.rules.repo, self.rules.emails, self.rules.secrets)
        is_known = newest not in self._boundary
        fields: dict[str, Any] = history_fields(touched, self._messages.get(newest, ""), is_known, rules)
        pieces = tuple(replace(piece, chunk=replace(piece.chunk, **fields)) for piece in file.pieces)
        return replace(file, pieces=pieces)

    @cached_property
    def _boundary(self) -> frozenset[str]:
        return boundary_commits(self.mirror)

    @cached_property
    def _touched(self) -> "Mapping[str, TouchedFile] | _Lookup":
        if not self.rules.file_commits or self.mirror.commit_of(self.commit) is None:
            return {}
        try:
            with span("job.file_history"):
                if self.paths is not None and len(self.paths) <= FEW_FILES:
                    return self._of_few(self.paths)
                return self._of_all()
        except (GitError, LimitExceeded) as error:
            self._problems.append(f"files were indexed without their history: {error}")
            return {}

    def _of_few(self, paths: Collection[str]) -> dict[str, TouchedFile]:
        found: dict[str, TouchedFile] = {}
        for path in paths:
            commits = read_changes_with(self.mirror, self.commit, path, self.rules.file_commits)
            if touched := touched_by(commits, raw(path), self._boundary, self.rules.file_commits):
                found[path] = touched
        return found

    def _of_all(self) -> "_Lookup":
        most = self.rules.file_commits
        touches = TouchPass(read_graph(self.mirror, self.commit, most), self._boundary)
        for commit in read_changes(self.mirror, self.commit, most):
            touches.add(commit)
        return _Lookup(touches)

    @cached_property
    def _messages(self) -> dict[str, str]:
        """The messages of the newest commits of the files."""
        touched = self._touched
        newest = touched.newest() if isinstance(touched, _Lookup) else {each.commits[0].id for each in touched.values()}
        try:
            return read_messages(self.mirror, newest)
        except GitError as error:
            self._problems.append(f"files have no commit messages: {error}")
            return {}


def seconds_of_histories(mirror: Mirror, commit: str, most: int, files: int) -> float:
    """Return about how long it takes to read the histories of ``files`` files in at most ``most`` commits."""
    if files <= FEW_FILES or not most or mirror.commit_of(commit) is None:
        return 0.0
    counted = mirror.run("rev-list", "--count", f"--max-count={most}", commit, "--", what="cannot count the commits")
    return int(counted) * _SECONDS_PER_COMMIT


@dataclass(frozen=True, slots=True)
class _Lookup:
    """Looks histories up in a finished pass."""

    touches: TouchPass

    def get(self, path: str) -> TouchedFile | None:
        """Return the history of a path."""
        return self.touches.touched(raw(path))

    def newest(self) -> set[str]:
        """Return the newest commits of all files."""
        return self.touches.newest()


@dataclass(frozen=True, slots=True)
class DatingReaders:
    """Readers that put the history into every file that they read."""

    readers: Readers
    histories: FileHistories

    def read(self, tasks: Iterable[FileTask]) -> Iterator[ReadFile]:
        """Yield one outcome for each task, in any order; history is read while the first files are."""
        return map(self.histories.dated, self.readers.read(tasks))

    def close(self) -> None:
        """End the processes."""
        self.readers.close()
