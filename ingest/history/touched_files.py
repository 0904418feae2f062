"""Which commits touched a file, for all files in one pass over the commits, parents first. Pure.

git simplifies the history of a path: a commit that has the file as one of its parents has it is left out, and only that
parent is followed. So the history of a path at a commit is the history at that parent, or the commit itself and the
histories at all of its parents. The pass keeps, for each line of development, the newest such commit of every path, and
links it to those before it.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from codequarry.ingest.git.commits import ReadCommit
from codequarry.ingest.git.file_log import ABSENT, CommitChanges

# Before the first commit of a path: it began there, or what was before is not known.
NOTHING, UNKNOWN = -1, -2
# A commit that changes more files says little about which of them belong together.
MOST_TOGETHER = 50
# Of a file with more commits, the newest say what changes with it.
MOST_COUNTED = 2_000


@dataclass(frozen=True, slots=True)
class TouchedFile:
    """The commits that touched a file, newest first, and what the newest left there (mode and blob).

    ``is_partial`` if there may be earlier ones, in commits that were not read. ``together`` counts the commits that
    changed it along with each other file.
    """

    commits: Sequence[ReadCommit]
    content: bytes
    is_partial: bool = False
    together: Mapping[bytes, int] = field(default_factory=dict)


class _Line(dict[int, tuple[int, bytes]]):
    """The newest touch of each path in a line of development, with what it left; ``start`` is that of other paths."""

    start = NOTHING

    def touch(self, path: int) -> tuple[int, bytes | None]:
        """Return the newest touch of a path, and what the path has: None if that is not known."""
        return self.get(path) or (self.start, None if self.start == UNKNOWN else ABSENT)

    def copied(self) -> "_Line":
        """Return a copy for another line of development."""
        line = _Line(self)
        line.start = self.start
        return line


class TouchPass:
    """Takes commits one by one, parents first, and then answers for any path of the last one."""

    def __init__(self, graph: Iterable[Sequence[str]], boundary: frozenset[str] = frozenset()) -> None:
        """Begin a pass over the commits of a ``graph``, in which each commit is followed by its parents.

        ``boundary`` has the commits whose parents a shallow clone lacks.
        """
        self._children = Counter(parent for _, *parents in graph for parent in parents)
        self._boundary = boundary
        self._lines: dict[str, _Line] = {}
        self._paths: dict[bytes, int] = {}
        self._commits: list[ReadCommit] = []
        self._changed: list[tuple[int, ...]] = []
        # A touch is a commit and the touches before it.
        self._touch_commit: list[int] = []
        self._before: list[tuple[int, ...]] = []
        self._last = _Line()
        self._names: list[bytes] = []

    def add(self, read: CommitChanges) -> None:
        """Take the next commit."""
        commit = read.commit
        lines = [self._line(parent) for parent in commit.parents]
        line = lines[0] if lines else _Line()
        begins = UNKNOWN if commit.id in self._boundary else NOTHING
        at = len(self._commits)
        paths = [(self._paths.setdefault(path, len(self._paths)), content) for path, content in read.changes]
        for path, content in paths:
            seen = [each.touch(path) for each in lines] or [(begins, None)]
            same = next((touch for touch, before in seen[1:] if before == content), None)
            if same is None:
                same = len(self._before)
                self._touch_commit.append(at)
                self._before.append(tuple(dict.fromkeys(touch for touch, _ in seen)))
            line[path] = (same, content)
        self._commits.append(commit)
        self._changed.append(tuple(path for path, _ in paths) if _tells(read, self._boundary) else ())
        self._lines[commit.id] = self._last = line

    def _line(self, parent: str) -> _Line:
        """Return the line of a parent, for its last child the line itself."""
        line = self._lines.get(parent)
        if line is None:
            line = _Line()
            line.start = UNKNOWN
            return line
        self._children[parent] -= 1
        return self._lines.pop(parent) if self._children[parent] <= 0 else line.copied()

    def touched(self, path: bytes) -> TouchedFile | None:
        """Return the history of a path of the last commit, or None if no commit that was read touched it."""
        number = self._paths.get(path, -1)
        touch, content = self._last.touch(number)
        if touch < 0 or not content:
            return None
        touches, ends = self._reachable(touch)
        commits = sorted((self._touch_commit[each] for each in touches), reverse=True)
        together = Counter(other for at in commits[:MOST_COUNTED] for other in self._changed[at] if other != number)
        if len(self._names) != len(self._paths):
            self._names = list(self._paths)  # a dictionary keeps the order in which its keys came
        return TouchedFile(
            [self._commits[at] for at in commits],
            content,
            UNKNOWN in ends,
            {self._names[other]: count for other, count in together.items()},
        )

    def newest(self) -> set[str]:
        """Return the newest commit of every path of the last commit."""
        touches = {touch for touch, content in self._last.values() if content and touch >= 0}
        return {self._commits[self._touch_commit[touch]].id for touch in touches}

    def _reachable(self, touch: int) -> tuple[set[int], set[int]]:
        """Return a touch with all before it, and where they begin."""
        found, ends, left = {touch}, set[int](), [touch]
        while left:
            for before in self._before[left.pop()]:
                if before < 0:
                    ends.add(before)
                elif before not in found:
                    found.add(before)
                    left.append(before)
        return found, ends


def touched_by(
    commits: Iterable[CommitChanges], path: bytes, boundary: frozenset[str], most: int
) -> TouchedFile | None:
    """Return the history of a path from the commits that touched it, newest first; git gave at most ``most``."""
    read = list(commits)
    if not read:
        return None
    content = dict(read[0].changes).get(path, ABSENT)
    if not content:
        return None
    telling = [each.changes for each in read[:MOST_COUNTED] if _tells(each, boundary)]
    together = Counter(other for changes in telling for other, _ in changes if other != path)
    is_partial = len(read) >= most or any(each.commit.id in boundary for each in read)
    return TouchedFile([each.commit for each in read], content, is_partial, together)


def _tells(read: CommitChanges, boundary: frozenset[str]) -> bool:
    """Return whether a commit's files say something about which files change together: a merge's do not."""
    commit = read.commit
    return len(commit.parents) <= 1 and commit.id not in boundary and len(read.changes) <= MOST_TOGETHER
