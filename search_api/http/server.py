"""The service under gunicorn: threads in one or a few worker processes, each with its own store and model."""

import ctypes
import signal
import sys
from collections.abc import Callable
from contextlib import closing, suppress
from types import FrameType
from typing import TYPE_CHECKING, Any

from gunicorn.app.base import BaseApplication
from gunicorn.arbiter import Arbiter
from gunicorn.workers.base import Worker

from codequarry.search_api.access.authentication import WITHOUT_KEYS, check_admin_key
from codequarry.search_api.http.client_address import is_trusted
from codequarry.search_api.http.connections.refusals import Refusal
from codequarry.search_api.http.connections.waiting_time import waited_seconds
from codequarry.search_api.http.connections.worker import MOST_CONNECTIONS, SPARE_CONNECTIONS, PatientWorker
from codequarry.search_api.http.log_limits import BoundedLog
from codequarry.shared.access.key_list import list_keys
from codequarry.shared.addresses import is_loopback
from codequarry.shared.catalog.ledger import check_counter
from codequarry.shared.data_folder import UMASK, private_folder
from codequarry.shared.errors import StoreUnavailable, UsageError
from codequarry.shared.index.opened_index import open_active
from codequarry.shared.settings.config import SettingsModel
from codequarry.shared.store.factory import editions_of
from codequarry.shared.telemetry import metrics
from codequarry.shared.telemetry.logs import configure_logs, logger
from codequarry.shared.telemetry.metrics import UNMATCHED_ROUTE, count_request
from codequarry.shared.telemetry.traces import start_tracing, stop_tracing

if TYPE_CHECKING:
    from codequarry.search_api.jobs.queue import Indexer, MakeIndexer


# Requests that run when the service is told to stop have this long to finish.
GRACEFUL_SECONDS = 30
# A worker that does not answer its master for so long is stuck, and is replaced; the first search loads the model.
TIMEOUT_SECONDS = 120
KEEP_ALIVE_SECONDS = 5

log = logger("codequarry.server")

Announce = Callable[[str], None]


def serve(settings: SettingsModel, announce: Announce | None = None, make_indexer: "MakeIndexer | None" = None) -> None:
    """Run the service until it is told to stop; the requests under way are finished first.

    ``announce`` gets the address when it is open; ``make_indexer`` is called in each worker process. UsageError where
    the service would be open to the network without any key, or the address can't be used; StoreError where head
    document and rows do not belong together (rule 18).
    """
    check_admin_key(settings.auth.admin_key)
    check_host(settings, lambda: has_keys(settings))
    if refuses_everyone(settings):
        sys.stderr.write(f"No key is configured, so requests are refused until there is one: {WITHOUT_KEYS}\n")
    check_index(settings)
    if settings.api.socket:
        private_folder(settings.api.socket.parent)
    configure_logs()
    keep_memory_flat()
    if settings.api.workers == 1:
        # One worker after another may be there, but never two: each counts for itself.
        _Server(settings, announce or _to_stderr, make_indexer).run()
        return
    with metrics.counted_together():
        _Server(settings, announce or _to_stderr, make_indexer).run()


def check_host(settings: SettingsModel, has_keys: Callable[[], bool]) -> None:
    """Raise UsageError for an address beyond this machine that neither a key guards nor, by the settings, another."""
    if settings.api.open_to_network or settings.api.socket or is_loopback(settings.api.host):
        return
    if settings.auth.admin_key is None and not has_keys():
        raise UsageError(
            f"no key is configured, so everyone who reaches {settings.api.host} could read all indexed code; make one "
            "with codequarry keys create, set [auth] admin_key, listen on 127.0.0.1, or set [api] open_to_network = "
            "true where something in front of the service checks who asks"
        )


def refuses_everyone(settings: SettingsModel) -> bool:
    """Return whether requests will be refused for want of a key, and nobody is taken for the owner."""
    api = settings.api
    if api.open_to_network or api.trust_loopback or api.socket or settings.auth.admin_key:
        return False
    return not has_keys(settings)


def has_keys(settings: SettingsModel) -> bool:
    """Tell whether the index has any key; True where it can't be reached yet: without one, requests are refused."""
    try:
        with closing(editions_of(settings)) as editions:
            _, store = open_active(editions)
            if store is None:
                return False
            with closing(store):
                return bool(list_keys(store))
    except StoreUnavailable:
        return True


def check_index(settings: SettingsModel) -> None:
    """Raise StoreError for an index that must not be served; one that can't be reached yet is waited for."""
    with suppress(StoreUnavailable), closing(editions_of(settings)) as editions:
        _, store = open_active(editions)
        if store:
            with closing(store):
                check_counter(store)


def _to_stderr(address: str) -> None:
    sys.stderr.write(f"Codequarry listens on {address}\n")
    sys.stderr.flush()


