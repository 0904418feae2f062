"""The history of a mirror: ancestors, new and lost commits, and differences between commits."""

from collections.abc import Collection

from codequarry.ingest.git.objects import Mirror
from codequarry.shared.errors import GitError
from codequarry.shared.versions.transactions import MAX_COMMITS

# An ancestor further back differs so much that a different base is hardly worse.
NEAR_COMMITS = 5_000


def new_commits(mirror: Mirror, commit: str, previous: str | None) -> tuple[tuple[str, ...], int]:
    """Return the commits in the history of ``commit`` but not of ``previous``, newest first, and their total number.

    At most ``MAX_COMMITS`` are returned. Without ``previous``, or if the mirror lacks it, return the whole history. If
    the mirror lacks ``commit``, as with a shallow checkout, return no commits.
    """
    without = [f"^{previous}"] if previous else []
    try:
        found = _rev_list(mirror, f"--max-count={MAX_COMMITS + 1}", commit, *without)
    except GitError:
        if not mirror.commit_of(commit):
            return (), 0
        if not previous or mirror.commit_of(previous):
            raise
        return new_commits(mirror, commit, None)
    if len(found) <= MAX_COMMITS:
        return tuple(found), len(found)
    counted = mirror.run("rev-list", "--count", commit, *without, "--", what=f"cannot count the commits of {commit}")
    return tuple(found[:MAX_COMMITS]), int(counted)


def lost_commits(mirror: Mirror, commit: str, previous: str) -> tuple[str, ...] | None:
    """Return the commits of ``previous`` that ``commit`` lacks, newest first; empty unless history was rewritten.

    Return None if there are more than ``MAX_COMMITS``, or if the mirror lacks either commit.
    """
    if previous in ("", commit):
        return ()
    found = commits_of(mirror, previous, f"^{commit}", most=MAX_COMMITS + 1)
    return None if found is None or len(found) > MAX_COMMITS else tuple(found)


def commits_of(mirror: Mirror, *tips: str, most: int | None = None) -> list[str] | None:
    """Return the commits in the histories of ``tips`` (``^COMMIT`` excludes one), newest first, at most ``most``.

    Return None if the mirror lacks a tip.
    """
    limits = [] if most is None else [f"--max-count={most}"]
    try:
        return _rev_list(mirror, *limits, *tips)
    except GitError:
        return None


def count_behind(mirror: Mirror, commit: str, published: str) -> int | None:
    """Return how many commits ``commit`` has that ``published`` lacks, or None if the mirror can't tell."""
    if not published:
        return None
    command = ("rev-list", "--count", commit, f"^{published}", "--")
    try:
        return int(mirror.run(*command, what=f"cannot count the commits of {commit}"))
    except GitError:
        return None


def nearest(mirror: Mirror, commit: str, published: Collection[str]) -> str | None:
    """Return the first of ``published`` among the newest commits in the history of ``commit``, including itself."""
    wanted = frozenset(published)
    try:
        history = _rev_list(mirror, commit, f"--max-count={NEAR_COMMITS}")
    except GitError:
        return None
    return next((ancestor for ancestor in history if ancestor in wanted), None)


def merge_bases(mirror: Mirror, one: str, other: str) -> tuple[str, ...]:
    """Return the merge bases of two commits; ``git diff one...other`` takes the first. Empty: no common history.

    Raise GitError if the mirror lacks either commit, or the part of their history that would tell.
    """
    try:
        found = mirror.run(
            "merge-base", "--all", "--end-of-options", one, other, what=f"cannot compare {one} and {other}"
        )
        return tuple(found.decode().split())
    except GitError:
        # Git exits with an error if there is no merge base, too.
        for commit in (one, other):
            _rev_list(mirror, "--quiet", commit)
    if (mirror.folder / "shallow").exists():
        raise GitError(f"the clone is shallow, so it can't tell from where {one} and {other} branched off")
    return ()


def merged_as(mirror: Mirror, head: str, target: str) -> str | None:
    """Return the first commit on the first-parent line of ``target`` that has ``head`` in its history, or None.

    That is the merge commit, or, after a fast-forward, the commit after ``head``. None means that it is not merged.
    """
    if not is_ancestor(mirror, head, target):
        return None
    after = frozenset(_rev_list(mirror, "--ancestry-path", target, f"^{head}"))
    line = [commit for commit in _rev_list(mirror, "--first-parent", target, f"^{head}") if commit in after]
    return line[-1] if line else None


def is_ancestor(mirror: Mirror, older: str, newer: str) -> bool:
    """Return whether ``older`` is in the history of ``newer``, or False if the mirror lacks either commit."""
    try:
        mirror.run("merge-base", "--is-ancestor", older, newer, what="cannot compare commits")
    except GitError:
        return False
    return True


def differing_paths(mirror: Mirror, one: str, other: str) -> int | None:
    """Return the number of paths in which two commits differ, or None if the mirror lacks either commit."""
    command = ("diff-tree", "-r", "-z", "--no-renames", "--name-only", "--end-of-options", one, other, "--")
    try:
        return mirror.run(*command, what="cannot compare commits").count(b"\0")
    except GitError:
        return None


def _rev_list(mirror: Mirror, *arguments: str) -> list[str]:
    return mirror.run("rev-list", *arguments, "--", what="cannot list commits").decode().split()
