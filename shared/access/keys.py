"""API keys: their secrets, scopes and grants. No IO.

A key is a document in the catalog, which stores only SHA-256 hashes of its secrets. A secret is 32 bytes from the
system's random source and cannot be guessed, so a slow password hash would only slow down every request. The
secret in each request is hashed, and the hashes are compared in constant time.
"""

import re
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from hmac import compare_digest
from typing import Any, Literal

from codequarry.shared.access.grants import LOST, PENDING, SCOPES, Grant, KeyScope, Principal
from codequarry.shared.errors import UnknownName, UsageError
from codequarry.shared.filters import check_glob
from codequarry.shared.model import PathGlobs

TOKEN_PREFIX = "cq"
SECRET_BYTES = 32
ID_BYTES = 6
MAX_NAME_CHARACTERS = 100
# Each glob is a clause in the filter of every search with the key, and an engine accepts about a thousand clauses.
MAX_GRANTS = 100
MAX_GLOBS = 20
MAX_GLOBS_OF_KEY = 200
# Resolution of ``last_used_at``; coarse, so that not every request causes a write.
LAST_USED_SECONDS = 3600
_NAME = re.compile(r"[^\x00-\x1f\x7f]+")
# Not allowed in a pattern of names, where only `*` is a wildcard.
_NO_PATTERN = re.compile(r"[?\[\]\x00-\x1f]")

KeyState = Literal["active", "expired", "revoked"]


@dataclass(frozen=True, slots=True)
class KeySecret:
    """The hash of one of a key's secrets; ``expires_at`` is "" if the secret is valid as long as the key."""

    digest: str
    created_at: str
    expires_at: str = ""


@dataclass(frozen=True, slots=True)
class ApiKey:
    """A key with its secrets, newest first (two during a rotation). Times are ISO 8601 in UTC; "" means never."""

    id: str
    name: str
    scopes: tuple[KeyScope, ...]
    grants: tuple[Grant, ...]
    secrets: tuple[KeySecret, ...]
    created_at: str
    created_by: str = ""
    expires_at: str = ""
    last_used_at: str = ""
    revoked_at: str = ""

    @property
    def principal(self) -> Principal:
        """The caller that uses this key; the id makes its name unique."""
        return Principal(f"{self.name} ({self.id})", frozenset(self.scopes), self.grants)

    def state(self, moment: str) -> KeyState:
        """Return the state of the key at a moment."""
        if self.revoked_at:
            return "revoked"
        return "expired" if _is_over(self.expires_at, moment) else "active"

    def has(self, secret: str, moment: str) -> bool:
        """Return whether a secret belongs to this key and has not expired."""
        digest = hash_of(secret)
        # Not `any`: the time taken must not reveal which secret matches.
        fits = [compare_digest(own.digest, digest) for own in self.secrets if not _is_over(own.expires_at, moment)]
        return True in fits

    def to_json(self, moment: str) -> dict[str, Any]:
        """Return everything except the hashes."""
        return {
            "id": self.id,
            "name": self.name,
            "state": self.state(moment),
            "scopes": list(self.scopes),
            "grants": [
                {
                    "repos": grant.repos,
                    "include": list(grant.paths.include),
                    "exclude": list(grant.paths.exclude),
                    "repo_id": grant.repo_id if grant.is_bound else None,
                    "state": "pattern" if grant.is_pattern else "bound" if grant.is_bound else grant.repo_id or LOST,
                }
                for grant in self.grants
            ],
            "secrets": [{"created_at": own.created_at, "expires_at": own.expires_at or None} for own in self.secrets],
            "created_at": self.created_at,
            "created_by": self.created_by or None,
            "expires_at": self.expires_at or None,
            "last_used_at": self.last_used_at or None,
            "revoked_at": self.revoked_at or None,
        }

    def to_document(self) -> dict[str, Any]:
        """Return the key as a document for the catalog."""
        return asdict(self)

    @classmethod
    def from_document(cls, body: Mapping[str, Any]) -> "ApiKey":
        """Read what ``to_document`` wrote."""
        grants = tuple(
            Grant(grant["repos"], PathGlobs(*map(tuple, grant["paths"].values())), grant.get("repo_id", ""))
            for grant in body["grants"]
        )
        found = tuple(KeySecret(**secret) for secret in body["secrets"])
        return cls(**{**body, "scopes": tuple(body["scopes"]), "grants": grants, "secrets": found})


def moment(later: timedelta = timedelta()) -> str:
    """Return the current time, or a later time, as keys record it."""
    return (datetime.now(UTC) + later).isoformat(timespec="seconds")


def _is_over(expires_at: str, at: str) -> bool:
    return bool(expires_at) and expires_at <= at


def hash_of(secret: str) -> str:
    """Return the hash that is stored for a secret."""
    return sha256(secret.encode("utf-8", "replace")).hexdigest()


def split_token(token: str) -> tuple[str, str] | None:
    """Return the id and the secret in a token, or None if it is malformed."""
    prefix, _, rest = token.partition("_")
    key_id, separator, secret = rest.partition("_")
    return (key_id, secret) if (prefix, separator) == (TOKEN_PREFIX, "_") and key_id and secret else None


def new_key(
    name: str, scopes: Sequence[str], grants: Sequence[Grant], *, expires_at: str = "", created_by: str = ""
) -> tuple[ApiKey, str]:
    """Return a key and its token, which cannot be shown again; raise UsageError for a bad name, scope or grant.

    The token is ``cq_<id>_<secret>``. The id is not secret, and makes a leaked key easy to find and revoke.
    """
    checked = check_scopes(scopes)
    check_grants(grants)
    if not _NAME.fullmatch(name) or len(name) > MAX_NAME_CHARACTERS:
        raise UsageError(f"a key's name must have 1 to {MAX_NAME_CHARACTERS} characters and no control characters")
    key_id = secrets.token_hex(ID_BYTES)
    secret, token = _new_secret(key_id)
    return ApiKey(key_id, name, checked, tuple(grants), (secret,), secret.created_at, created_by, expires_at), token


