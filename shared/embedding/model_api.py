"""Requests to an OpenAI-compatible server, with retries; no message from this module contains the key or an account.

Embeddings and commentary are asked for in the same way; each has its own section of the settings.
"""

import base64
import json
import re
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit, urlunsplit

import stamina

from codequarry.shared.embedding.retries import Patience, retry_after
from codequarry.shared.errors import EmbedderUnavailable, EmbeddingError

if TYPE_CHECKING:
    import openai

_CONNECT_SECONDS = 10.0
_SHOWN_CHARACTERS = 300
# Statuses that refuse these texts, or this many texts; the server may accept others.
_REFUSALS = frozenset({400, 413, 422})
_TOO_LONG = re.compile(r"too (?:large|long)|context (?:length|size)|maximum.{0,40}tokens", re.IGNORECASE)
_TEMPORARY = frozenset({408, 409, 425, 429})


class RefusedText(EmbeddingError):
    """The server refuses a request because of one of its texts, its size, or its other fields."""


class _TemporaryFailure(Exception):
    """A failure that a retry may fix; ``wait`` is the delay that the server asks for, in seconds."""

    def __init__(self, what: str, wait: float | None = None) -> None:
        super().__init__(what)
        self.wait = wait


@dataclass(frozen=True, slots=True)
class Server:
    """A server as messages name it: its address, what it serves, and the section of the settings that chose it."""

    base_url: str
    serves: str
    section: str


class ApiCredentials:
    """The Authorization header, kept out of all printed text: the class has no repr of its content."""

    def __init__(self, header: str | None = None, secrets: Sequence[str] = ()) -> None:
        self.header = header
        self._secrets = [secret for secret in secrets if secret]

    def headers(self) -> "dict[str, str | openai.Omit]":
        """Return the headers of a request; without a key, Authorization is omitted."""
        import openai

        return {"Authorization": self.header or openai.omit}

    def redacted(self, text: str) -> str:
        """Return ``text`` without the secrets."""
        for secret in self._secrets:
            text = text.replace(secret, "***")
        return text


def split_account(url: str, api_key: str | None) -> tuple[str, ApiCredentials]:
    """Return a URL without its account, which might be logged, and the credentials: the account, or else the key."""
    parts = urlsplit(url)
    if parts.username is None:
        return url, ApiCredentials(f"Bearer {api_key}", [api_key]) if api_key else ApiCredentials()
    user, password = unquote(parts.username), unquote(parts.password or "")
    clean = urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2]))
    encoded = base64.b64encode(f"{user}:{password}".encode()).decode()
    return clean, ApiCredentials(f"Basic {encoded}", [encoded, password, parts.password or "", api_key or ""])


Send = Callable[["openai.OpenAI", "dict[str, str | openai.Omit]", "openai.Timeout"], str]
"""Sends one request with the client, headers and limits, and returns the text of the answer."""


