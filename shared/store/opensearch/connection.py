"""Connections to the cluster: clients from the settings, retries, and translation of exceptions."""

import json
import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, TypeVar
from urllib.parse import unquote, urlsplit

import stamina
from opensearchpy import JSONSerializer, OpenSearch
from opensearchpy.exceptions import ConnectionError as NoConnection
from opensearchpy.exceptions import ConnectionTimeout, SSLError, TransportError

from codequarry.shared.errors import (
    CodequarryError,
    ModelMismatch,
    StoreError,
    StoreFull,
    StoreUnavailable,
    UsageError,
)
from codequarry.shared.liveness.deadline import Deadline
from codequarry.shared.settings.config import OpenSearchSettings
from codequarry.shared.store.opensearch.interactive_transport import InteractiveTransport, LateAnswer, Nodes
from codequarry.shared.telemetry.metrics import count_store_error

# Statuses that mean a busy or starting cluster, not an invalid request.
PASSING_STATUSES = frozenset({429, 502, 503, 504})
# How OpenSearch reports that its disk is nearly full, when it blocks writes, or completely full.
DISK_FULL = ("flood-stage", "read-only-allow-delete", "No space left on device")
# Connections kept open, because gunicorn's threads share one store.
CONNECTIONS = 16

Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class Retries:
    """The maximum number of retries while a cluster is busy, and the waits between them in seconds."""

    most: int
    first_wait: float
    longest_wait: float
    jitter: float


def patient_retries(settings: OpenSearchSettings) -> Retries:
    """Return the retries for a run, where no client is waiting."""
    return Retries(settings.max_retries, 0.5, 15.0, 1.0)


def interactive_retries(settings: OpenSearchSettings) -> Retries:
    """Return the retries for a client's request, which should fail soon if the cluster is busy."""
    return Retries(min(1, settings.max_retries), 0.1, 0.1, 0.1)


@dataclass(frozen=True, slots=True)
class ClusterConnection:
    """A connection to one cluster: patient for runs, or interactive with a deadline (see ``within``)."""

    settings: OpenSearchSettings
    patient: OpenSearch
    nodes: Nodes
    interactive: OpenSearch | None = None

    @property
    def client(self) -> OpenSearch:
        """The client that sends the requests."""
        return self.interactive or self.patient

    @property
    def retries(self) -> Retries:
        """The retries for a request."""
        return interactive_retries(self.settings) if self.interactive else patient_retries(self.settings)

    def within(self, deadline: Deadline | None) -> "ClusterConnection":
        """Return a connection for requests that must end by ``deadline``, or a patient connection if it is None."""
        if deadline is None:
            return replace(self, interactive=None)
        transport = InteractiveTransport(self.nodes, deadline)
        # The library expects a class and calls it once; with the library's own objects, this takes about 20 µs.
        make_transport: Any = lambda _hosts, **_: transport  # noqa: E731
        return replace(self, interactive=OpenSearch(transport_class=make_transport))

    @contextmanager
    def translated(self) -> Iterator[None]:
        """Translate the client's exceptions into ours."""
        try:
            yield
        except TransportError as exc:
            raise self.error(exc) from exc

    def patiently(self, send: Callable[[], Result]) -> Result:
        """Send a request, retry with backoff while the cluster is busy, and translate exceptions into ours."""
        retries = self.retries
        with self.translated():
            for attempt in stamina.retry_context(
                on=_is_passing,
                attempts=retries.most + 1,
                timeout=None,
                wait_initial=retries.first_wait,
                wait_max=retries.longest_wait,
                wait_jitter=retries.jitter,
            ):
                with attempt:
                    answer = send()
        return answer

    def error(self, exc: TransportError) -> CodequarryError:
        """Count a client exception in the metrics, and return our error for it, which contains no password."""
        error = _explained(exc, self.settings)
        count_store_error(error)
        return error

    def check_answer(self, answer: Mapping[str, Any]) -> None:
        """Raise an error if a search within a multi-search failed, even in part."""
        if "error" in answer:
            kind = str(answer["error"].get("type")) if isinstance(answer["error"], Mapping) else "error"
            raise self.error(TransportError(answer.get("status", 500), kind, answer))
        if answer["timed_out"] or answer["_shards"]["failed"]:
            raise StoreUnavailable(f"a shard of OpenSearch at {shown_urls(self.settings)} did not answer; try again")

    def close(self) -> None:
        """Close the connections."""
        self.patient.close()
        self.nodes.close()


class Serializer(JSONSerializer):
    """Writes compact JSON; lone surrogates, which some files contain, are escaped, and OpenSearch keeps the escapes."""

    def dumps(self, data: Any) -> Any:  # noqa: ANN401 - the base class's signature
        """Return ``data`` as JSON that can be encoded as UTF-8."""
        if isinstance(data, str):
            return data
        text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
        try:
            text.encode()
        except UnicodeEncodeError:
            return json.dumps(data, separators=(",", ":"))
        return text


