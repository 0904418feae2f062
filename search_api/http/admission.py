"""The requirements of each route, and the check that every request passes before its route runs.

To add a route, add its line to ``NEEDS``, without which the service does not start, and an example request to the test
in tests/e2e/api/leaks. A route reads the index through ``request_context.engine()``, never through the backend, and
gets the principal from ``request_context.caller()``. The needs are:

- ``search``, ``index``, ``admin``: the scope that the key needs. A route can require more with ``caller().require()``.
- ``open``: no key, for probes and descriptions. The caller is NOBODY, who can see nothing in the index.
- ``signed``: no key. The route verifies a signature and calls ``admit_signed`` for the sender, who has separate limits.
"""

from collections.abc import Mapping
from http import HTTPStatus
from socket import AF_UNIX
from types import MappingProxyType
from typing import Literal

from flask import Flask, Request, Response, current_app, g, request
from werkzeug.routing import Rule

from codequarry.search_api.access.authentication import NOBODY, Authenticator, RequestCredentials
from codequarry.search_api.http.client_address import client_address, group_of
from codequarry.search_api.http.credentials import read_token
from codequarry.search_api.http.rate_limits import RateLimits, RefusalLimits
from codequarry.shared.access.grants import KeyScope, Principal
from codequarry.shared.settings.config import SettingsModel
from codequarry.shared.settings.service import ApiSettings

Need = Literal["search", "index", "admin", "open", "signed"]
NEEDS: Mapping[str, Need] = MappingProxyType(
    {
        "POST /search-code": "search",
        "POST /diff-search": "search",
        "GET /symbols/versions": "search",
        "GET /symbols": "search",
        "POST /graph": "search",
        "GET /symbols/history": "search",
        "GET /repos": "search",
        "POST /repos": "index",
        "DELETE /repos/<name>": "admin",
        "GET /jobs": "search",
        "GET /jobs/<job_id>": "search",
        "POST /jobs/<job_id>/retry": "index",
        "POST /jobs/<job_id>/cancel": "index",
        "GET /deliveries": "admin",
        "POST /webhooks/github": "signed",
        "POST /webhooks/gitlab": "signed",
        "POST /webhooks/gitea": "signed",
        "POST /webhooks/generic": "signed",
        "GET /healthz": "open",
        "GET /readyz": "open",
        "GET /metrics": "admin",
        "GET /openapi.json": "open",
    }
)
UNVERIFIED = Principal("unverified sender", frozenset(), ())
"""The principal of a ``signed`` route until the signature is verified."""
# Keys of the application's extensions.
LIMITS = "codequarry.limits"
SETTINGS = "codequarry.api-settings"

_SCOPES: Mapping[Need, KeyScope] = MappingProxyType({"search": "search", "index": "index", "admin": "admin"})
# Headers in which a proxy names its client. Any client can send them, so their values are not trusted. Only the limits
# per address read X-Forwarded-For, and only from a proxy that the settings trust.
FORWARDED_FOR = "X-Forwarded-For"
OF_PROXIES = (
    "Forwarded",
    "Via",
    "X-Real-IP",
    "X-Client-IP",
    "Client-IP",
    "X-Cluster-Client-IP",
    "True-Client-IP",
    "CF-Connecting-IP",
    "CF-Ray",
    "Fastly-Client-IP",
    "Fly-Client-IP",
    "X-Original-For",
    "X-Original-Forwarded-For",
    "X-Envoy-External-Address",
    "X-Amzn-Trace-Id",
)
_OF_PROXIES_PREFIX = "X-Forwarded-"
# Monitoring must get an answer even if the service is overloaded.
PROBES = frozenset({"/healthz", "/readyz", "/metrics"})
# Responses that count against the address if the request had no valid key. Other errors are not the client's fault.
_REFUSED = frozenset(
    (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN, HTTPStatus.NOT_FOUND, HTTPStatus.METHOD_NOT_ALLOWED)
)
# Flask adds HEAD to every GET route and OPTIONS to every route, and answers them itself.
_BY_FLASK = frozenset({"HEAD", "OPTIONS"})