class ModelApi:
    """The connection to one server. Safe to use from several threads."""

    def __init__(self, server: Server, credentials: ApiCredentials) -> None:
        self._server = server
        self._credentials = credentials
        self._lock = threading.Lock()
        self._client: openai.OpenAI | None = None
        self._answered = False
        self._stopped = False

    def send(self, once: Send, patience: Patience, is_wanted: Callable[[], bool] = lambda: True) -> object:
        """Return the decoded JSON of an answer, not validated; do not retry once ``is_wanted`` returns False.

        ``once`` sends the request. Raise RefusedText if the server may accept other texts, EmbedderUnavailable if it
        does not answer or if the retries are used up, and EmbeddingError for a failure that no retry can fix.
        """
        attempts = stamina.retry_context(
            on=lambda error: is_wanted() and self._next_wait(error, patience),
            attempts=patience.retries + 1,
            timeout=None,
            wait_initial=patience.first_wait,
            wait_max=patience.longest_wait,
            wait_jitter=patience.jitter,
        )
        try:
            for attempt in attempts:
                with attempt:
                    return self._once(once, patience.timeout)
        except _TemporaryFailure as error:
            raise EmbedderUnavailable(f"{self._server.serves} server {self._server.base_url} {error}") from None
        raise AssertionError("a retry context ends with a result or an error")

    def stop(self) -> None:
        """Start no more attempts; requests in progress may finish."""
        self._stopped = True

    def close(self) -> None:
        """Stop, and close the connections."""
        self.stop()
        with self._lock:
            client, self._client = self._client, None
        if client is not None:
            client.close()

    def _next_wait(self, error: Exception, patience: Patience) -> bool | float:
        if self._stopped or not isinstance(error, _TemporaryFailure):
            return False
        return True if error.wait is None else min(error.wait, patience.longest_wait)

    def _once(self, send: Send, timeout: float) -> object:
        import openai

        limits = openai.Timeout(timeout, connect=min(timeout, _CONNECT_SECONDS))
        try:
            answer = send(self.connected(), self._credentials.headers(), limits)
        # The original errors are not chained, because they hold the request and therefore the key.
        except openai.APITimeoutError:
            raise _TemporaryFailure(f"did not answer within {timeout:g} s") from None
        except openai.APIConnectionError as error:
            raise self._unreachable(error) from None
        except openai.APIStatusError as error:
            self._answered = True
            raise self._explained(error) from None
        self._answered = True
        try:
            body: object = json.loads(answer)
        except ValueError:
            where = f"[{self._server.section}] base_url"
            raise EmbeddingError(f"{self._server.base_url} did not send JSON; see {where}") from None
        return body

    def _unreachable(self, error: Exception) -> Exception:
        # A server that has answered before may be restarting; a server that never has is probably not running.
        reason = self._redacted(str(error.__cause__ or error))
        if self._answered:
            return _TemporaryFailure(f"can no longer be reached: {reason}")
        return EmbedderUnavailable(
            f"no {self._server.serves} server at {self._server.base_url} ({reason}); start it or see "
            f"[{self._server.section}] base_url"
        )

    def _explained(self, error: "openai.APIStatusError") -> Exception:
        status, message = error.status_code, self._redacted(_message(error))
        where = self._server.base_url
        # An exhausted quota is also reported as 429, but waiting does not refill it.
        if error.code == "insufficient_quota":
            return EmbeddingError(f"{where} refuses the request: {message}")
        # llama.cpp reports a text that is too long as an error of its own.
        if status in _REFUSALS or (status >= 500 and _TOO_LONG.search(message)):
            return RefusedText(message)
        if status in _TEMPORARY or status >= 500:
            wait = retry_after(error.response.headers, datetime.now(UTC))
            return _TemporaryFailure(f"answers {status}: {message}", wait)
        if status in (401, 403):
            return EmbeddingError(
                f"{where} refuses the key ({status}: {message}); see [{self._server.section}] api_key"
            )
        if status == 404:
            return EmbeddingError(f"{where} answers 404: {message}; see [{self._server.section}] base_url and model")
        return EmbeddingError(f"{where} answers {status}: {message}")

    def connected(self) -> "openai.OpenAI":
        """Return the client, created at first use; raise EmbedderUnavailable after ``stop``."""
        import openai

        with self._lock:
            if self._stopped:
                raise EmbedderUnavailable(f"the connection to {self._server.base_url} is closed")
            if self._client is None:
                self._client = openai.OpenAI(
                    # Without a key, the library would send OPENAI_API_KEY to any server.
                    api_key="none",
                    base_url=self._server.base_url,
                    max_retries=0,
                )
            return self._client

    def _redacted(self, message: str) -> str:
        line = " ".join(self._credentials.redacted(message).split())
        return line if len(line) <= _SHOWN_CHARACTERS else line[:_SHOWN_CHARACTERS] + "…"


def _message(error: "openai.APIStatusError") -> str:
    """Return the server's message from any of the usual shapes of an error body."""
    body: object = error.body
    if isinstance(body, Mapping):
        inner = body.get("error", body)
        body = (inner.get("message") or inner.get("detail") or inner) if isinstance(inner, Mapping) else inner
    return str(body or error.response.text or error.response.reason_phrase)
