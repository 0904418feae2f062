"""API keys: who asks, what they may do and see. Only the noun and its rules, no IO.

A key is a document of the catalog. Of its secrets only hashes are kept, made by plain SHA-256: a secret is 32 bytes of
the system's random source, so there is nothing to guess, and a slow hash, which makes the guessing of passwords dear,
would only make every request so. Each request hashes the secret that it brings and compares in constant time.
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
from codequarry.shared.filters import glob_to_regex
from codequarry.shared.model import PathGlobs

TOKEN_PREFIX = "cq"
SECRET_BYTES = 32
ID_BYTES = 6
MAX_NAME_CHARACTERS = 100
# Each glob is a clause in the filter of every search with the key, of which an engine takes about a thousand.
MAX_GRANTS = 100
MAX_GLOBS = 20
MAX_GLOBS_OF_KEY = 200
# When a key was used is kept as coarsely as this, so that requests don't become writes.
LAST_USED_SECONDS = 3600
_NAME = re.compile(r"[^\x00-\x1f\x7f]+")
# What a pattern of names can't have: only `*` stands for anything else than itself.
_NO_PATTERN = re.compile(r"[?\[\]\x00-\x1f]")

KeyState = Literal["active", "expired", "revoked"]


@dataclass(frozen=True, slots=True)
class KeySecret:
    """The hash of one secret of a key; ``expires_at`` is "" where it lives as long as the key."""

    digest: str
    created_at: str
    expires_at: str = ""


@dataclass(frozen=True, slots=True)
class ApiKey:
    """A key with its secrets, the newest first: two while it is rotated. Times are ISO 8601 in UTC, "" means never."""

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
        """Who asks with this key; the id makes the name its own."""
        return Principal(f"{self.name} ({self.id})", frozenset(self.scopes), self.grants)

    def state(self, moment: str) -> KeyState:
        """Return whether it can be used at a moment."""
        if self.revoked_at:
            return "revoked"
        return "expired" if _is_over(self.expires_at, moment) else "active"

    def has(self, secret: str, moment: str) -> bool:
        """Tell whether a secret is one of its own that has not expired."""
        digest = hash_of(secret)
        # No `any`: how long it takes shall not tell which of them fits.
        fits = [compare_digest(one.digest, digest) for one in self.secrets if not _is_over(one.expires_at, moment)]
        return True in fits

    def to_json(self, moment: str) -> dict[str, Any]:
        """Return what may be shown of it: everything but the hashes."""
        return {
            "id": self.id,
            "name": self.name,
            "state": self.state(moment),
            "scopes": list(self.scopes),
            "grants": [
                {
                    "repos": one.repos,
                    "include": list(one.paths.include),
                    "exclude": list(one.paths.exclude),
                    "repo_id": one.repo_id if one.is_bound else None,
                    "state": "pattern" if one.is_pattern else "bound" if one.is_bound else one.repo_id or LOST,
                }
                for one in self.grants
            ],
            "secrets": [{"created_at": one.created_at, "expires_at": one.expires_at or None} for one in self.secrets],
            "created_at": self.created_at,
            "created_by": self.created_by or None,
            "expires_at": self.expires_at or None,
            "last_used_at": self.last_used_at or None,
            "revoked_at": self.revoked_at or None,
        }

    def to_document(self) -> dict[str, Any]:
        """Return the document of the catalog."""
        return asdict(self)

    @classmethod
    def from_document(cls, body: Mapping[str, Any]) -> "ApiKey":
        """Read what ``to_document`` wrote."""
        grants = tuple(
            Grant(one["repos"], PathGlobs(*map(tuple, one["paths"].values())), one.get("repo_id", ""))
            for one in body["grants"]
        )
        found = tuple(KeySecret(**one) for one in body["secrets"])
        return cls(**{**body, "scopes": tuple(body["scopes"]), "grants": grants, "secrets": found})


def moment(later: timedelta = timedelta()) -> str:
    """Return this moment, or one that much later, as keys record it."""
    return (datetime.now(UTC) + later).isoformat(timespec="seconds")


def _is_over(expires_at: str, at: str) -> bool:
    return bool(expires_at) and expires_at <= at


def hash_of(secret: str) -> str:
    """Return what is kept of a secret."""
    return sha256(secret.encode("utf-8", "replace")).hexdigest()


def split_token(token: str) -> tuple[str, str] | None:
    """Return the id and the secret of a token; None where it can't be one."""
    prefix, _, rest = token.partition("_")
    key_id, separator, secret = rest.partition("_")
    return (key_id, secret) if (prefix, separator) == (TOKEN_PREFIX, "_") and key_id and secret else None


def new_key(
    name: str, scopes: Sequence[str], grants: Sequence[Grant], *, expires_at: str = "", created_by: str = ""
) -> tuple[ApiKey, str]:
    """Return a key and its token, which nobody can be shown again; UsageError for what can't be.

    The token is ``cq_<id>_<secret>``: the id is no secret, and makes a leaked key easy to find and revoke.
    """
    checked = check_scopes(scopes)
    check_grants(grants)
    if not _NAME.fullmatch(name) or len(name) > MAX_NAME_CHARACTERS:
        raise UsageError(f"the name of a key must have 1 to {MAX_NAME_CHARACTERS} characters, none of them a control")
    key_id = secrets.token_hex(ID_BYTES)
    secret, token = _new_secret(key_id)
    return ApiKey(key_id, name, checked, tuple(grants), (secret,), secret.created_at, created_by, expires_at), token


