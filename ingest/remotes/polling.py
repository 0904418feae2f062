"""Polls origins periodically for changes that no webhook reports."""

import random
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial

from codequarry.ingest.remotes.survey import ChangedVersion, ask_origin, changes
from codequarry.ingest.transaction.seen_heads import note_listing
from codequarry.shared.catalog.ledger import read_head
from codequarry.shared.catalog.polls import Poll, change_poll, forget_poll, list_polls
from codequarry.shared.catalog.repositories import Repository, list_repositories
from codequarry.shared.errors import CodequarryError, GitError, StoreError
from codequarry.shared.jobs.job import PRIORITIES, JobRequest
from codequarry.shared.repositories.followed_versions import rules_of, version_request
from codequarry.shared.settings.config import SettingsModel
from codequarry.shared.settings.triggers import RepositorySettings
from codequarry.shared.store.port import DocumentStore
from codequarry.shared.telemetry.logs import logger
from codequarry.shared.timestamps import from_now, later, now
from codequarry.shared.versions.head import Head

# How often to check which origins are due.
LOOK_SECONDS = 15.0
# How many origins are asked at once; nearly all of the time is spent waiting for answers.
AT_ONCE = 8
# A call asks no more origins after this time; the rest are asked in the next call.
BUDGET_SECONDS = 20.0
# The next poll comes up to this share of the interval sooner or later, so that many repositories spread out.
JITTER = 0.1
# A failing origin is asked again at intervals that double up to this.
MAX_PAUSE_SECONDS = 6 * 3600.0
# A webhook that has been silent for this long may be gone.
HOOKED_SECONDS = 24 * 3600.0

Submit = Callable[[JobRequest], object]

log = logger("codequarry.polling")


@dataclass(frozen=True, slots=True)
class Polled:
    """The result of polling one origin: the versions that jobs were submitted for, or why the origin did not answer."""

    repo: str
    changed: tuple[ChangedVersion, ...] = ()
    error: str = ""


def poll_due(
    store: DocumentStore,
    settings: SettingsModel,
    submit: Submit,
    *,
    budget_seconds: float = BUDGET_SECONDS,
    draw: Callable[[], float] = random.random,
) -> list[Polled]:
    """Poll the origins that are due, and submit jobs for changes; any number of processes may do so at the same time.

    ``draw`` returns a random number from 0 to 1. Raises StoreUnavailable if the store does not answer.
    """
    head = read_head(store)
    repositories = {repository.name: repository for repository in list_repositories(store)}
    polls = list_polls(store)
    for name in polls.keys() - repositories.keys():
        forget_poll(store, name)
    due = due_repositories(list(repositories.values()), head, polls, settings)
    until = time.monotonic() + budget_seconds

    def ask(repository: Repository) -> Polled | None:
        if time.monotonic() > until:
            return None
        return _ask(store, settings, submit, repository, draw)

    with ThreadPoolExecutor(AT_ONCE, thread_name_prefix="poll") as pool:
        return [polled for polled in pool.map(ask, due) if polled]


def due_repositories(
    repositories: Sequence[Repository], head: Head, polls: Mapping[str, Poll], settings: SettingsModel
) -> list[Repository]:
    """Return the indexed repositories that are due, longest overdue first."""
    found = []
    for repository in repositories:
        poll = polls.get(repository.name) or Poll(repository.name)
        seconds = interval(repository, poll, settings)
        if not seconds or repository.name not in head.defaults:
            continue
        fetched = repository.fetched_at
        next_at = poll.next_at or (later(fetched, seconds) if fetched else "")
        if _is_due(replace(poll, next_at=next_at), seconds, settings):
            found.append((next_at, repository))
    return [repository for _, repository in sorted(found, key=lambda pair: pair[0])]


def _is_due(poll: Poll, seconds: float, settings: SettingsModel) -> bool:
    """Return whether a repository with an interval of ``seconds`` is due."""
    # Ignore a time later than any that is written now: it comes from longer intervals in old settings or a wrong clock.
    longest = max(seconds * (1 + JITTER), _claim_seconds(settings), MAX_PAUSE_SECONDS if poll.failures else 0.0)
    return not now() < poll.next_at <= from_now(longest)


def _claim_seconds(settings: SettingsModel) -> float:
    return 2 * settings.polling.timeout_seconds


def interval(repository: Repository, poll: Poll, settings: SettingsModel) -> float:
    """Return the seconds until an origin is asked again, or 0 for never."""
    rules = rules_of(settings, repository.origin)
    seconds = settings.polling.interval_seconds
    if isinstance(rules, RepositorySettings) and rules.poll_seconds is not None:
        return rules.poll_seconds
    if seconds and poll.hooked_at > from_now(-HOOKED_SECONDS):
        return max(seconds, settings.polling.with_webhooks_seconds)
    return seconds


def _ask(
    store: DocumentStore, settings: SettingsModel, submit: Submit, repository: Repository, draw: Callable[[], float]
) -> Polled | None:
    claimed = change_poll(store, repository.name, lambda poll: _claimed(poll, repository, settings))
    if claimed is None:
        return None
    seconds = interval(repository, claimed, settings) * (1 + JITTER * (2 * draw() - 1))
    try:
        head, rules = read_head(store), rules_of(settings, repository.origin)
        listing = ask_origin(repository, head, settings, rules)
        note_listing(store, repository, listing)
        changed = list(changes(repository, head, listing, rules))
        asked_for = _submit(submit, repository, changed, claimed)
    except GitError as error:
        pause = min(MAX_PAUSE_SECONDS, seconds * 2 ** min(claimed.failures, 20))
        failed = replace(claimed, next_at=from_now(pause), failures=claimed.failures + 1, error=str(error))
        change_poll(store, repository.name, partial(_settled, failed))
        log.warning("origin does not answer", repo=repository.name, failures=failed.failures, detail=str(error))
        return Polled(repository.name, error=str(error))
    except CodequarryError as error:
        # The origin is asked again once the claim expires.
        log.warning("polling waits", repo=repository.name, detail=str(error))
        return Polled(repository.name, error=str(error))
    done = Poll(repository.name, from_now(seconds), asked_for, repo_id=repository.id)
    with suppress(StoreError):
        change_poll(store, repository.name, partial(_settled, done))
    new = tuple(change for change in changed if claimed.asked_for.get(change.key) != change.commit)
    return Polled(repository.name, new)


def _claimed(poll: Poll, repository: Repository, settings: SettingsModel) -> Poll | None:
    """Return the poll as claimed by this process, or None if another process has claimed it."""
    if poll.repo_id not in ("", repository.id):
        poll = Poll(repository.name)  # the old poll belonged to another repository with this name
    if not _is_due(poll, interval(repository, poll, settings), settings):
        return None
    return replace(poll, next_at=from_now(_claim_seconds(settings)), repo_id=repository.id)


def _settled(outcome: Poll, poll: Poll) -> Poll | None:
    """Return the poll with the outcome of asking the origin, or None if another repository now has its name."""
    return replace(outcome, hooked_at=poll.hooked_at) if poll.repo_id == outcome.repo_id else None


def _submit(submit: Submit, repository: Repository, changed: Sequence[ChangedVersion], poll: Poll) -> Mapping[str, str]:
    """Submit a job for each changed commit that has had none, and return the requested commits by version."""
    for change in changed:
        if poll.asked_for.get(change.key) != change.commit:
            submit(version_request(repository, change.ref, "poll", PRIORITIES["background"], change.commit))
    return {change.key: change.commit for change in changed}