def _new_secret(key_id: str) -> tuple[KeySecret, str]:
    text = secrets.token_urlsafe(SECRET_BYTES)
    return KeySecret(hash_of(text), moment()), f"{TOKEN_PREFIX}_{key_id}_{text}"


def check_scopes(scopes: Sequence[str]) -> tuple[KeyScope, ...]:
    """Return the scopes in their standard order, without repeats; raise UnknownName for an unknown scope."""
    for name in scopes:
        if name not in SCOPES:
            raise UnknownName("scope", name, SCOPES)
    return tuple(scope for scope in SCOPES if scope in scopes)


def check_grants(grants: Sequence[Grant]) -> None:
    """Raise UsageError for grants that no engine can filter by, or whose patterns do not mean what they seem to."""
    if len(grants) > MAX_GRANTS:
        raise UsageError(f"a key can have at most {MAX_GRANTS} grants; use patterns such as 'team-*'")
    if sum(len(paths.include) + len(paths.exclude) for paths in {grant.paths for grant in grants}) > MAX_GLOBS_OF_KEY:
        raise UsageError(f"a key can have at most {MAX_GLOBS_OF_KEY} path globs; create separate keys for each purpose")
    for grant in grants:
        if not grant.repos or _NO_PATTERN.search(grant.repos):
            raise UsageError(f"'{grant.repos}' is not a valid repository pattern: only * is a wildcard")
        globs = (*grant.paths.include, *grant.paths.exclude)
        if len(globs) > MAX_GLOBS:
            raise UsageError(f"a grant can have at most {MAX_GLOBS} path globs")
        for glob in globs:
            check_glob(glob)


def rotated(key: ApiKey, keep: timedelta, expires_at: str = "") -> tuple[ApiKey, str]:
    """Return a key with a new secret and its token; the old secret works for ``keep``. Raise UsageError if inactive."""
    now, over = moment(), moment(keep)
    lives_until = expires_at or key.expires_at
    if key.revoked_at or _is_over(lives_until, now):
        raise UsageError(f"key {key.id} is {'revoked' if key.revoked_at else 'expired'}; create a new key")
    before = key.secrets[0]
    kept = replace(before, expires_at=min(before.expires_at or over, over))
    secret, token = _new_secret(key.id)
    still = () if _is_over(kept.expires_at, now) else (kept,)
    return replace(key, secrets=(secret, *still), expires_at=lives_until), token


def revoked(key: ApiKey) -> ApiKey:
    """Return a key that can no longer be used; it stays in the list, so that log entries can still be attributed."""
    return key if key.revoked_at else replace(key, revoked_at=moment(), secrets=())


def granted(key: ApiKey, grants: Sequence[Grant]) -> ApiKey:
    """Return a key with more grants."""
    bound = {grant.repos for grant in grants if grant.is_bound}
    # A bound grant replaces a pending or lost grant for the same name.
    kept = [grant for grant in key.grants if grant.is_pattern or grant.is_bound or grant.repos not in bound]
    together = tuple(dict.fromkeys((*kept, *grants)))
    check_grants(together)
    return replace(key, grants=together)


def bound(key: ApiKey, ids: Mapping[str, str], otherwise: str = PENDING) -> ApiKey:
    """Return a key whose grants for single repositories have those repositories' ids, from ``ids`` by name.

    A grant that was never looked up gets ``otherwise`` if no repository has its name.
    """

    def bind(grant: Grant) -> Grant:
        if grant.is_pattern or grant.repo_id not in ("", PENDING):
            return grant
        known = ids.get(grant.repos)
        if known == "":
            return grant  # an older version wrote the repository, which has no id yet
        return replace(grant, repo_id=known or grant.repo_id or otherwise)

    return replace(key, grants=tuple(dict.fromkeys(map(bind, key.grants))))


def without_repository(key: ApiKey, repo: str, repo_id: str) -> ApiKey:
    """Return a key without its grants for a removed repository and the grants that are waiting for its name."""
    kept = (grant for grant in key.grants if grant.is_pattern or _is_of_another(grant, repo, repo_id))
    return replace(key, grants=tuple(kept))


def _is_of_another(grant: Grant, repo: str, repo_id: str) -> bool:
    return grant.repo_id != repo_id if grant.is_bound else grant.repos != repo


def withdrawn(key: ApiKey, repos: Sequence[str]) -> ApiKey:
    """Return a key without its grants for exactly these names or patterns."""
    return replace(key, grants=tuple(grant for grant in key.grants if grant.repos not in repos))


def renamed(key: ApiKey, repo_id: str, new: str, new_id: str) -> ApiKey:
    """Return a key whose grants for one repository have its new name and id."""
    grants = tuple(
        replace(grant, repos=new, repo_id=new_id) if grant.is_bound and grant.repo_id == repo_id else grant
        for grant in key.grants
    )
    return replace(key, grants=tuple(dict.fromkeys(grants)))


def used(key: ApiKey, at: str) -> ApiKey:
    """Return a key with its last use recorded."""
    return replace(key, last_used_at=max(key.last_used_at, at))


def coarse_moment() -> str:
    """Return the beginning of the current hour, in the format of ``last_used_at``."""
    now = int(datetime.now(UTC).timestamp())
    return datetime.fromtimestamp(now - now % LAST_USED_SECONDS, UTC).isoformat(timespec="seconds")