def _new_secret(key_id: str) -> tuple[KeySecret, str]:
    text = secrets.token_urlsafe(SECRET_BYTES)
    return KeySecret(hash_of(text), moment()), f"{TOKEN_PREFIX}_{key_id}_{text}"


def check_scopes(scopes: Sequence[str]) -> tuple[KeyScope, ...]:
    """Return scopes in their order, each once; UnknownName for what is none."""
    for name in scopes:
        if name not in SCOPES:
            raise UnknownName("scope", name, SCOPES)
    return tuple(scope for scope in SCOPES if scope in scopes)


def check_grants(grants: Sequence[Grant]) -> None:
    """Raise UsageError for what no engine could filter by, or what would mean something else than it seems to."""
    if len(grants) > MAX_GRANTS:
        raise UsageError(f"a key has at most {MAX_GRANTS} grants; use patterns, as in 'team-*'")
    if sum(len(paths.include) + len(paths.exclude) for paths in {grant.paths for grant in grants}) > MAX_GLOBS_OF_KEY:
        raise UsageError(f"a key has at most {MAX_GLOBS_OF_KEY} path globs; make a key for each of several purposes")
    for grant in grants:
        if not grant.repos or _NO_PATTERN.search(grant.repos):
            raise UsageError(f"'{grant.repos}' is no pattern of repositories: only * stands for any characters")
        globs = (*grant.paths.include, *grant.paths.exclude)
        if len(globs) > MAX_GLOBS:
            raise UsageError(f"a grant has at most {MAX_GLOBS} path globs")
        for glob in globs:
            glob_to_regex(glob)


def rotated(key: ApiKey, keep: timedelta, expires_at: str = "") -> tuple[ApiKey, str]:
    """Return a key with a new secret, and its token; the newest one before it goes on for ``keep``.

    UsageError where the key is no longer in use.
    """
    now, over = moment(), moment(keep)
    lives_until = expires_at or key.expires_at
    if key.revoked_at or _is_over(lives_until, now):
        raise UsageError(f"key {key.id} is {'revoked' if key.revoked_at else 'expired'}; create another one")
    before = key.secrets[0]
    kept = replace(before, expires_at=min(before.expires_at or over, over))
    secret, token = _new_secret(key.id)
    still = () if _is_over(kept.expires_at, now) else (kept,)
    return replace(key, secrets=(secret, *still), expires_at=lives_until), token


def revoked(key: ApiKey) -> ApiKey:
    """Return a key that nobody can use any more; it stays known, so that its traces keep their meaning."""
    return key if key.revoked_at else replace(key, revoked_at=moment(), secrets=())


def granted(key: ApiKey, grants: Sequence[Grant]) -> ApiKey:
    """Return a key that may see more."""
    bound = {one.repos for one in grants if one.is_bound}
    # A grant that waited for a repository of this name, or lost it, has nothing left to say.
    kept = [one for one in key.grants if one.is_pattern or one.is_bound or one.repos not in bound]
    together = tuple(dict.fromkeys((*kept, *grants)))
    check_grants(together)
    return replace(key, grants=together)


def bound(key: ApiKey, ids: Mapping[str, str], otherwise: str = PENDING) -> ApiKey:
    """Return a key whose grants of one repository each have its id, from ``ids`` by name.

    Where no repository has the name, a grant that was never looked up becomes what ``otherwise`` says.
    """

    def bind(grant: Grant) -> Grant:
        if grant.is_pattern or grant.repo_id not in ("", PENDING):
            return grant
        known = ids.get(grant.repos)
        if known == "":
            return grant  # a repository of an older version, which has no id yet
        return replace(grant, repo_id=known or grant.repo_id or otherwise)

    return replace(key, grants=tuple(dict.fromkeys(map(bind, key.grants))))


def without_repository(key: ApiKey, repo: str, repo_id: str) -> ApiKey:
    """Return a key without its grants of a repository that goes, and without those that wait for its name."""
    kept = (one for one in key.grants if one.is_pattern or _is_of_another(one, repo, repo_id))
    return replace(key, grants=tuple(kept))


def _is_of_another(grant: Grant, repo: str, repo_id: str) -> bool:
    return grant.repo_id != repo_id if grant.is_bound else grant.repos != repo


def withdrawn(key: ApiKey, repos: Sequence[str]) -> ApiKey:
    """Return a key without its grants of some names or patterns, each as it was written."""
    return replace(key, grants=tuple(one for one in key.grants if one.repos not in repos))


def renamed(key: ApiKey, repo_id: str, new: str, new_id: str) -> ApiKey:
    """Return a key whose grants of one repository speak of it by its new name."""
    grants = tuple(
        replace(one, repos=new, repo_id=new_id) if one.is_bound and one.repo_id == repo_id else one
        for one in key.grants
    )
    return replace(key, grants=tuple(dict.fromkeys(grants)))


def used(key: ApiKey, at: str) -> ApiKey:
    """Return a key that was used at a moment."""
    return replace(key, last_used_at=max(key.last_used_at, at))


def coarse_moment() -> str:
    """Return the beginning of the hour, as ``last_used_at`` has it."""
    now = int(datetime.now(UTC).timestamp())
    return datetime.fromtimestamp(now - now % LAST_USED_SECONDS, UTC).isoformat(timespec="seconds")