class _Server(BaseApplication):  # type: ignore[misc]  # gunicorn has no types
    """Gunicorn with our settings instead of its command line."""

    def __init__(self, settings: SettingsModel, announce: Announce, make_indexer: "MakeIndexer | None") -> None:
        self._settings = settings
        self._announce = announce
        self._make_indexer = make_indexer
        self._indexer: Indexer | None = None
        self._refused: BoundedLog[tuple[str, int]] = BoundedLog(_tell_refused, ("others", 0))
        super().__init__()

    @property
    def read_seconds(self) -> float:
        """How long a request may take to come."""
        return self._settings.api.read_seconds

    @property
    def most_body_bytes(self) -> int:
        """How large the body of a request may be."""
        return self._settings.api.max_body_bytes

    def most_connections_of(self, address: str) -> int | None:
        """Return how many connections an address may have: a proxy that the settings trust has those of many."""
        is_proxy = not address or is_trusted(address.partition("/")[0], self._settings.api.trusted_proxies)
        return None if is_proxy else self._settings.limits.connections_per_address

    def note_refusal(self, address: str, refusal: Refusal, request_id: str) -> None:
        """Count what is refused before the application sees it, and say so in the log."""
        count_request(UNMATCHED_ROUTE, "any", refusal.status.value, 0.0)
        if self._refused.allows(address, (address, refusal.status.value)):
            log.warning(
                "refused", address=address, status=refusal.status.value, detail=refusal.detail, request_id=request_id
            )

    def load_config(self) -> None:
        """Give gunicorn its settings."""
        for name, value in gunicorn_options(self._settings).items():
            self.cfg.set(name, value)
        self.cfg.set("when_ready", self._ready)
        self.cfg.set("post_worker_init", self._begin_worker)
        self.cfg.set("worker_exit", self._end_worker)
        self.cfg.set("child_exit", _child_exit)

    def load(self) -> Any:  # noqa: ANN401  # gunicorn's own signature
        """Return the application; called in each worker process, so that no connection is shared by a fork."""
        from codequarry.search_api.http.app import create_app, warm_up
        from codequarry.search_api.http.catalog_metrics import serve_metrics
        from codequarry.search_api.http.request_context import INDEXER

        app = create_app(self._settings, make_indexer=self._make_indexer, waited=waited_seconds)
        self._indexer = app.extensions[INDEXER]
        start_tracing("codequarry-api")
        serve_metrics(app, self._settings)
        warm_up(app)
        return app

    def _begin_worker(self, _: Worker) -> None:
        """Have the job that runs given back while the requests under way are finished, not after them."""
        finish = signal.getsignal(signal.SIGTERM)

        def end(number: int, frame: FrameType | None) -> None:
            if self._indexer is not None:
                self._indexer.end()
            if callable(finish):
                finish(number, frame)

        signal.signal(signal.SIGTERM, end)

    def _end_worker(self, _: Arbiter, __: Worker) -> None:
        if self._indexer is not None:
            self._indexer.close()
        stop_tracing()

    def _ready(self, arbiter: Arbiter) -> None:
        for listener in arbiter.LISTENERS:
            self._announce(str(listener))


def _tell_refused(kind: tuple[str, int], times: int) -> None:
    address, status = kind
    log.warning("connections refused, each without a line", address=address, status=status or None, times=times)


def gunicorn_options(settings: SettingsModel) -> dict[str, Any]:
    """Return what gunicorn is told."""
    api = settings.api
    host = f"[{api.host}]" if ":" in api.host and not api.host.startswith("[") else api.host
    return {
        "bind": [f"unix:{api.socket}" if api.socket else f"{host}:{api.port}"],
        # Of the socket too: only its owner can open it.
        "umask": UMASK,
        "worker_class": PatientWorker,
        "worker_connections": MOST_CONNECTIONS + SPARE_CONNECTIONS,
        "workers": api.workers,
        "threads": api.threads,
        "timeout": TIMEOUT_SECONDS,
        "graceful_timeout": GRACEFUL_SECONDS,
        "keepalive": KEEP_ALIVE_SECONDS,
        # A proxy on this machine would hand such headers on, and they change the path behind what it lets pass.
        "forwarder_headers": "",
        "loglevel": "warning",
        "preload_app": False,
        "control_socket_disable": True,
    }


def _child_exit(_: Arbiter, worker: Worker) -> None:
    metrics.forget_process(worker.pid)


# glibc gives every thread an arena of its own, up to eight a processor, and each keeps what it once needed. Two are
# enough where threads wait for each other's Python code anyway.
_ARENAS = 2
# Larger blocks are mapped, and go back to the system when they are freed. By itself glibc raises this bound to 32 MB
# as such blocks are freed, and from then on arrays of rows leave holes that only arrays no larger can fill.
_MAPPED_FROM = 256 * 1024
# mallopt(3)
_M_MMAP_THRESHOLD, _M_ARENA_MAX = -3, -8


def keep_memory_flat() -> bool:
    """Have freed arrays go back to the system; call it before threads start. False where the C library is not glibc.

    Fifty clients for five minutes while rows are added: docs/measurements.md.
    """
    if not sys.platform.startswith("linux"):
        return False
    library = ctypes.CDLL(None)
    if not hasattr(library, "gnu_get_libc_version"):
        return False
    return bool(library.mallopt(_M_ARENA_MAX, _ARENAS)) and bool(library.mallopt(_M_MMAP_THRESHOLD, _MAPPED_FROM))