def check_declared(app: Flask) -> None:
    """Raise ValueError for a route that is not in ``NEEDS``, so that no route is open or closed by oversight."""
    routes = {f"{method} {rule.rule}" for rule in app.url_map.iter_rules() for method in _methods(rule)}
    if undeclared := sorted(routes - NEEDS.keys()):
        raise ValueError(f"add to NEEDS in search_api/http/admission.py: {', '.join(undeclared)}")


def _methods(rule: Rule) -> set[str]:
    return (rule.methods or set()) - _BY_FLASK


def guard(app: Flask, settings: SettingsModel, authenticator: Authenticator) -> None:
    """Check the key, scope and limits of every request to ``app``; ``g.principal`` is set to the caller."""
    check_declared(app)
    limits = app.extensions[LIMITS] = RateLimits(settings.limits)
    strangers = RefusalLimits(settings.limits)
    app.extensions[SETTINGS] = settings.api

    @app.before_request
    def admit() -> None:
        g.principal = NOBODY
        need = need_of(request)
        if is_probe(request):
            return
        if need == "signed":
            g.principal = UNVERIFIED
            return
        if need == "open":
            strangers.check(g.address, None)
            return
        g.token = read_token(request)
        strangers.check(g.address, g.token)
        principal = authenticator.authenticate(asker(g.token))
        strangers.note_admitted(g.token)
        _enter(limits, principal)
        principal.require(_SCOPES[need])

    @app.after_request
    def count(response: Response) -> Response:
        if is_unknown_sender() and response.status_code in _REFUSED:
            strangers.note_refused(g.address, g.get("token"))
        return response

    @app.teardown_request
    def leave(_: BaseException | None) -> None:
        if (name := g.pop("admitted", None)) is not None:
            limits.leave(name)


def admit_signed(name: str) -> None:
    """Admit the sender ``name`` of the current request: its signature has been verified."""
    _enter(current_app.extensions[LIMITS], Principal(name, frozenset(), ()))


def _enter(limits: RateLimits, principal: Principal) -> None:
    g.principal = principal
    limits.enter(principal.name)
    g.admitted = principal.name


def action_of(asked: Request) -> str:
    """Return a request's key in ``NEEDS``, or "" if no route matches."""
    if asked.url_rule is None:
        return ""
    return f"{'GET' if asked.method == 'HEAD' else asked.method} {asked.url_rule.rule}"


def need_of(asked: Request) -> Need:
    """Return the need of a request, which is ``open`` if Flask itself will answer it."""
    if asked.url_rule is None or asked.method == "OPTIONS":
        return "open"
    return NEEDS[action_of(asked)]


def is_probe(asked: Request) -> bool:
    """Return whether a request is an open health probe, which no limit may refuse."""
    return asked.url_rule is not None and asked.url_rule.rule in PROBES and need_of(asked) == "open"


def is_unknown_sender() -> bool:
    """Return whether the sender of the current request is unknown."""
    return g.get("principal") in (None, NOBODY, UNVERIFIED)


def find_address(settings: SettingsModel) -> str:
    """Return the client address of the current request, in the form that limits use."""
    forwarded_for = request.headers.getlist(FORWARDED_FOR)
    return group_of(client_address(request.remote_addr or "", forwarded_for, settings.api.trusted_proxies))


def asker(token: str | None) -> RequestCredentials:
    """Return the credentials and origin of the current request."""
    headers = request.headers
    has_listed = any(name in headers for name in OF_PROXIES)
    is_forwarded = has_listed or any(name.title().startswith(_OF_PROXIES_PREFIX) for name, _ in headers)
    return RequestCredentials(token, request.remote_addr or "", request.host, is_forwarded, _is_on_socket())


def _is_on_socket() -> bool:
    """Return whether the request came over our own socket; another server's socket may have different permissions."""
    settings: ApiSettings = current_app.extensions[SETTINGS]
    connection = request.environ.get("gunicorn.socket")
    return settings.socket is not None and getattr(connection, "family", None) == AF_UNIX
