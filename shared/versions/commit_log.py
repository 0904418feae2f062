"""The log of a timeline: the rows of its commits, in a timeline of their own beside the rows of its files.

A transaction writes and retires rows of both under its one number, so they become visible together. The paths of a log
begin with a folder that no checkout can hold, and name the commit, so what two commits changed in a file has two paths.
"""

from collections.abc import Iterable
from dataclasses import replace

from codequarry.shared.model import Layer, PathGlobs

# git refuses to check out a file of this folder.
FOLDER = ".git/"
_OF_ANY_COMMIT = f"{FOLDER}*/"


def log_timeline(timeline: int) -> int:
    """Return the timeline of a timeline's log.

    ``new_timeline`` reserves its number. In timelines from before that, it is the number of the first transaction,
    which was taken in the same write as the timeline's, so no other timeline has it either.
    """
    return timeline + 1


def with_logs(timelines: Iterable[int]) -> list[int]:
    """Return timelines and their logs."""
    return [part for timeline in timelines for part in (timeline, log_timeline(timeline))]


def message_path(commit: str) -> str:
    """Return the path of a commit's message."""
    return FOLDER + commit


def diff_path(commit: str, path: str) -> str:
    """Return the path of what a commit changed in a file."""
    return f"{FOLDER}{commit}/{path}"


def changed_path(path: str) -> str:
    """Return the file that a path of a log is about, or an empty string for a message."""
    return path.removeprefix(FOLDER).partition("/")[2]


def log_globs(globs: PathGlobs) -> PathGlobs:
    """Return the globs that match the changes of the files that ``globs`` match; messages have no file."""
    include = tuple(map(_of_any_commit, globs.include)) or (f"{_OF_ANY_COMMIT}**",)
    return PathGlobs(include, tuple(map(_of_any_commit, globs.exclude)))


def _of_any_commit(glob: str) -> str:
    body = glob.removeprefix("./")
    depth = "" if "/" in body.rstrip("/") else "**/"
    return _OF_ANY_COMMIT + depth + body.lstrip("/")


def log_layer(layer: Layer, mask: frozenset[str] = frozenset()) -> Layer:
    """Return the layer of the logs of a layer's timelines, without the commits whose paths ``mask`` has.

    A reader who may see only some paths sees no messages: a message tells about all files of its commit.
    """
    timelines = tuple(map(log_timeline, layer.timelines))
    return replace(layer, timelines=timelines, mask=mask, allowed=tuple(map(log_globs, layer.allowed)))
