"""How commits of a mirror lie to one another."""

from collections.abc import Collection

from codequarry.ingest.git.objects import Mirror
from codequarry.shared.errors import GitError
from codequarry.shared.versions.transactions import MAX_COMMITS

# An ancestor further back differs in so much that another base is hardly worse.
NEAR_COMMITS = 5_000


def new_commits(mirror: Mirror, commit: str, previous: str | None) -> tuple[tuple[str, ...], int]:
    """Return the commits that ``commit`` has and ``previous`` had not, newest first, and how many they are in truth.

    At most ``MAX_COMMITS`` of them are returned. All the history where there is no ``previous``, nothing where the
    mirror lacks ``commit``, as of a shallow checkout.
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
    """Return the commits that ``previous`` had and ``commit`` has not, newest first: none unless history was rewritten.

    None where they are more than ``MAX_COMMITS``, or the mirror has one of the two no more.
    """
    if previous in ("", commit):
        return ()
    try:
        found = _rev_list(mirror, f"--max-count={MAX_COMMITS + 1}", previous, f"^{commit}")
    except GitError:
        return None
    return tuple(found) if len(found) <= MAX_COMMITS else None


def count_behind(mirror: Mirror, commit: str, published: str) -> int | None:
    """Return how many commits ``commit`` has that ``published`` has not; None where the mirror does not know."""
    if not published:
        return None
    command = ("rev-list", "--count", commit, f"^{published}", "--")
    try:
        return int(mirror.run(*command, what=f"cannot count the commits of {commit}"))
    except GitError:
        return None


def nearest(mirror: Mirror, commit: str, published: Collection[str]) -> str | None:
    """Return the first of ``published`` among the newest commits of the history of ``commit``, itself included."""
    wanted = frozenset(published)
    try:
        history = _rev_list(mirror, commit, f"--max-count={NEAR_COMMITS}")
    except GitError:
        return None
    return next((one for one in history if one in wanted), None)


def is_ancestor(mirror: Mirror, older: str, newer: str) -> bool:
    """Tell whether ``newer`` has ``older`` in its history; no where the mirror has one of them no more."""
    try:
        mirror.run("merge-base", "--is-ancestor", older, newer, what="cannot compare commits")
    except GitError:
        return False
    return True


def differing_paths(mirror: Mirror, one: str, other: str) -> int | None:
    """Return in how many paths two commits differ; None where the mirror has one of them no more."""
    command = ("diff-tree", "-r", "-z", "--no-renames", "--name-only", "--end-of-options", one, other, "--")
    try:
        return mirror.run(*command, what="cannot compare commits").count(b"\0")
    except GitError:
        return None


def _rev_list(mirror: Mirror, *arguments: str) -> list[str]:
    return mirror.run("rev-list", *arguments, "--", what="cannot list commits").decode().split()
