"""Who asks: from what a request brings to a principal. A port, so that other ways than keys can join."""

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

# A search does not read the keys each time; one that is revoked stops within this time.
MAX_AGE_SECONDS = 2.0
# A key that was just made shall not wait for that: one that is not known is looked for, but not more often than this.
MIN_AGE_SECONDS = 0.2
# Where keys can't be read, all who wait for that hear the same for so long: one after the other would take too long.
FAILURE_SECONDS = 0.5
# A key in the settings is made by a person, who may choose a short one.
MIN_ADMIN_KEY_CHARACTERS = 24
ADMIN = Principal("admin key of the settings", frozenset(SCOPES), (Grant("*"),))
NOBODY = Principal("nobody", frozenset(), ())
"""Who asks what needs no key: sees nothing of the index."""

WITHOUT_KEYS = (
    "make a key with codequarry keys create NAME --repo '*' and send it as 'Authorization: Bearer KEY'; on a machine "
    "that is yours alone, serve with --socket PATH or --trust-loopback instead"
)
"""What to do where there is no key."""

_ASK = "send a key as 'Authorization: Bearer KEY'; codequarry keys create makes one"


@dataclass(frozen=True, slots=True)
class RequestCredentials:
    """What a request says of who sent it: its token, the address that it comes from, the host that it asks for.

    ``is_forwarded`` where a proxy says that it comes from elsewhere. ``on_socket`` where it came over the Unix socket
    of ``[api] socket``, which only its owner can open.
    """

    token: str | None = field(repr=False)
    address: str
    host: str
    is_forwarded: bool = False
    on_socket: bool = False


class Authenticator(Protocol):
    """A way to know who asks."""

    def authenticate(self, asker: RequestCredentials) -> Principal:
        """Return who asks; Unauthorized where that is not known, with what to do about it."""
        ...


class OwnerWithoutKeys:
    """Says who is the owner where nobody has configured any key: who the settings say is (docs/decisions/0027)."""

    def __init__(self, settings: SettingsModel) -> None:
        """Let in whom ``settings`` say, which may leave that to something in front of the service."""
        self._is_open = settings.api.open_to_network
        self._trusts_loopback = settings.api.trust_loopback

    def authenticate(self, asker: RequestCredentials) -> Principal:
        """Return the owner: who opened the service's own socket, or asks from this machine where that is trusted.

        The host must be one of this machine too: else any web page could have the browser of its visitor ask, by a name
        of its own that it lets point here. And what a proxy on this machine hands on comes from anywhere.
        """
        is_here = is_loopback(asker.address) and is_loopback(_without_port(asker.host))
        is_owner = asker.on_socket or (self._trusts_loopback and is_here)
        if self._is_open or (is_owner and not asker.is_forwarded):
            return OWNER
        if self._trusts_loopback:
            raise Unauthorized(
                "no key is configured, so only this machine is answered, by the name localhost and not through a "
                "proxy; make a key with codequarry keys create"
            )
        raise Unauthorized(f"no key is configured, and this service takes nobody for its owner: {WITHOUT_KEYS}")


class RefuseAll:
    """Takes nobody for the owner."""

    def authenticate(self, asker: RequestCredentials) -> Principal:
        """Raise Unauthorized."""
        raise Unauthorized(f"the key is not valid, or is no longer: {_ASK}")


class ApiKeys:
    """Knows who asks by the keys of the catalog and of the settings."""

    def __init__(
        self,
        settings: SettingsModel,
        store: Callable[[], DocumentStore],
        without_keys: Authenticator,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        """Look keys up in what ``store`` returns; where there is none at all, ask ``without_keys``."""
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
        """Return the principal of the key that a request brings."""
        if asker.token and self._is_admin(asker.token):
            return ADMIN
        key_id, secret = split_token(asker.token or "") or ("", "")
        keys = self._known(key_id)
        if not keys and self._admin is None:
            return self._without_keys.authenticate(asker)
        if not asker.token:
            raise Unauthorized(f"this needs a key: {_ASK}")
        key, now = keys.get(key_id), moment()
        if key is None or not key.has(secret, now):
            raise Unauthorized(f"the key is not valid, or is no longer: {_ASK}")
        if key.state(now) != "active":
            raise Unauthorized(f"the key is {key.state(now)}: {_ASK}")
        self._note(key)
        return key.principal

    def _is_admin(self, token: str) -> bool:
        if self._admin is None:
            return False
        return compare_digest(hash_of(token), hash_of(self._admin.get_secret_value()))

    def _known(self, wanted: str) -> Mapping[str, ApiKey]:
        """Return the keys by id, revoked ones too: while there is any, nobody gets in without one."""
        with self._lock:
            most = MIN_AGE_SECONDS if wanted and wanted not in self._keys else MAX_AGE_SECONDS
            if self._clock() - self._read_at > most:
                self._keys = self._read()
                self._read_at = self._clock()
            return self._keys

    def _read(self) -> Mapping[str, ApiKey]:
        failed_at, said = self._failure
        if self._clock() - failed_at < FAILURE_SECONDS:
            raise StoreUnavailable(said)
        try:
            return {key.id: key for key in list_keys(self._store())}
        except StoreUnavailable as error:
            # Who asks is not known yet, and shall not learn where the store is.
            are_there_any = self._keys or self._admin is not None
            said = "keys can't be looked up at the moment; ask again later" if are_there_any else public(error)
            self._failure = (self._clock(), said)
            raise StoreUnavailable(said) from error

    def _note(self, key: ApiKey) -> None:
        """Write down once an hour that a key is in use; that it can't be is no reason to refuse a request."""
        hour = coarse_moment()
        if max(self._noted.get(key.id, ""), key.last_used_at) >= hour:
            return
        self._noted[key.id] = hour
        with suppress(StoreError):
            note_use(self._store(), key.id, lambda known: used(known, hour))


def check_admin_key(key: SecretStr | None) -> None:
    """Raise UsageError for a key of the settings that is too short to be safe."""
    if key is not None and len(key.get_secret_value()) < MIN_ADMIN_KEY_CHARACTERS:
        raise UsageError(
            f"auth.admin_key has fewer than {MIN_ADMIN_KEY_CHARACTERS} characters; openssl rand -base64 32 makes one"
        )


def _without_port(host: str) -> str:
    """Return the name or the address of a ``Host`` header."""
    name, _, port = host.rpartition(":")
    return name if name and port.isdigit() and (":" not in name or name.endswith("]")) else host
