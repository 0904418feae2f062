"""When two spellings of a repository's origin mean the same place."""

import os.path
import re
from urllib.parse import unquote, urlsplit

DEFAULT_PORTS = {"https": 443, "http": 80, "ssh": 22, "git": 9418}
# user@host:path, as ssh takes it. A second colon right after the first would name a remote helper.
SCP_LIKE = re.compile(r"^(?:(?P<user>[^@/:\s]+)@)?(?P<host>\[[0-9a-fA-F:]+\]|[^/:@\s\[\]]{2,}):(?P<path>[^:\s].*)$")


def origin_identity(origin: str) -> str:
    """Return what is equal for two spellings of one place.

    Scheme, user, case of the host, default port and a trailing ``.git`` don't count. Nothing is asked of the disk: a
    folder should come absolute and with its links resolved. ValueError for a URL that can't be read.
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


def without_suffix(path: str) -> str:
    """Return a URL's path without slashes around it and without ``.git``."""
    return path.strip("/").removesuffix(".git").rstrip("/")


def _folder(path: str) -> str:
    return f"file:{os.path.normpath(path).removesuffix('/.git')}"
