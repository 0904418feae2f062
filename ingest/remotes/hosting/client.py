"""A client for a code host's API: sends the token only to that host, respects rate limits, reports errors in a line."""

import http.client
import json
import re
import ssl
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from email.message import Message
from urllib.parse import urljoin, urlsplit

from pydantic import SecretStr

from codequarry.shared.addresses import is_loopback
from codequarry.shared.errors import GitError, NotAtOrigin
from codequarry.shared.settings.git import GitSettings

ANSWER_SECONDS = 60.0
# An answer with a hundred repositories takes half a megabyte.
MAX_BYTES = 20_000_000
# If a host asks for a longer pause than this, the request fails.
MAX_PAUSE_SECONDS = 300.0
MAX_ATTEMPTS = 5
# The first pause after a server error without Retry-After.
PAUSE_SECONDS = 2.0
# More pages of a hundred repositories than any organisation has; guards against a server's endless list.
MAX_PAGES = 1_000
# Rate limits: GitHub answers 403 or 429, GitLab 429.
LIMITED = (403, 429)
BROKEN = (500, 502, 503, 504)
_NEXT = re.compile(r'<([^<>]+)>\s*;[^,]*\brel="?next"?')

WaitFor = Callable[[float], None]


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """Follows no redirects, because the token is only for its own host."""

    def redirect_request(self, *_: object) -> None:
        """Refuse every redirect."""


@dataclass(frozen=True, slots=True)
class ApiClient:
    """A client for one API; ``pause`` waits for a number of seconds."""

    url: str
    git: GitSettings
    token: SecretStr | None = field(default=None, repr=False)
    pause: WaitFor = time.sleep

    def pages(self, path: str) -> Iterator[list[Mapping[str, object]]]:
        """Yield each page's objects; raise NotAtOrigin if the list does not exist, or GitError on other failures."""
        url: str | None = f"{self.url.rstrip('/')}/{path}"
        for _ in range(MAX_PAGES):
            if url is None:
                return
            body, headers = self._read(url)
            if not isinstance(body, list):
                raise GitError(f"{self._host} did not answer with a list: is {self.url} the address of its API?")
            yield [item for item in body if isinstance(item, dict)]
            url = self._next(url, headers)
        raise GitError(f"{self._host} lists more than {MAX_PAGES:,} pages")

    @property
    def _host(self) -> str:
        return urlsplit(self.url).netloc

    def _next(self, url: str, headers: Message) -> str | None:
        """Return the address of the next page; raise GitError if it is on another host."""
        found = _NEXT.search(headers.get("Link", ""))
        if not found:
            return None
        following = urljoin(url, str(found[1]))
        if urlsplit(following)[:2] != urlsplit(self.url)[:2]:
            raise GitError(f"{self._host} names {urlsplit(following).netloc} for its next page, which is not followed")
        return following

    def _read(self, url: str) -> tuple[object, Message]:
        for attempt in range(MAX_ATTEMPTS):
            try:
                with self._opener().open(self._request(url), timeout=ANSWER_SECONDS) as response:
                    return _parsed(response.read(MAX_BYTES + 1), self._host), response.headers
            except urllib.error.HTTPError as error:
                with error:
                    seconds = self._pause_after(error, attempt)
                self.pause(seconds)
            except (OSError, http.client.HTTPException) as error:
                reason = getattr(error, "reason", error)
                raise GitError(f"{self._host} does not answer: {reason}") from None
        raise GitError(f"{self._host} did not answer after {MAX_ATTEMPTS} attempts; try again later")

    def _pause_after(self, error: urllib.error.HTTPError, attempt: int) -> float:
        """Return the seconds to wait after a refusal; raise GitError if waiting does not help."""
        asked = _asked_pause(error.headers, time.time())
        if error.code in BROKEN or (error.code in LIMITED and (asked is not None or error.code != 403)):
            seconds = PAUSE_SECONDS * 2**attempt if asked is None else asked
            if seconds <= MAX_PAUSE_SECONDS:
                return seconds
            raise GitError(f"{self._host} asks for a pause of {seconds:,.0f} s: its rate limit is exhausted")
        if error.code == 404:
            raise NotAtOrigin(f"{self._host} has no such organisation or group, or the token has no access to it")
        if error.code in (401, 403):
            raise GitError(f"{self._host} rejects the token ({error.code}): it needs permission to read repositories")
        raise GitError(f"{self._host} answered with status {error.code}")

    def _request(self, url: str) -> urllib.request.Request:
        request = urllib.request.Request(url, headers={"Accept": "application/json", "User-Agent": "codequarry"})
        if self.token and _is_private(url):
            request.add_unredirected_header("Authorization", f"Bearer {self.token.get_secret_value()}")
        return request

    def _opener(self) -> urllib.request.OpenerDirector:
        handlers: list[urllib.request.BaseHandler] = [_NoRedirects()]
        if self.git.ca_file:
            context = ssl.create_default_context(cafile=str(self.git.ca_file))
            handlers.append(urllib.request.HTTPSHandler(context=context))
        if self.git.proxy:
            handlers.append(urllib.request.ProxyHandler({"http": self.git.proxy, "https": self.git.proxy}))
        return urllib.request.build_opener(*handlers)


def _parsed(data: bytes, host: str) -> object:
    if len(data) > MAX_BYTES:
        raise GitError(f"{host} answered with more than {MAX_BYTES:,} bytes")
    try:
        parsed: object = json.loads(data)
    except (ValueError, RecursionError):
        raise GitError(f"{host} did not answer with JSON") from None
    return parsed


def _asked_pause(headers: Message, now: float) -> float | None:
    after = headers.get("Retry-After", "")
    if after.isdigit():
        return float(after)
    reset = headers.get("X-RateLimit-Reset", headers.get("RateLimit-Reset", ""))
    if headers.get("X-RateLimit-Remaining", headers.get("RateLimit-Remaining")) == "0" and reset.isdigit():
        return max(0.0, int(reset) - now) + 1.0
    return None


def _is_private(url: str) -> bool:
    """Return whether a token can be sent privately: over TLS or on this machine."""
    parts = urlsplit(url)
    return parts.scheme == "https" or is_loopback(parts.hostname or "")
