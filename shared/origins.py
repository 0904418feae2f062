"""Origins of repositories and their identities. Nothing here reads the disk (see ``ingest/git/origins.py``)."""

import os.path
import re
from dataclasses import dataclass, field
from urllib.parse import SplitResult, unquote, urlsplit

from codequarry.shared.errors import UsageError

SCHEMES = ("https", "http", "ssh", "git", "file")
DEFAULT_PORTS = {"https": 443, "http": 80, "ssh": 22, "git": 9418}
# user@host:path, as in ssh. A second colon right after the first would name a remote helper.
SCP_LIKE = re.compile(r"^(?:(?P<user>[^@/:\s]+)@)?(?P<host>\[[0-9a-fA-F:]+\]|[^/:@\s\[\]]{2,}):(?P<path>[^:\s].*)$")
# The name of a repository in the index.
NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,99}")

_UNFIT_FOR_NAME = re.compile(r"[^A-Za-z0-9._-]+")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")


@dataclass(frozen=True, slots=True)
class Credentials:
    """A user and a secret for one host; the secret is passed on only in git's environment."""

    user: str
    secret: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class Origin:
    """A place to fetch from.

    ``url`` contains no secret. The last word of ``parts`` names the repository. ``host`` is empty for a local folder.
    """

    url: str
    parts: tuple[str, ...]
    host: str = ""
    scheme: str = "file"
    credentials: Credentials | None = field(default=None, repr=False)

    @property
    def identity(self) -> str:
        """A text that is equal for all spellings of the same place."""
        return origin_identity(self.url)

    @property
    def name(self) -> str:
        """The base name, safe in a URL and as a file name."""
        return self.parts[-1]


def read_origin(text: str) -> Origin:
    """Parse an origin as the catalog stores it, without checking whether it exists."""
    if "://" in text:
        return origin_of_url(text)
    match = None if text.startswith("/") else SCP_LIKE.match(text)
    return origin_of_scp(match) if match else Origin(url=text, parts=path_words(text) or ("repository",))


def origin_of_url(text: str) -> Origin:
    """Parse the URL of a remote repository; raise UsageError if it is invalid."""
    try:
        url = urlsplit(text)
        port = url.port
    except ValueError:
        # The message does not repeat the URL, because what looks like a wrong port may be part of a password.
        raise UsageError("the URL of the repository is invalid: its host or port is malformed") from None
    scheme = url.scheme.lower()
    if scheme not in DEFAULT_PORTS:
        raise UsageError(f"'{scheme}://' is not supported; use one of {', '.join(SCHEMES)}")
    host = (url.hostname or "").lower()
    if not host or host.startswith("-") or _CONTROL.search(text):
        raise UsageError("the URL of the repository names no host")
    if url.query or url.fragment:
        raise UsageError("the URL of a repository must not contain '?' or '#'; set a token with CODEQUARRY_GIT__TOKEN")
    parts = path_words(url.path)
    if not parts:
        raise UsageError(f"{scheme}://{host} names a host but no repository")
    shown_host = f"[{host}]" if ":" in host else host
    place = shown_host if port in (None, DEFAULT_PORTS[scheme]) else f"{shown_host}:{port}"
    user = f"{url.username}@" if scheme == "ssh" and url.username else ""
    return Origin(
        url=f"{scheme}://{user}{place}{url.path}",
        parts=parts,
        host=place,
        scheme=scheme,
        credentials=_credentials(url) if scheme in ("https", "http") else None,
    )


def origin_of_scp(match: re.Match[str]) -> Origin:
    """Return the origin of ``user@host:path``, as matched by ``SCP_LIKE``; raise UsageError if the host is invalid."""
    host = match["host"].lower()
    if host.startswith("-"):
        raise UsageError("a host name must not begin with '-'")
    user = f"{match['user']}@" if match["user"] else ""
    path = match["path"]
    return Origin(
        url=f"{user}{host}:{path}",
        parts=path_words(path) or ("repository",),
        host=host,
        scheme="ssh",
    )


def origin_identity(origin: str) -> str:
    """Return a text that is equal for all spellings of the same place.

    Scheme, user, case of the host, default port and a trailing ``.git`` are ignored. The disk is not read, so a folder
    should be absolute and have its links resolved. Raise ValueError for an invalid URL.
    """
    if "://" in origin:
        url = urlsplit(origin)
        if url.scheme.lower() == "file":
            return _folder(unquote(url.path))
        host = (url.hostname or "").lower()
        shown = f"[{host}]" if ":" in host else host
        port = "" if url.port in (None, DEFAULT_PORTS.get(url.scheme.lower())) else f":{url.port}"
        return f"{shown}{port}/{without_suffix(url.path)}"
    scp_like = None if origin.startswith(("/", ".", "~")) else SCP_LIKE.match(origin)
    if scp_like:
        return f"{scp_like['host'].lower()}/{without_suffix(scp_like['path'])}"
    return _folder(origin)


def identity_if_readable(origin: str) -> str:
    """Return the ``origin_identity``, or "" for an invalid URL."""
    try:
        return origin_identity(origin)
    except ValueError:
        return ""


def without_suffix(path: str) -> str:
    """Return a URL's path without leading and trailing slashes and without ``.git``."""
    return path.strip("/").removesuffix(".git").rstrip("/")


def _folder(path: str) -> str:
    return f"file:{os.path.normpath(path).removesuffix('/.git')}"


def _credentials(url: SplitResult) -> Credentials | None:
    if url.username is None:
        return None
    return Credentials(unquote(url.username), unquote(url.password or ""))


def path_words(path: str) -> tuple[str, ...]:
    """Return the words of a path that can be part of a name, without ``.git``."""
    words = (fit_name(word) for word in re.split(r"[/\\:]", without_suffix(path)))
    return tuple(word for word in words if word)


def fit_name(text: str) -> str:
    """Replace the characters that a repository's name may not contain; the result may be empty."""
    return _UNFIT_FOR_NAME.sub("-", text).strip("-.")[:100]
