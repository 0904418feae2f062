"""Handles verified deliveries, each only once even if its sender repeats it."""

import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from threading import Lock

from codequarry.search_api.jobs.queue import Indexer
from codequarry.search_api.search.engine import SearchEngine
from codequarry.search_api.webhooks.events import Event, IgnoredEvent, NamedRepository, Parsed
from codequarry.shared.catalog.deliveries import Delivery, begin_delivery, end_delivery, is_newest, tidy_deliveries
from codequarry.shared.catalog.failures import known_failure
from codequarry.shared.catalog.polls import note_webhook
from codequarry.shared.catalog.pull_requests import retarget
from codequarry.shared.catalog.repositories import Repository, default_branch, list_repositories
from codequarry.shared.errors import CodequarryError, public
from codequarry.shared.jobs.job import PRIORITIES, JobRequest
from codequarry.shared.origins import identity_if_readable, read_origin
from codequarry.shared.repositories.followed_versions import Rules, indexed_refs, is_named, rules_of, version_request
from codequarry.shared.repositories.naming import claim
from codequarry.shared.repositories.origin_rules import accepted_origin
from codequarry.shared.settings.config import SettingsModel
from codequarry.shared.store.port import DocumentStore
from codequarry.shared.versions.head import Head
from codequarry.shared.versions.refs import KIND_NAMES, Ref

# The interval at which a process deletes old deliveries.
TIDY_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Received:
    """The result of a delivery; ``repeated`` if it was already handled and nothing was done this time."""

    delivery: Delivery
    repeated: bool = False


class Receiver:
    """Handles the deliveries of a service."""

    def __init__(self, settings: SettingsModel, clock: Callable[[], float] = time.monotonic) -> None:
        self._settings = settings
        self._clock = clock
        self._lock = Lock()
        self._tidied = float("-inf")

    def receive(self, engine: SearchEngine, indexer: Indexer, delivery: Delivery, parsed: Parsed) -> Received:
        """Handle a delivery unless it was already handled, and log it in any case."""
        self._tidy(engine.store)
        known = begin_delivery(engine.store, delivery, lambda known: _is_done(engine.store, known, parsed))
        if known:
            return Received(known, repeated=True)
        try:
            done = self._handle(engine, indexer, replace(delivery, event=parsed.name), parsed)
        except CodequarryError as error:
            with suppress(CodequarryError):
                end_delivery(engine.store, replace(delivery, event=parsed.name, reason=public(error)))
            raise
        end_delivery(engine.store, done)
        return Received(done)

    def _handle(self, engine: SearchEngine, indexer: Indexer, delivery: Delivery, parsed: Parsed) -> Delivery:
        if isinstance(parsed, IgnoredEvent):
            return replace(delivery, result="ignored", reason=parsed.reason)
        store = engine.store
        seen = replace(delivery, ref=parsed.ref.key if parsed.ref else "", commit=parsed.commit)
        repository = find(parsed.place, {known.name: known for known in list_repositories(store)})
        is_new = repository is None and self._may_add(parsed)
        if is_new:
            repository = self._add(store, parsed.place)
        if repository is None:
            named = parsed.place.name or next(map(_loggable, parsed.place.origins), "without an origin")
            return replace(seen, result="ignored", reason=f"the repository {named} is not in the index")
        seen = replace(seen, repo=repository.name, repo_id=repository.id)
        note_webhook(store, repository.name)
        known = Known(repository, engine.head(), rules_of(self._settings, repository.origin))
        # A new repository's default branch comes first, whatever was pushed: it is the base of all other versions.
        event = replace(parsed, ref=None, alternatives=()) if is_new else parsed
        if event.ref and event.target:
            retarget(store, repository.id, event.ref.value, event.target, default_branch(known.head, repository))
        request = decide(event, known, f"webhook {delivery.provider}")
        if not isinstance(request, JobRequest):
            return replace(seen, result="ignored", reason=request)
        if request.kind == "index" and (
            failure := known_failure(store, repository.id, request.ref, request.commit, self._settings)
        ):
            return replace(seen, result="ignored", reason=failure.explained)
        job = indexer.submit(request, engine.deadline)
        return replace(seen, result="accepted", job=job.id, ref=request.ref)

    def _may_add(self, event: Event) -> bool:
        return self._settings.webhooks.add_unknown and bool(event.place.origins) and event.change == "moved"

    def _add(self, store: DocumentStore, place: NamedRepository) -> Repository:
        origin = read_origin(accepted_origin(place.origins[0], self._settings))
        return claim(store, origin, None, place.default_branch, guarded=True)[0]

    def _tidy(self, store: DocumentStore) -> None:
        with self._lock:
            if self._clock() - self._tidied < TIDY_SECONDS:
                return
            self._tidied = self._clock()
        webhooks = self._settings.webhooks
        # A sender's clock may be ahead of ours or behind.
        tidy_deliveries(store, webhooks.keep_deliveries, webhooks.keep_days, 2 * webhooks.tolerance_seconds)


