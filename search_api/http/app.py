"""The Flask application: its routes, problem+json for every error, and an id for every request."""

import re
from collections.abc import Callable, Iterable
from http import HTTPStatus
from time import perf_counter
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import structlog
from apiflask import APIFlask
from flask import Response, g, request
from werkzeug.exceptions import HTTPException, ServiceUnavailable

from codequarry.search_api.access.authentication import ApiKeys, Authenticator, OwnerWithoutKeys
from codequarry.search_api.http.admission import PROBES, find_address, guard, is_unknown_sender
from codequarry.search_api.http.audit_log import record
from codequarry.search_api.http.catalog_metrics import catalog_metrics
from codequarry.search_api.http.log_limits import BoundedLog
from codequarry.search_api.http.openapi import component_schemas, describe_keys
from codequarry.search_api.http.problems import problem, problem_of
from codequarry.search_api.http.request_context import CATALOG_METRICS, EXTENSION, INDEXER, RECEIVER, deadline
from codequarry.search_api.http.routes import (
    comparison,
    definitions,
    graph,
    health,
    jobs,
    repos,
    search,
    symbol_history,
    symbols,
    webhooks,
)
from codequarry.search_api.jobs.queue import MakeIndexer
from codequarry.search_api.query.request import SearchRequest
from codequarry.search_api.search.backend import Backend
from codequarry.search_api.webhooks.receiver import Receiver
from codequarry.shared.access.grants import OWNER, Principal
from codequarry.shared.embedding.port import Embedder
from codequarry.shared.errors import CodequarryError
from codequarry.shared.liveness.deadline import Deadline
from codequarry.shared.settings.config import SettingsModel
from codequarry.shared.store.port import Store
from codequarry.shared.telemetry.logs import logger
from codequarry.shared.telemetry.metrics import UNMATCHED_ROUTE, count_request, request_running, start_counting
from codequarry.shared.telemetry.traces import describe_span, span

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIEnvironment

TITLE = "Codequarry"
API_VERSION = "1.0"
REQUEST_ID_HEADER = "X-Request-ID"
# The caller's id is written to the logs, so an id that could break a line or fill the disk is replaced.
_REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")

log = logger("codequarry.api")


def create_app(
    settings: SettingsModel,
    store: Store | None = None,
    embedder: Embedder | None = None,
    make_indexer: MakeIndexer | None = None,
    authenticator: Authenticator | None = None,
    waited: Callable[[], float] = lambda: 0.0,
) -> APIFlask:
    """Return the application; unless given, store and embedder are opened from the settings on first use.

    Without ``make_indexer``, requests for indexing are refused. ``authenticator`` replaces API keys. ``waited`` returns
    the seconds that a request waited for its thread. Raise ValueError if a route is not in ``admission.NEEDS``.
    """
    app = APIFlask(
        __name__,
        title=TITLE,
        version=API_VERSION,
        json_errors=False,
        spec_path="/openapi.json",
        docs_path=None,
        static_folder=None,  # type: ignore[arg-type]  # None turns off static files
    )
    app.config["MAX_CONTENT_LENGTH"] = settings.api.max_body_bytes
    app.config["AUTO_404_RESPONSE"] = False
    app.config["DESCRIPTION"] = "Search the code of indexed git repositories."
    app.json.sort_keys = False  # type: ignore[attr-defined]  # the default provider has it, its declared type does not
    app.extensions[EXTENSION] = backend = Backend(settings, store, embedder)
    app.extensions[INDEXER] = make_indexer(backend) if make_indexer else None
    app.extensions[RECEIVER] = Receiver(settings)
    start_counting()
    for routes in (search, comparison, definitions, graph, symbols, symbol_history, repos, jobs, webhooks, health):
        app.register_blueprint(routes.blueprint)
    app.extensions[CATALOG_METRICS] = catalog_metrics(backend)
    if settings.metrics.port is None:
        app.register_blueprint(health.metrics_blueprint)
    _trace(app)
    _watch_requests(app, waited, settings)
    record(app, settings.audit)
    keys = ApiKeys(settings, lambda: backend.engine(deadline()).store, OwnerWithoutKeys(settings))
    guard(app, settings, authenticator or keys)
    _answer_errors(app)
    _complete_spec(app)
    return app


def warm_up(app: APIFlask) -> None:
    """Load model and vectors before the first request needs them; if this fails, the first request tries again."""
    backend: Backend = app.extensions[EXTENSION]
    try:
        backend.search(SearchRequest("warm up", top_k=1), OWNER, Deadline())
    except CodequarryError as error:
        log.warning("not ready yet", detail=str(error))