def connect(settings: OpenSearchSettings) -> ClusterConnection:
    """Return a connection to the configured cluster, without sending anything yet."""
    # A retry goes to another node, or to the same node after a broken connection. A write that is sent twice does no
    # harm: rows use create, and documents carry their writer's mark.
    patient = _client(settings, settings.urls, CONNECTIONS, max_retries=max(1, len(settings.urls) - 1))

    def one_node(url: str, connections: int) -> OpenSearch:
        return _client(settings, [url], connections, max_retries=1, retry_on_status=())

    return ClusterConnection(settings, patient, Nodes(settings.urls, one_node, CONNECTIONS))


def _client(settings: OpenSearchSettings, urls: Sequence[str], connections: int, **options: Any) -> OpenSearch:  # noqa: ANN401
    # The client logs each failed request with a traceback, twice a second for a silent node. The exception that follows
    # is clearer. Setting the level, unlike adding a filter, also silences handlers that want all records.
    logging.getLogger("opensearch").setLevel(logging.CRITICAL)
    tls: dict[str, Any] = {}
    if any(url.startswith("https:") for url in urls):
        tls = {"verify_certs": settings.verify_certificates, "ssl_show_warn": False}
        if settings.ca_file:
            tls["ca_certs"] = str(settings.ca_file.expanduser())
        if not settings.verify_certificates:
            tls["ssl_assert_hostname"] = False
    return OpenSearch(
        hosts=[_without_account(url) for url in urls],
        http_auth=_account(settings),
        serializer=Serializer(),
        timeout=settings.timeout_seconds,
        pool_maxsize=connections,
        **tls,
        **options,
    )


def _account(settings: OpenSearchSettings) -> tuple[str, str] | None:
    """Return the configured user and password, or else those in the first URL that has any."""
    if settings.user is not None:
        return settings.user, settings.password.get_secret_value() if settings.password else ""
    for parts in map(urlsplit, settings.urls):
        if parts.username:
            return unquote(parts.username), unquote(parts.password or "")
    return None


def shown_urls(settings: OpenSearchSettings) -> str:
    """Return the URLs without credentials, for messages."""
    return ", ".join(_without_account(url) for url in settings.urls)


def _without_account(url: str) -> str:
    parts = urlsplit(url)
    return parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()


def _is_passing(exc: Exception) -> bool:
    return (
        isinstance(exc, TransportError)
        and exc.status_code in PASSING_STATUSES
        and not is_disk_full(reason_of(exc.info))
    )


def _explained(exc: TransportError, settings: OpenSearchSettings) -> CodequarryError:
    place = f"OpenSearch at {shown_urls(settings)}"
    if isinstance(exc, SSLError):
        return StoreUnavailable(
            f"{place} has an untrusted certificate; set opensearch.ca_file to the PEM file of its CA"
        )
    if isinstance(exc, LateAnswer):
        return StoreUnavailable(f"{place} did not answer in time; try again later")
    if isinstance(exc, ConnectionTimeout):
        return StoreUnavailable(
            f"{place} did not answer within {settings.timeout_seconds:g} s; try again or raise "
            "opensearch.timeout_seconds"
        )
    if isinstance(exc, NoConnection):
        return StoreUnavailable(
            f"{place} does not answer; start it with `codequarry opensearch start` or set opensearch.urls"
        )
    return _refusal(exc, place)


def _refusal(exc: TransportError, place: str) -> CodequarryError:
    status, reason = exc.status_code, reason_of(exc.info) or str(exc.error)
    if "determiniz" in reason.lower():
        return UsageError("a path glob is too complex; use fewer ? and * in each name")
    if "maxclausecount" in reason.lower():
        return UsageError("the query is too large for OpenSearch; name fewer repositories, versions, paths or words")
    if is_disk_full(reason):
        return StoreFull(f"{place} has no room left on its disk, so nothing was published; free some space ({reason})")
    if status == 401:
        return StoreError(f"{place} rejects the credentials; set opensearch.user and opensearch.password")
    if status == 403:
        return StoreError(f"{place} does not permit the user to make this request: {reason}")
    if status in PASSING_STATUSES:
        return StoreUnavailable(f"{place} is overloaded or not ready ({reason}); try again")
    if "dimension" in reason:
        return ModelMismatch(f"{place} has vectors of a different length from the model's: {reason}")
    return StoreError(f"{place} refused a request: {reason}")


def reason_of(answer: Any) -> str:  # noqa: ANN401 - whatever the server said
    """Return the innermost reason in an error body, on one line."""
    error = answer.get("error", answer) if isinstance(answer, Mapping) else answer
    while isinstance(error, Mapping):
        inner = error.get("caused_by") or next(iter(error.get("root_cause", ())), None)
        reason = f"{error.get('type', 'error')}: {error.get('reason', '')}"
        if not isinstance(inner, Mapping) or inner.get("reason") == error.get("reason"):
            return " ".join(reason.split())
        error = inner
    return " ".join(str(error).split()) if isinstance(error, str) else ""


def is_disk_full(reason: str) -> bool:
    """Return whether a request was refused because the disk is full or nearly full."""
    return any(sign in reason for sign in DISK_FULL)
