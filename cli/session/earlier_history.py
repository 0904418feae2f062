"""Asks git about the commits in a symbol's history: who made them, and which touched its lines before the index did."""

from collections.abc import Iterable
from contextlib import ExitStack
from dataclasses import dataclass, replace
from time import monotonic
from typing import TYPE_CHECKING

from codequarry.cli.session.session import Workplace
from codequarry.cli.terminal.console import count, short

if TYPE_CHECKING:
    from codequarry.ingest.git.line_log import LineLog
    from codequarry.ingest.git.objects import Mirror
    from codequarry.search_api.answers.symbol_history import (
        DeclarationHistory,
        EarlierHistory,
        HistoricText,
        LineCommit,
        SymbolEvent,
        SymbolHistory,
    )

# The lines of a working tree are in no commit.
WORKSPACE = "workspace:"


def ask_git(place: Workplace, answer: "SymbolHistory", seconds: float) -> "SymbolHistory":
    """Return the answer with git's dates, authors and messages, and with the earlier commits of each declaration.

    git reads only our own mirrors, for ``seconds`` in total. Without a mirror the answer says so.
    """
    deadline = monotonic() + seconds
    repos = {history.repo for history in answer.declarations}
    with ExitStack() as stack:
        mirrors = _mirrors(place, repos, stack)
        told = [
            _Teller(mirrors[history.repo], seconds, deadline).tell(history) if history.repo in mirrors else history
            for history in answer.declarations
        ]
    lacking = sorted(repos - mirrors.keys())
    reason = f"this machine has no mirror of {', '.join(lacking)}" if lacking else None
    if mirrors and monotonic() >= deadline:
        reason = f"git was stopped after {seconds:g} s; --git-seconds gives it more"
    return replace(answer, declarations=tuple(told), beyond_reason=reason)


def _mirrors(place: Workplace, repos: Iterable[str], stack: ExitStack) -> dict[str, "Mirror"]:
    """Return the mirrors on this machine, which are kept from being removed until ``stack`` is closed."""
    from codequarry.ingest.git.mirror_cache import mirror_in_use
    from codequarry.ingest.git.mirrors import open_access
    from codequarry.ingest.git.origins import origin_of_record
    from codequarry.shared.catalog.repositories import read_repository
    from codequarry.shared.errors import CodequarryError
    from codequarry.shared.repositories.mirror_folders import mirror_folder

    found = {}
    for repo in repos:
        repository = read_repository(place.store, repo)
        if repository is None:
            continue
        try:
            origin = origin_of_record(repository.origin)
        except CodequarryError:  # a local repository that was deleted
            continue
        folder = mirror_folder(origin, place.settings.home)
        if (folder / "HEAD").exists():
            stack.enter_context(mirror_in_use(folder))
            found[repo] = open_access(origin, place.settings.git, place.settings.home).mirror
    return found


@dataclass(frozen=True, slots=True)
class _Teller:
    """Asks one mirror, until ``deadline``; ``seconds`` is the whole limit, for messages."""

    mirror: "Mirror"
    seconds: float
    deadline: float

    def tell(self, history: "DeclarationHistory") -> "DeclarationHistory":
        """Return a history with what git says about its events, and before them."""
        from codequarry.ingest.git.line_log import describe_commits

        commits = list(dict.fromkeys(event.commit for event in history.events))
        known = describe_commits(self.mirror, commits, self._left())
        first = history.events[-1]
        begun = first.after if first.event == "present" and not first.ref.startswith(WORKSPACE) else None
        # What came before the index is asked first: nothing else tells it.
        beyond = self._beyond(begun) if begun else None
        events = []
        for event in history.events:
            logged = known.get(event.commit)
            said = (logged.date, logged.author, logged.subject) if logged else (None, None, None)
            date, author, subject = said
            touching = self._touching(event)
            events.append(replace(event, commit_date=date, author=author, subject=subject, commits=touching))
        return replace(history, events=tuple(events), beyond=beyond)

    def _left(self) -> float:
        return max(0.0, self.deadline - monotonic())

    def _touching(self, event: "SymbolEvent") -> "tuple[LineCommit, ...] | None":
        """Return the commits between two heads that touched the lines; None if that is unknown."""
        from codequarry.shared.errors import GitError

        if event.range is None or event.after is None or not event.previous_commit or not self._left():
            return None
        try:
            found = self._log(event.after, event.previous_commit)
        except GitError:  # the previous commit may be lost after a force-push
            return None
        return None if found.stopped else _commits(found)

    def _beyond(self, text: "HistoricText") -> "EarlierHistory":
        """Return git's log of the lines that the declaration had when its indexed history begins."""
        from codequarry.search_api.answers.symbol_history import EarlierHistory
        from codequarry.shared.errors import GitError

        try:
            found = self._log(text)
        except GitError as error:
            return EarlierHistory((), complete=False, reason=str(error))
        commits = _commits(found)
        if not found.stopped:
            return EarlierHistory(commits, complete=True, reason=None)
        limit = f"{self.seconds:g} s" if found.stopped == "time" else count(len(commits), "commit")
        at = f" at commit {short(commits[-1].commit)}" if commits else ", before it found a commit"
        return EarlierHistory(commits, complete=False, reason=f"git was stopped after {limit}{at}")

    def _log(self, text: "HistoricText", since: str = "") -> "LineLog":
        from codequarry.ingest.git.line_log import line_log

        lines = (text.start_line, text.end_line)
        return line_log(self.mirror, text.commit, text.path, lines, self._left(), since)


def _commits(found: "LineLog") -> "tuple[LineCommit, ...]":
    from codequarry.search_api.answers.symbol_history import LineCommit

    return tuple(LineCommit(item.commit, item.date, item.author, item.subject) for item in found.commits)