def _trace(app: APIFlask) -> None:
    answer = app.wsgi_app

    def traced(environ: "WSGIEnvironment", start_response: "StartResponse") -> Iterable[bytes]:
        with request_running(), span("request", environ.get("HTTP_TRACEPARENT", "")):
            return answer(environ, start_response)

    app.wsgi_app = traced  # type: ignore[method-assign]  # as Flask documents


def _watch_requests(app: APIFlask, waited: Callable[[], float], settings: SettingsModel) -> None:
    lines: BoundedLog[tuple[str, int]] = BoundedLog(_tell_refused, ("others", 0))

    @app.before_request
    def begin() -> None:
        g.address = find_address(settings)
        given = request.headers.get(REQUEST_ID_HEADER, "")
        g.request_id = given if _REQUEST_ID.fullmatch(given) else uuid4().hex
        g.started = perf_counter()
        structlog.contextvars.clear_contextvars()
        structlog.contextvars.bind_contextvars(request_id=g.request_id)
        needs_thread = request.url_rule is not None and request.url_rule.rule not in PROBES
        if needs_thread and waited() > settings.api.longest_wait_seconds:
            raise ServiceUnavailable("the service is overloaded; retry later")

    @app.after_request
    def end(response: Response) -> Response:
        route = request.url_rule.rule if request.url_rule else UNMATCHED_ROUTE
        response.headers[REQUEST_ID_HEADER] = g.request_id
        seconds = perf_counter() - g.started
        count_request(route, request.method if request.url_rule else "any", response.status_code, seconds)
        name = f"{request.method} {route}" if request.url_rule else UNMATCHED_ROUTE
        describe_span(name, http__route=route, http__response__status_code=response.status_code, id=g.request_id)
        duration = round(seconds * 1000, 1)
        status = response.status_code
        if not (is_unknown_sender() and status >= HTTPStatus.BAD_REQUEST) or lines.allows(
            g.address, (g.address, status)
        ):
            log.info("request", route=route, method=request.method, status=status, ms=duration)
        return response

    @app.teardown_request
    def forget(_: BaseException | None) -> None:
        # Whatever the thread does next does not belong to this request.
        structlog.contextvars.clear_contextvars()


def _tell_refused(kind: tuple[str, int], times: int) -> None:
    address, status = kind
    log.info("requests refused, each without a line", address=address, status=status or None, times=times)


def _request_id() -> str | None:
    request_id: str | None = g.get("request_id")
    return request_id


def _answer_errors(app: APIFlask) -> None:
    lines: BoundedLog[tuple[str, int]] = BoundedLog(_tell_refused, ("others", 0))

    def is_written(status: int) -> bool:
        return not is_unknown_sender() or lines.allows(g.address, (g.address, status))

    @app.errorhandler(CodequarryError)
    def own(error: CodequarryError) -> Response:
        principal: Principal | None = g.get("principal")
        may_index = principal is not None and principal.has("index")
        response = problem_of(error, _request_id(), indexes=app.extensions[INDEXER] is not None, may_index=may_index)
        if response.status_code >= HTTPStatus.INTERNAL_SERVER_ERROR and is_written(response.status_code):
            log.warning("failed", error=type(error).__name__, detail=str(error))
        return response

    @app.errorhandler(HTTPException)
    def http(error: HTTPException) -> Response:
        if error.code is None or error.code < HTTPStatus.BAD_REQUEST:
            return error.get_response()  # type: ignore[return-value]  # a redirect; werkzeug's response, not flask's
        response = problem(HTTPStatus(error.code), error.description or "", _request_id())
        for name, value in error.get_headers():
            if name in ("Allow", "Retry-After"):
                response.headers[name] = value
        return response

    @app.errorhandler(Exception)
    def unexpected(error: Exception) -> Response:
        log.error("unexpected", exc_info=error)
        detail = f"an unexpected error occurred; see the log for request id {_request_id()}"
        return problem(HTTPStatus.INTERNAL_SERVER_ERROR, detail, _request_id())


def _complete_spec(app: APIFlask) -> None:
    @app.spec_processor
    def add_schemas(spec: dict[str, Any] | str) -> dict[str, Any] | str:
        assert isinstance(spec, dict)  # APIFlask passes text only if configured for YAML
        spec.setdefault("components", {})["schemas"] = component_schemas()
        describe_keys(spec)
        return spec
