"""Where a person can see a hit: the file at that commit and those lines, on the code host."""

import re
from urllib.parse import quote, urlsplit

# user@host:path, the form of ssh that is no URL.
_SCP = re.compile(r"(?:[^@/:]+@)?(?P<host>[\w.-]+\.[\w-]+):(?!//)(?P<path>[^\\]+)")
_WEB_SCHEMES = ("http", "https", "ssh", "git", "git+ssh")
# Hosts that run Gitea or Forgejo without saying so in their name.
_GITEA_HOSTS = frozenset({"codeberg.org"})


def blob_url(origin: str, commit: str, path: str, start_line: int, end_line: int) -> str | None:
    """Return the address of a file's lines at a commit; None where the origin is no known kind of code host."""
    place = _web_place(origin)
    if place is None or not commit:
        return None
    host, base = place
    file = quote(path, safe="/@+:,~!$&'()*=;-._")
    if "gitlab" in host:
        return f"{base}/-/blob/{commit}/{file}#L{start_line}-{end_line}"
    if "bitbucket" in host:
        return f"{base}/src/{commit}/{file}#lines-{start_line}:{end_line}"
    if host in _GITEA_HOSTS or "gitea" in host or "forgejo" in host:
        return f"{base}/src/commit/{commit}/{file}#L{start_line}-L{end_line}"
    if "github" in host:
        return f"{base}/blob/{commit}/{file}#L{start_line}-L{end_line}"
    return None


def _web_place(origin: str) -> tuple[str, str] | None:
    """Return the host of an origin and the web address of the repository."""
    if "://" in origin:
        return _url_place(origin)
    scp = _SCP.fullmatch(origin)
    return _joined("https", scp["host"], None, scp["path"]) if scp else None


def _url_place(origin: str) -> tuple[str, str] | None:
    try:
        parts = urlsplit(origin)
        host, port = parts.hostname, parts.port
    except ValueError:
        return None
    if parts.scheme not in _WEB_SCHEMES or not host:
        return None
    # The port of another protocol is not that of the web pages.
    is_web = parts.scheme in ("http", "https")
    return _joined(parts.scheme if is_web else "https", host, port if is_web else None, parts.path)


def _joined(scheme: str, host: str, port: int | None, path: str) -> tuple[str, str] | None:
    name = path.strip("/").removesuffix(".git").strip("/")
    if not name:
        return None
    return host.lower(), f"{scheme}://{host.lower()}{f':{port}' if port else ''}/{quote(name, safe='/@+~-._')}"
