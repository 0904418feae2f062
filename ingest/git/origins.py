"""Parses the origin of a repository: a URL, or a folder on this machine."""

import re
from pathlib import Path
from urllib.parse import unquote, urlsplit

from codequarry.shared.errors import NotAtOrigin, UsageError
from codequarry.shared.origins import (
    SCP_LIKE,
    Credentials,
    Origin,
    fit_name,
    origin_of_scp,
    origin_of_url,
    path_words,
    read_origin,
)

__all__ = ["Credentials", "Origin", "fit_name", "origin_of_record", "parse_origin"]

FILE_SCHEME = "file://"
_HOST_AND_PATH = re.compile(r"^[\w-]+(?:\.[\w-]+)+/\S+$")


def parse_origin(text: str) -> Origin:
    """Return the origin that a path or URL names; raise UsageError or NotAtOrigin if it can't be a repository."""
    if not text.strip():
        raise UsageError("give the path of a git repository or its URL")
    if text.startswith("-"):
        raise UsageError(f"'{text}' is not a repository; write ./{text} for a folder of that name")
    if "://" in text:
        return _from_url(text.strip())
    folder = _existing(text)
    if folder:
        return _from_folder(folder)
    scp_like = SCP_LIKE.match(text.strip())
    if scp_like:
        return origin_of_scp(scp_like)
    hint = f"; for a URL write https://{text}" if _HOST_AND_PATH.match(text) else ""
    raise NotAtOrigin(f"{text} does not exist: give the path of a git repository or its URL{hint}")


def origin_of_record(url: str) -> Origin:
    """Return an origin that the catalog has stored, even if it no longer exists."""
    return _from_url(url) if url.lower().startswith(FILE_SCHEME) else read_origin(url)


def _existing(text: str) -> Path | None:
    try:
        folder = Path(text).expanduser()
        return folder if folder.exists() else None
    except (OSError, ValueError, RuntimeError):  # too long for a path, a NUL in it, the home of an unknown user
        return None


def _from_url(text: str) -> Origin:
    if text.lower().startswith(FILE_SCHEME):
        return _from_folder(Path(unquote(urlsplit(text).path)))
    return origin_of_url(text)


def _from_folder(folder: Path) -> Origin:
    folder = folder.resolve()
    if folder.name == ".git":
        folder = folder.parent
    if not folder.exists():
        raise NotAtOrigin(f"{folder} does not exist: give the path of a git repository or its URL")
    if not _is_repository(folder):
        around = next((parent for parent in folder.parents if (parent / ".git").exists()), None)
        hint = f"; it is inside the repository {around}: index that" if around else ""
        raise NotAtOrigin(f"{folder} is not a git repository{hint}")
    return Origin(url=str(folder), parts=path_words(str(folder)) or ("repository",))


def _is_repository(folder: Path) -> bool:
    bare = (folder / "HEAD").is_file() and (folder / "objects").is_dir()
    return bare or (folder / ".git").exists()
