"""Authentication: turns a request's credentials into a principal. A port, so methods other than keys can be added."""

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from hmac import compare_digest
from threading import Lock
from time import monotonic
from typing import Protocol

from pydantic import SecretStr

from codequarry.shared.access.grants import OWNER, SCOPES, Grant, Principal
from codequarry.shared.access.key_list import list_keys, note_use
from codequarry.shared.access.keys import ApiKey, coarse_moment, hash_of, moment, split_token, used
from codequarry.shared.addresses import is_loopback
from codequarry.shared.errors import StoreError, StoreUnavailable, Unauthorized, UsageError, public
from codequarry.shared.settings.config import SettingsModel
from codequarry.shared.store.port import DocumentStore

# Keys are cached this long, so a revoked key stops working within this time.
MAX_AGE_SECONDS = 2.0
# A new key must work at once, so an unknown key reloads the cache, but not more often than this.
MIN_AGE_SECONDS = 0.2
# If keys can't be read, waiting requests get the same error for this long; separate attempts would take too long.
FAILURE_SECONDS = 0.5
# A person may choose the key in the settings, and may choose a short key.
MIN_ADMIN_KEY_CHARACTERS = 24
ADMIN = Principal("admin key of the settings", frozenset(SCOPES), (Grant("*"),))
NOBODY = Principal("nobody", frozenset(), ())
"""The caller of a route that needs no key; can see nothing in the index."""

WITHOUT_KEYS = (
    "create a key with codequarry keys create NAME --repo '*' and send it as 'Authorization: Bearer KEY'; on a machine "
    "that only you use, serve with --socket PATH or --trust-loopback instead"
)
_SEND_KEY = "send a key as 'Authorization: Bearer KEY'; create one with codequarry keys create"


@dataclass(frozen=True, slots=True)
class RequestCredentials:
    """A request's token, client address and ``Host``, and whether it came through a proxy or over ``[api] socket``."""

    token: str | None = field(repr=False)
    address: str
    host: str
    is_forwarded: bool = False
    on_socket: bool = False


class Authenticator(Protocol):
    """A way to identify the sender of a request."""

    def authenticate(self, asker: RequestCredentials) -> Principal:
        """Return the principal of a request; raise Unauthorized, with what to do about it, if the sender is unknown."""
        ...


class OwnerWithoutKeys:
    """Admits the owner while no key is configured, as the settings allow (docs/decisions/0027)."""

    def __init__(self, settings: SettingsModel) -> None:
        self._is_open = settings.api.open_to_network
        self._trusts_loopback = settings.api.trust_loopback

    def authenticate(self, asker: RequestCredentials) -> Principal:
        """Return the owner for a request over our own socket, or from this machine if loopback is trusted.

        The ``Host`` header must name this machine too. Otherwise a web page could point its own domain at this machine
        and send requests through a visitor's browser. A request forwarded by a local proxy may come from anywhere.
        """
        is_here = is_loopback(asker.address) and is_loopback(_without_port(asker.host))
        is_owner = asker.on_socket or (self._trusts_loopback and is_here)
        if self._is_open or (is_owner and not asker.is_forwarded):
            return OWNER
        if self._trusts_loopback:
            raise Unauthorized(
                "no key is configured, so only requests from this machine to localhost are accepted, not those "
                "through a proxy; create a key with codequarry keys create"
            )
        raise Unauthorized(f"no key is configured, and this service can't identify its owner otherwise; {WITHOUT_KEYS}")


class RefuseAll:
    """Refuses every request."""

    def authenticate(self, asker: RequestCredentials) -> Principal:
        """Raise Unauthorized."""
        raise Unauthorized(f"the key is not valid, or no longer valid: {_SEND_KEY}")


class ApiKeys:
    """Authenticates requests by the keys in the catalog and in the settings."""

    def __init__(
        self,
        settings: SettingsModel,
        store: Callable[[], DocumentStore],
        without_keys: Authenticator,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        """Look up keys in the store that ``store`` returns; if it has no keys, ask ``without_keys``."""
        check_admin_key(settings.auth.admin_key)
        self._admin = settings.auth.admin_key
        self._store = store
        self._without_keys = without_keys
        self._clock = clock
        self._lock = Lock()
        self._keys: Mapping[str, ApiKey] = {}
        self._read_at = float("-inf")
        self._failure = (float("-inf"), "")
        self._noted: dict[str, str] = {}

    def authenticate(self, asker: RequestCredentials) -> Principal:
        """Return the principal of a request's key."""
        if asker.token and self._is_admin(asker.token):
            return ADMIN
        key_id, secret = split_token(asker.token or "") or ("", "")
        keys = self._known(key_id)
        if not keys and self._admin is None:
            return self._without_keys.authenticate(asker)
        if not asker.token:
            raise Unauthorized(f"this needs a key: {_SEND_KEY}")
        key, now = keys.get(key_id), moment()
        if key is None or not key.has(secret, now):
            raise Unauthorized(f"the key is not valid, or no longer valid: {_SEND_KEY}")
        if key.state(now) != "active":
            raise Unauthorized(f"the key is {key.state(now)}: {_SEND_KEY}")
        self._note(key)
        return key.principal

    def _is_admin(self, token: str) -> bool:
        if self._admin is None:
            return False
        return compare_digest(hash_of(token), hash_of(self._admin.get_secret_value()))

    def _known(self, wanted: str) -> Mapping[str, ApiKey]:
        """Return all keys by id, reloaded if needed. Revoked keys count too: if any key exists, a key is required."""
        with self._lock:
            most = MIN_AGE_SECONDS if wanted and wanted not in self._keys else MAX_AGE_SECONDS
            if self._clock() - self._read_at > most:
                self._keys = self._read()
                self._read_at = self._clock()
            return self._keys

    def _read(self) -> Mapping[str, ApiKey]:
        failed_at, detail = self._failure
        if self._clock() - failed_at < FAILURE_SECONDS:
            raise StoreUnavailable(detail)
        try:
            return {key.id: key for key in list_keys(self._store())}
        except StoreUnavailable as error:
            # The caller is not authenticated yet, so the error must not reveal where the store is.
            has_keys = self._keys or self._admin is not None
            detail = "keys can't be looked up at the moment; retry later" if has_keys else public(error)
            self._failure = (self._clock(), detail)
            raise StoreUnavailable(detail) from error

    def _note(self, key: ApiKey) -> None:
        """Record at most once an hour that a key is in use; failures to record it are ignored."""
        hour = coarse_moment()
        if max(self._noted.get(key.id, ""), key.last_used_at) >= hour:
            return
        self._noted[key.id] = hour
        with suppress(StoreError):
            note_use(self._store(), key.id, lambda known: used(known, hour))


def check_admin_key(key: SecretStr | None) -> None:
    """Raise UsageError if the key in the settings is too short to be safe."""
    if key is not None and len(key.get_secret_value()) < MIN_ADMIN_KEY_CHARACTERS:
        raise UsageError(
            f"auth.admin_key has fewer than {MIN_ADMIN_KEY_CHARACTERS} characters; try openssl rand -base64 32"
        )


def _without_port(host: str) -> str:
    name, _, port = host.rpartition(":")
    return name if name and port.isdigit() and (":" not in name or name.endswith("]")) else host
