"""Dealing with one delivery that is known to be genuine: once, whatever its sender repeats."""

import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from threading import Lock

from codequarry.search_api.engine import SearchEngine
from codequarry.search_api.indexing import Indexer
from codequarry.search_api.webhooks.decision import Known, decide
from codequarry.search_api.webhooks.events import Event, Parsed, Place, Unconcerned
from codequarry.shared.errors import CodequarryError
from codequarry.shared.jobs.job import JobRequest
from codequarry.shared.public import public
from codequarry.shared.repositories.catalog import Repository, list_repositories
from codequarry.shared.repositories.failures import known_failure
from codequarry.shared.repositories.naming import claim
from codequarry.shared.repositories.origin_rules import accepted_origin
from codequarry.shared.repositories.origins import identity_if_readable, read_origin
from codequarry.shared.settings.config import SettingsModel
from codequarry.shared.store.port import Store
from codequarry.shared.triggers.deliveries import Delivery, begin_delivery, end_delivery, is_newest, tidy_deliveries
from codequarry.shared.triggers.following import rules_of
from codequarry.shared.triggers.polls import note_hooked

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
        if isinstance(parsed, Unconcerned):
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
        note_hooked(store, repository.name)
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
        job = indexer.submit(wish)
        return replace(seen, result="accepted", job=job.id, ref=wish.ref)

    def _may_add(self, event: Event) -> bool:
        return self._settings.webhooks.add_unknown and bool(event.place.origins) and event.change == "moved"

    def _added(self, store: Store, place: Place) -> Repository:
        origin = read_origin(accepted_origin(place.origins[0], self._settings))
        return claim(store, origin, None, place.default_branch, guarded=True)[0]

    def _tidy(self, store: Store) -> None:
        with self._lock:
            if self._clock() - self._tidied < TIDY_SECONDS:
                return
            self._tidied = self._clock()
        webhooks = self._settings.webhooks
        # A time may be as far before ours as behind it.
        tidy_deliveries(store, webhooks.keep_deliveries, webhooks.keep_days, 2 * webhooks.tolerance_seconds)


def _is_done(store: Store, known: Delivery, parsed: Parsed) -> bool:
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


def find(place: Place, catalog: Mapping[str, Repository]) -> Repository | None:
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
