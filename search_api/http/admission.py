"""What each route needs, in one place, and the gate that every request passes before its route runs.

To add a route, add its line to ``NEEDS``: without one the service does not start, and a test fails that has no example
of a request for it (tests/e2e/api/leaks). A route gets what it reads from ``routes.engine()``, never from the backend
itself, and who asks from ``routes.caller()``. Needs:

- ``search``, ``index``, ``admin``: the scope that the key must have. A route that needs more for some requests asks for
  that itself: ``caller().require("index")``.
- ``open``: no key, for probes and descriptions; whoever asks is NOBODY and sees nothing of the index.
- ``signed``: no key, since the route itself checks a signature, as webhooks do; it tells by ``admit_signed`` whose that
  is, and each of them has limits of its own.
"""

from collections.abc import Mapping
from http import HTTPStatus
from socket import AF_UNIX
from types import MappingProxyType
from typing import Literal

from flask import Flask, Request, Response, current_app, g, request
from werkzeug.routing import Rule

from codequarry.search_api.access.authentication import NOBODY, RequestCredentials, Authenticator
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
"""Who asks a route that knows its callers by their signatures, until it has looked at that."""
LIMITS = "codequarry.limits"
"""Where the application keeps its limits."""
SETTINGS = "codequarry.api-settings"
"""Where it keeps how it is reached."""

_SCOPES: Mapping[Need, KeyScope] = MappingProxyType({"search": "search", "index": "index", "admin": "admin"})
# By these a proxy says for whom it asks. What they hold is not trusted, since anybody can send them: only limits by
# address heed one of them, where a proxy that the settings trust sent it.
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
# Whoever watches the service must be answered also where it is overloaded.
PROBES = frozenset({"/healthz", "/readyz", "/metrics"})
# Answers to requests without a valid key that count for their address. Others are no fault of the client.
_REFUSED = frozenset(
    (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN, HTTPStatus.NOT_FOUND, HTTPStatus.METHOD_NOT_ALLOWED)
)
# Flask answers these itself, for any route that answers GET or anything at all.
_BY_FLASK = frozenset({"HEAD", "OPTIONS"})


def check_declared(app: Flask) -> None:
    """Raise ValueError for a route that is not in ``NEEDS``: none shall be open, or closed, by an oversight."""
    there = {f"{method} {rule.rule}" for rule in app.url_map.iter_rules() for method in _methods(rule)}
    if undeclared := sorted(there - NEEDS.keys()):
        raise ValueError(f"no need is declared in search_api/http/admission.py for {', '.join(undeclared)}")


def _methods(rule: Rule) -> set[str]:
    return (rule.methods or set()) - _BY_FLASK


def guard(app: Flask, settings: SettingsModel, authenticator: Authenticator) -> None:
    """Let nobody reach a route of ``app`` who may not; ``g.principal`` is who asks."""
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
    """Let in whoever sent the request that is dealt with, now that the signature is known to be theirs."""
    _enter(current_app.extensions[LIMITS], Principal(name, frozenset(), ()))


def _enter(limits: RateLimits, principal: Principal) -> None:
    g.principal = principal
    limits.enter(principal.name)
    g.admitted = principal.name


def action_of(asked: Request) -> str:
    """Return the route of a request as ``NEEDS`` has it, "" where there is none."""
    if asked.url_rule is None:
        return ""
    return f"{'GET' if asked.method == 'HEAD' else asked.method} {asked.url_rule.rule}"


def need_of(asked: Request) -> Need:
    """Return what a request needs; where nothing will run but Flask's own answer, that is nothing."""
    if asked.url_rule is None or asked.method == "OPTIONS":
        return "open"
    return NEEDS[action_of(asked)]


def is_probe(asked: Request) -> bool:
    """Tell whether a request is one of those who watch the service: they are answered whatever happens."""
    return asked.url_rule is not None and asked.url_rule.rule in PROBES and need_of(asked) == "open"


def is_unknown_sender() -> bool:
    """Tell whether nothing is known of who sent the request that is dealt with."""
    return g.get("principal") in (None, NOBODY, UNVERIFIED)


def find_address(settings: SettingsModel) -> str:
    """Return the address of the client of the request that is dealt with, as limits count it."""
    forwarded_for = request.headers.getlist(FORWARDED_FOR)
    return group_of(client_address(request.remote_addr or "", forwarded_for, settings.api.trusted_proxies))


def asker(token: str | None) -> RequestCredentials:
    """Return what the request says of who sent it."""
    headers = request.headers
    listed = any(name in headers for name in OF_PROXIES)
    is_forwarded = listed or any(name.title().startswith(_OF_PROXIES_PREFIX) for name, _ in headers)
    return RequestCredentials(token, request.remote_addr or "", request.host, is_forwarded, _is_on_socket())


def _is_on_socket() -> bool:
    """Return whether the request came over the socket that this service made: another server's has other modes."""
    settings: ApiSettings = current_app.extensions[SETTINGS]
    connection = request.environ.get("gunicorn.socket")
    return settings.socket is not None and getattr(connection, "family", None) == AF_UNIX
