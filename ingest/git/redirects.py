"""Follows an origin's redirects within its host and reports others; git would follow the first redirect to any host."""

import ssl
from contextlib import suppress
from dataclasses import replace
from http.client import HTTPException
from urllib.error import HTTPError, URLError
from urllib.parse import urljoin, urlsplit
from urllib.request import HTTPRedirectHandler, HTTPSHandler, OpenerDirector, ProxyHandler, Request, build_opener

from codequarry.ingest.git.origins import Origin
from codequarry.shared.errors import GitError
from codequarry.shared.settings.git import GitSettings

ANSWER_SECONDS = 20.0
# git's messages for a redirect that it may not follow, by HTTP status.
REDIRECTED = tuple(f"returned error: {status}" for status in (301, 302, 303, 307, 308))
_ASKED = "/info/refs?service=git-upload-pack"


class _Stay(HTTPRedirectHandler):
    def redirect_request(self, *_: object) -> None:
        """Follow no redirect."""


def is_redirected(error: GitError) -> bool:
    """Return whether git failed because the origin redirects."""
    return any(symptom in str(error) for symptom in REDIRECTED)


def moved_origin(origin: Origin, settings: GitSettings) -> Origin:
    """Return an origin's new address on its own host; raise GitError for a different host, which is not contacted."""
    target = _target(origin, settings)
    if target is None:
        raise GitError(f"{origin.url} redirects, but does not say to which repository: give the address it moved to")
    here, there = urlsplit(origin.url), urlsplit(target)
    if (here.scheme, here.hostname, here.port) != (there.scheme, there.hostname, there.port):
        raise GitError(f"{origin.url} moved to {target}; give that address (no redirect to another host is followed)")
    return replace(origin, url=target)


def _target(origin: Origin, settings: GitSettings) -> str | None:
    asked = origin.url.rstrip("/") + _ASKED
    with suppress(URLError, OSError, HTTPException, ValueError):
        try:
            _opener(settings).open(Request(asked, headers={"User-Agent": "git/2"}), timeout=ANSWER_SECONDS).close()
        except HTTPError as answer:
            with answer:
                location = answer.headers.get("Location")
            if location and _ASKED in (target := urljoin(asked, location)):
                return target.removesuffix(_ASKED)
    return None


def _opener(settings: GitSettings) -> OpenerDirector:
    context = ssl.create_default_context(cafile=str(settings.ca_file) if settings.ca_file else None)
    proxies = ProxyHandler({"http": settings.proxy, "https": settings.proxy} if settings.proxy else None)
    return build_opener(_Stay(), HTTPSHandler(context=context), proxies)
