"""Where a repository is: what git is given, what the catalog stores, and what makes two spellings the same place."""

import re
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import SplitResult, unquote, urlsplit

from codequarry.shared.errors import NotAtOrigin, UsageError
from codequarry.shared.origins import DEFAULT_PORTS, SCP_LIKE, origin_identity, without_suffix

SCHEMES = ("https", "http", "ssh", "git", "file")
_HOST_AND_PATH = re.compile(r"^[\w-]+(?:\.[\w-]+)+/\S+$")
_UNFIT_FOR_NAME = re.compile(r"[^A-Za-z0-9._-]+")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")


@dataclass(frozen=True, slots=True)
class Credentials:
    """A user and a secret for one host; the secret never leaves this object but for git's environment."""

    user: str
    secret: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class Origin:
    """A place to fetch from.

    ``url`` is what git is given and the catalog stores, without any secret. ``parts`` are the words of its path, the
    last of which names the repository. ``host`` is empty for a folder of this machine.
    """

    url: str
    parts: tuple[str, ...]
    host: str = ""
    scheme: str = "file"
    credentials: Credentials | None = field(default=None, repr=False)

    @property
    def identity(self) -> str:
        """What is equal for two spellings of this place."""
        return origin_identity(self.url)

    @property
    def name(self) -> str:
        """The base name, fit for a URL and a file name."""
        return self.parts[-1]


def parse_origin(text: str) -> Origin:
    """Read a path or URL; UsageError or GitError in one line if it can't be a repository."""
    if not text.strip():
        raise UsageError("give the path of a git repository or its URL")
    if text.startswith("-"):
        raise UsageError(f"'{text}' is no repository; write ./{text} for a folder of that name")
    if "://" in text:
        return _from_url(text.strip())
    folder = _existing(text)
    if folder:
        return _from_folder(folder)
    scp_like = SCP_LIKE.match(text.strip())
    if scp_like:
        return _from_scp_like(scp_like)
    hint = f"; for a URL write https://{text}" if _HOST_AND_PATH.match(text) else ""
    raise NotAtOrigin(f"{text} does not exist: give the path of a git repository or its URL{hint}")


def origin_of_record(url: str) -> Origin:
    """Return the origin that the catalog stored, whether or not it is still there."""
    if "://" in url:
        return _from_url(url)
    match = None if url.startswith("/") else SCP_LIKE.match(url)
    return _from_scp_like(match) if match else Origin(url=url, parts=_parts(url) or ("repository",))


def _existing(text: str) -> Path | None:
    try:
        folder = Path(text).expanduser()
        return folder if folder.exists() else None
    except (OSError, ValueError, RuntimeError):  # too long for a path, a NUL in it, a home that nobody has
        return None


def _from_url(text: str) -> Origin:
    try:
        url = urlsplit(text)
        port = url.port
    except ValueError:
        # The text is not repeated: what looks like a wrong port may be the rest of a password.
        raise UsageError("the URL of the repository cannot be read: its host or port is malformed") from None
    scheme = url.scheme.lower()
    if scheme not in SCHEMES:
        raise UsageError(f"'{scheme}://' cannot be fetched from; known: {', '.join(SCHEMES)}")
    if scheme == "file":
        return _from_folder(Path(unquote(url.path)))
    host = (url.hostname or "").lower()
    if not host or host.startswith("-") or _CONTROL.search(text):
        raise UsageError("the URL of the repository names no host")
    if url.query or url.fragment:
        raise UsageError("the URL of a repository has no '?' or '#'; give a token as CODEQUARRY_GIT__TOKEN")
    parts = _parts(url.path)
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


def _from_scp_like(match: re.Match[str]) -> Origin:
    host = match["host"].lower()
    if host.startswith("-"):
        raise UsageError("the name of a host does not begin with '-'")
    user = f"{match['user']}@" if match["user"] else ""
    path = match["path"]
    return Origin(
        url=f"{user}{host}:{path}",
        parts=_parts(path) or ("repository",),
        host=host,
        scheme="ssh",
    )


def _from_folder(folder: Path) -> Origin:
    folder = folder.resolve()
    if folder.name == ".git":
        folder = folder.parent
    if not folder.exists():
        raise NotAtOrigin(f"{folder} does not exist: give the path of a git repository or its URL")
    if not _is_repository(folder):
        around = next((parent for parent in folder.parents if (parent / ".git").exists()), None)
        hint = f"; it lies in the repository {around}, index that" if around else ""
        raise NotAtOrigin(f"{folder} is not a git repository{hint}")
    return Origin(url=str(folder), parts=_parts(str(folder)) or ("repository",))


def _is_repository(folder: Path) -> bool:
    bare = (folder / "HEAD").is_file() and (folder / "objects").is_dir()
    return bare or (folder / ".git").exists()


def _credentials(url: SplitResult) -> Credentials | None:
    if url.username is None:
        return None
    return Credentials(unquote(url.username), unquote(url.password or ""))


def _parts(path: str) -> tuple[str, ...]:
    words = (fit_name(word) for word in re.split(r"[/\\:]", without_suffix(path)))
    return tuple(word for word in words if word)


def fit_name(text: str) -> str:
    """Return ``text`` with what does not fit into a repository's name replaced; perhaps empty."""
    return _UNFIT_FOR_NAME.sub("-", text).strip("-.")[:100]
