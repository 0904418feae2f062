"""git's own log of some lines of a file: the commits that touched them, however long ago, within limits."""

from collections.abc import Sequence
from dataclasses import dataclass
from time import monotonic
from typing import Literal

from codequarry.ingest.git.objects import Mirror
from codequarry.ingest.git.process import run_git_bounded
from codequarry.ingest.secrets.masking import mask
from codequarry.shared.errors import GitError
from codequarry.shared.paths import printable, raw

# A file of more commits than this is a log itself; a page of a person's terminal has fifty lines.
MAX_COMMITS = 1_000
MAX_OUTPUT_BYTES = 4_000_000
# A first line can be as long as its author likes.
MAX_SUBJECT_CHARACTERS = 200
# Commits named in one command line.
COMMITS_PER_COMMAND = 500
_FIELDS = "%H%x00%cI%x00%an%x00%s%x00"
_FIELD_COUNT = 4
# Nothing that a repository's configuration could add is shown, run or verified.
_PLAIN = ("--no-patch", "--no-ext-diff", "--no-textconv", "--no-color", "--no-show-signature", "--no-notes")


@dataclass(frozen=True, slots=True)
class LoggedCommit:
    """A commit with its date (ISO 8601), its author's name and the first line of its message, secrets masked."""

    commit: str
    date: str
    author: str
    subject: str


@dataclass(frozen=True, slots=True)
class LineLog:
    """The commits that touched some lines, newest first; there may be more if a limit ``stopped`` the search."""

    commits: tuple[LoggedCommit, ...]
    stopped: Literal["", "time", "size"] = ""


def line_log(
    mirror: Mirror, commit: str, path: str, lines: tuple[int, int], seconds: float, since: str = ""
) -> LineLog:
    """Return the commits up to ``commit`` that touched lines of a file, followed through renames.

    With ``since``, only commits that this commit lacks are searched. The search stops after ``seconds``; what was found
    by then is returned. Raise GitError if the mirror lacks the commit or the lines.
    """
    first, last = lines
    if not mirror.commit_of(commit):
        raise GitError(f"the mirror lacks commit {commit[:12]}; index the repository again to fetch it")
    wanted = f"-L{first},{last}:{_argument(path)}"
    revisions = (commit, f"^{since}") if since else (commit,)
    arguments = ("log", *_PLAIN, f"--max-count={MAX_COMMITS}", f"--format={_FIELDS}", wanted, *revisions)
    found = run_git_bounded(
        (f"--git-dir={mirror.folder}", *arguments),
        mirror.environment,
        max(0.0, seconds),
        MAX_OUTPUT_BYTES,
        what=f"cannot read the history of {path}",
    )
    commits = _commits(found.output)
    return LineLog(commits, "size" if len(commits) >= MAX_COMMITS else found.stopped)


def describe_commits(mirror: Mirror, commits: Sequence[str], seconds: float) -> dict[str, LoggedCommit]:
    """Return what git says about commits, without those that the mirror lacks or that took too long."""
    known: dict[str, LoggedCommit] = {}
    deadline = monotonic() + seconds
    for start in range(0, len(commits), COMMITS_PER_COMMAND):
        part = commits[start : start + COMMITS_PER_COMMAND]
        arguments = ("log", *_PLAIN, "--no-walk=unsorted", "--ignore-missing", f"--format={_FIELDS}", *part, "--")
        found = run_git_bounded(
            (f"--git-dir={mirror.folder}", *arguments),
            mirror.environment,
            max(0.0, deadline - monotonic()),
            MAX_OUTPUT_BYTES,
            what="cannot read commits",
        )
        known |= {commit.commit: commit for commit in _commits(found.output)}
    return known


def _argument(path: str) -> str:
    """Return a path as Python passes it to a process: bytes that are not UTF-8 as surrogates."""
    return raw(path).decode(errors="surrogateescape")


def _commits(output: bytes) -> tuple[LoggedCommit, ...]:
    """Read whole entries; one that was cut off is left out."""
    fields = output.split(b"\0")
    entries = zip(*(fields[place::_FIELD_COUNT] for place in range(_FIELD_COUNT)), strict=False)
    whole = len(fields) // _FIELD_COUNT
    return tuple(_commit(*entry) for entry, _ in zip(entries, range(whole), strict=False))


def _commit(commit: bytes, date: bytes, author: bytes, subject: bytes) -> LoggedCommit:
    message = mask(printable(subject)).text
    shown = message if len(message) <= MAX_SUBJECT_CHARACTERS else message[: MAX_SUBJECT_CHARACTERS - 1] + "…"
    return LoggedCommit(commit.decode().strip(), date.decode(), mask(printable(author)).text, shown)