def _is_done(store: DocumentStore, known: Delivery, parsed: Parsed) -> bool:
    """Return whether a delivery with the same signed part as ``known`` is a repetition that needs no work.

    Without a signed time, two pushes of a branch that moves back and forth can have the same body. So a push counts as
    a repetition only until another push of its version arrives. An attacker's replay only makes us ask the origin.
    """
    if not known.digest:
        return True
    if known.result == "ignored":
        return False
    closed = isinstance(parsed, Event) and parsed.change == "closed"
    return closed or is_newest(store, known)


def find(place: NamedRepository, catalog: Mapping[str, Repository]) -> Repository | None:
    """Return a delivery's repository from the catalog; origins are compared case-insensitively, as on code hosts."""
    if place.name:
        return catalog.get(place.name)
    identities = {identity for origin in place.origins if (identity := _identity(origin))}
    return next((repository for repository in catalog.values() if _identity(repository.origin) in identities), None)


def _identity(origin: str) -> str:
    return identity_if_readable(origin).casefold()


def _loggable(origin: str) -> str:
    """Return an origin for the log, without the user and password of its URL."""
    return _identity(origin) or "with an origin that can't be read"


@dataclass(frozen=True, slots=True)
class Known:
    """A delivery's repository: its record, the head document, and the rules for it in the settings."""

    repository: Repository
    head: Head
    rules: Rules | None


def decide(event: Event, known: Known, by: str) -> JobRequest | str:
    """Return the job to request for an event, or the reason for ignoring it.

    Deliveries may be late and in any order, so a deleted version is requested like a moved version, and the job asks
    the origin whether it is still gone. A closed pull request is removed without asking: code hosts keep its commits.
    """
    repository = known.repository
    default = default_branch(known.head, repository) or event.place.default_branch
    new_default = event.place.default_branch if repository.follows_head else ""
    if event.ref is None or event.ref in (Ref("branch", default), Ref("branch", new_default)):
        return _decide_default(event, known, default, by)
    is_indexed = not indexed_refs(known.head, repository.name).isdisjoint((event.ref, *event.alternatives))
    name = f"{KIND_NAMES[event.ref.kind]} {event.ref.value}"
    if event.change in ("deleted", "closed") and not is_indexed:
        return f"{name} is not indexed"
    if not (event.asked or is_indexed or is_named(known.rules, event.ref)):
        return f"{name} is neither the default branch nor indexed, and the settings of {repository.name} do not name it"
    request = version_request(repository, event.ref, "webhook", PRIORITIES["change"], event.commit, by)
    if event.change == "closed":
        return replace(request, kind="remove")
    return replace(request, candidates=(event.ref, *event.alternatives))


def _decide_default(event: Event, known: Known, default: str, by: str) -> JobRequest | str:
    repository = known.repository
    # The host may already name a different default branch from the published default branch.
    has_changed = repository.follows_head and event.place.default_branch not in ("", default)
    if event.change == "deleted" and not (has_changed and event.ref == Ref("branch", default)):
        return f"{default or 'this'} is the default branch, which can be removed only with its repository"
    priority = PRIORITIES["change" if repository.name in known.head.defaults else "import"]
    commit = "" if event.change == "deleted" else event.commit
    return version_request(repository, None, "webhook", priority, commit, by)
