"""Dealing with one delivery that is known to be genuine: once, whatever its sender repeats."""

import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from threading import Lock

from codequarry.search_api.jobs.queue import Indexer
from codequarry.search_api.search.engine import SearchEngine
from codequarry.search_api.webhooks.events import Event, NamedRepository, Parsed, IgnoredEvent
from codequarry.shared.catalog.deliveries import Delivery, begin_delivery, end_delivery, is_newest, tidy_deliveries
from codequarry.shared.catalog.failures import known_failure
from codequarry.shared.catalog.polls import note_webhook
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

# How often a process forgets old deliveries.
TIDY_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Received:
    """What became of a delivery; ``repeated`` where it was dealt with before and nothing was done now."""

    delivery: Delivery
    repeated: bool = False


class Receiver:
    """Deals with deliveries for one service."""

    def __init__(self, settings: SettingsModel, clock: Callable[[], float] = time.monotonic) -> None:
        """Follow the settings of the service."""
        self._settings = settings
        self._clock = clock
        self._lock = Lock()
        self._tidied = float("-inf")

    def receive(self, engine: SearchEngine, indexer: Indexer, delivery: Delivery, parsed: Parsed) -> Received:
        """Do what a delivery asks for, unless that was done before; it is in the log in any case."""
        self._tidy(engine.store)
        known = begin_delivery(engine.store, delivery, lambda known: _is_done(engine.store, known, parsed))
        if known:
            return Received(known, repeated=True)
        try:
            done = self._deal(engine, indexer, replace(delivery, event=parsed.name), parsed)
        except CodequarryError as error:
            with suppress(CodequarryError):
                end_delivery(engine.store, replace(delivery, event=parsed.name, reason=public(error)))
            raise
        end_delivery(engine.store, done)
        return Received(done)

    def _deal(self, engine: SearchEngine, indexer: Indexer, delivery: Delivery, parsed: Parsed) -> Delivery:
        if isinstance(parsed, IgnoredEvent):
            return replace(delivery, result="ignored", reason=parsed.reason)
        store = engine.store
        seen = replace(delivery, ref=parsed.ref.key if parsed.ref else "", commit=parsed.commit)
        repository = find(parsed.place, {one.name: one for one in list_repositories(store)})
        is_new = repository is None and self._may_add(parsed)
        if is_new:
            repository = self._added(store, parsed.place)
        if repository is None:
            named = parsed.place.name or next(map(_shown, parsed.place.origins), "of no origin")
            return replace(seen, result="ignored", reason=f"the repository {named} is not in the index")
        seen = replace(seen, repo=repository.name, repo_id=repository.id)
        note_webhook(store, repository.name)
        known = Known(repository, engine.head(), rules_of(self._settings, repository.origin))
        # Of a new repository the default branch comes first, whatever was pushed: all other versions lie over it.
        event = replace(parsed, ref=None, alternatives=()) if is_new else parsed
        wish = decide(event, known, f"webhook {delivery.provider}")
        if not isinstance(wish, JobRequest):
            return replace(seen, result="ignored", reason=wish)
        if wish.kind == "index" and (
            failure := known_failure(store, repository.id, wish.ref, wish.commit, self._settings)
        ):
            return replace(seen, result="ignored", reason=failure.explained)
        job = indexer.submit(wish, engine.deadline)
        return replace(seen, result="accepted", job=job.id, ref=wish.ref)

    def _may_add(self, event: Event) -> bool:
        return self._settings.webhooks.add_unknown and bool(event.place.origins) and event.change == "moved"

    def _added(self, store: DocumentStore, place: NamedRepository) -> Repository:
        origin = read_origin(accepted_origin(place.origins[0], self._settings))
        return claim(store, origin, None, place.default_branch, guarded=True)[0]

    def _tidy(self, store: DocumentStore) -> None:
        with self._lock:
            if self._clock() - self._tidied < TIDY_SECONDS:
                return
            self._tidied = self._clock()
        webhooks = self._settings.webhooks
        # A time may be as far before ours as behind it.
        tidy_deliveries(store, webhooks.keep_deliveries, webhooks.keep_days, 2 * webhooks.tolerance_seconds)


def _is_done(store: DocumentStore, known: Delivery, parsed: Parsed) -> bool:
    """Tell whether a delivery that came before, as far as was signed, asks for nothing when it comes again.

    A host that says nothing of times tells in the same words of a branch that goes back and forth: such a push counts
    anew once another one of its version came. Sent again by somebody else it has the origin asked, and no more.
    """
    if not known.digest:
        return True
    if known.result == "ignored":
        return False
    closed = isinstance(parsed, Event) and parsed.change == "closed"
    return closed or is_newest(store, known)


def find(place: NamedRepository, catalog: Mapping[str, Repository]) -> Repository | None:
    """Return the repository of the catalog that a delivery is about; case does not count, as on code hosts."""
    if place.name:
        return catalog.get(place.name)
    identities = {identity for origin in place.origins if (identity := _identity(origin))}
    return next((one for one in catalog.values() if _identity(one.origin) in identities), None)


def _identity(origin: str) -> str:
    return identity_if_readable(origin).casefold()


def _shown(origin: str) -> str:
    """Return what the log calls an origin: never a user or a password of its URL."""
    return _identity(origin) or "of an origin that can't be read"


@dataclass(frozen=True, slots=True)
class Known:
    """What is known of the repository of a delivery: record, head document, and what the settings name of it."""

    repository: Repository
    head: Head
    rules: Rules | None


def decide(event: Event, known: Known, by: str) -> JobRequest | str:
    """Return what to ask for, or why nothing is to be done.

    What was deleted is asked for like what has moved: the origin knows whether it is still gone when the job runs, for
    deliveries come late and in any order. A closed pull request alone is removed, since code hosts keep its commits.
    """
    repository = known.repository
    default = default_branch(known.head, repository) or event.place.default_branch
    said_to_be = event.place.default_branch if repository.follows_head else ""
    if event.ref is None or event.ref in (Ref("branch", default), Ref("branch", said_to_be)):
        return _default(event, known, default, by)
    is_indexed = not indexed_refs(known.head, repository.name).isdisjoint((event.ref, *event.alternatives))
    said = f"{KIND_NAMES[event.ref.kind]} {event.ref.value}"
    if event.change in ("deleted", "closed") and not is_indexed:
        return f"{said} is not indexed"
    if not (event.asked or is_indexed or is_named(known.rules, event.ref)):
        return f"{said} is neither the default branch nor indexed, and the settings of {repository.name} do not name it"
    wish = version_request(repository, event.ref, "webhook", PRIORITIES["change"], event.commit, by)
    if event.change == "closed":
        return replace(wish, kind="remove")
    return replace(wish, candidates=(event.ref, *event.alternatives))


def _default(event: Event, known: Known, default: str, by: str) -> JobRequest | str:
    repository = known.repository
    # Of another branch than the one that is published as such the host may say that it is the default one by now.
    is_another = repository.follows_head and event.place.default_branch not in ("", default)
    if event.change == "deleted" and not (is_another and event.ref == Ref("branch", default)):
        return f"{default or 'the default branch'} is the default branch, which goes only with its repository"
    priority = PRIORITIES["change" if repository.name in known.head.defaults else "import"]
    commit = "" if event.change == "deleted" else event.commit
    return version_request(repository, None, "webhook", priority, commit, by)
