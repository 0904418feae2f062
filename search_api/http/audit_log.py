"""The audit log: an append-only file that records who read or changed what, with one JSON object per line."""

import errno
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from http import HTTPStatus
from pathlib import Path
from typing import Any

from flask import Flask, Response, g, request

from codequarry.search_api.access.authentication import NOBODY
from codequarry.search_api.http.admission import action_of, is_unknown_sender, need_of
from codequarry.search_api.http.log_limits import BoundedLog
from codequarry.search_api.http.problems import problem
from codequarry.shared.errors import UsageError
from codequarry.shared.settings.service import AuditSettings
from codequarry.shared.telemetry.logs import logger

# The mode of a new file; the operator may let others read it.
MODE = 0o600

log = logger("codequarry.audit")


@dataclass(slots=True)
class AuditedAccess:
    """What a request read or changed, as recorded by its route; ``results`` is None if the route recorded no count."""

    repositories: Sequence[str] = ()
    results: int | None = None
    query: str | None = None


@dataclass(frozen=True, slots=True)
class AuditEntry:
    """A line of the log. It never contains a key, and contains the query only if the settings ask for it.

    ``address`` is set only if the client is unknown. ``times`` counts refused requests that have no line of their own.
    """

    principal: str
    action: str
    status: int
    request_id: str
    repositories: Sequence[str] = ()
    results: int | None = None
    query: str | None = None
    address: str | None = None
    times: int | None = None
    time: str = field(default_factory=lambda: datetime.now(UTC).isoformat(timespec="milliseconds"))

    def to_json(self) -> Mapping[str, Any]:
        """Return the line as a JSON object without its None fields."""
        body = asdict(self)
        return {"time": body.pop("time"), **{name: value for name, value in body.items() if value is not None}}


@dataclass(frozen=True, slots=True)
class RefusedRequests:
    """A kind of refused request from unknown senders; all requests of a kind are counted together."""

    principal: str
    action: str
    status: int
    address: str


_OTHERS = RefusedRequests("nobody", "", 0, "others")


class AuditLog:
    """A file that several processes append to; each line is one open, write and close, so rotation needs no signal."""

    def __init__(self, file: Path, with_queries: bool) -> None:
        """Append to ``file``; raise UsageError if it can't be written."""
        self._file = file
        self._with_queries = with_queries
        self._refused = BoundedLog(self._tell, _OTHERS)
        try:
            os.close(self._open())
        except OSError as error:
            raise UsageError(f"audit.file {file} can't be written: {error.strerror}") from error

    def add(self, principal: str, action: str, status: int, request_id: str, access: AuditedAccess) -> None:
        """Write a line; raise OSError if that fails."""
        query = access.query if self._with_queries else None
        repositories = sorted(set(access.repositories))
        self._write(AuditEntry(principal, action, status, request_id, repositories, access.results, query))

    def add_refused(self, refused: RefusedRequests, request_id: str) -> None:
        """Write a line for an unknown sender, or only count it if there are many; raise OSError if writing fails."""
        if self._refused.allows(refused.address, refused):
            entry = AuditEntry(refused.principal, refused.action, refused.status, request_id, address=refused.address)
            self._write(entry)

    def _tell(self, refused: RefusedRequests, times: int) -> None:
        entry = AuditEntry(refused.principal, refused.action, refused.status, "", address=refused.address, times=times)
        self._write(entry)

    def _write(self, entry: AuditEntry) -> None:
        line = json.dumps(entry.to_json(), ensure_ascii=True).encode() + b"\n"
        descriptor = self._open()
        try:
            if os.write(descriptor, line) != len(line):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        finally:
            os.close(descriptor)

    def _open(self) -> int:
        return os.open(self._file, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, MODE)


def note_access(repositories: Iterable[str], results: int, query: str | None = None) -> None:
    """Record what the current request read or changed, for its line in the log."""
    g.access = AuditedAccess(tuple(repositories), results, query)


def record(app: Flask, settings: AuditSettings) -> None:
    """Log every request to ``app`` that needs a key or a signature, including refused requests."""
    if settings.file is None:
        return
    audit = AuditLog(settings.file, settings.queries)

    @app.after_request
    def write(response: Response) -> Response:
        if need_of(request) == "open":
            return response
        # A request that was refused because it waited too long has not been authenticated.
        principal, action, status = g.get("principal") or NOBODY, action_of(request), response.status_code
        try:
            if is_unknown_sender() and status >= HTTPStatus.BAD_REQUEST:
                audit.add_refused(RefusedRequests(principal.name, action, status, g.address), g.request_id)
            else:
                audit.add(principal.name, action, status, g.request_id, g.get("access") or AuditedAccess())
        except OSError as error:
            log.error("the audit log can't be written", detail=error.strerror)
            # Otherwise a full disk would be a way around the audit log.
            detail = "the audit log can't be written, so requests are refused; see the service's log"
            return problem(HTTPStatus.SERVICE_UNAVAILABLE, detail, g.request_id)
        return response
