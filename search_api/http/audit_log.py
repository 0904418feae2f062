"""The audit log: who read or changed what, one JSON object a line, only ever added to."""

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

# Who may read it is for the operator to widen.
MODE = 0o600

log = logger("codequarry.audit")


@dataclass(slots=True)
class AuditedAccess:
    """What a request was about, as its route notes it; ``results`` counts what it returned, None where it does not."""

    repositories: Sequence[str] = ()
    results: int | None = None
    query: str | None = None


@dataclass(frozen=True, slots=True)
class AuditEntry:
    """One line of the log; never a key, and the text of a question only where the settings ask for it.

    ``address`` is that of a client of which nothing else is known. ``times`` counts requests that were refused beyond
    those that have a line each.
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
        """Return the line without what is not known."""
        body = asdict(self)
        return {"time": body.pop("time"), **{name: value for name, value in body.items() if value is not None}}


@dataclass(frozen=True, slots=True)
class RefusedRequests:
    """What is counted together of requests of which nobody knows who sent them."""

    principal: str
    action: str
    status: int
    address: str


_OTHERS = RefusedRequests("nobody", "", 0, "others")


class AuditLog:
    """A file to which any number of processes add lines.

    Each line is opened, written by one call in append mode, and closed: so lines of several processes never mix, and
    whoever rotates the file by renaming or truncating it finds the next line in the new one.
    """

    def __init__(self, file: Path, with_queries: bool) -> None:
        """Add to ``file``; UsageError where that can't be written."""
        self._file = file
        self._with_queries = with_queries
        self._refused = BoundedLog(self._tell, _OTHERS)
        try:
            os.close(self._open())
        except OSError as error:
            raise UsageError(f"audit.file {file} can't be written: {error.strerror}") from error

    def add(self, principal: str, action: str, status: int, request_id: str, access: AuditedAccess) -> None:
        """Write one line; OSError where that fails."""
        query = access.query if self._with_queries else None
        repositories = sorted(set(access.repositories))
        self._write(AuditEntry(principal, action, status, request_id, repositories, access.results, query))

    def add_refused(self, refused: RefusedRequests, request_id: str) -> None:
        """Write a line of somebody unknown, or count it where there are many; OSError where it can't be written."""
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
    """Note what the request read or changed, for its line in the log."""
    g.access = AuditedAccess(tuple(repositories), results, query)


def record(app: Flask, settings: AuditSettings) -> None:
    """Have every request that needs a key or a signature written down, the refused ones too."""
    if settings.file is None:
        return
    audit = AuditLog(settings.file, settings.queries)

    @app.after_request
    def write(response: Response) -> Response:
        if need_of(request) == "open":
            return response
        # Nobody asks a request who sent it that was refused because it had waited too long.
        principal, action, status = g.get("principal") or NOBODY, action_of(request), response.status_code
        try:
            if is_unknown_sender() and status >= HTTPStatus.BAD_REQUEST:
                audit.add_refused(RefusedRequests(principal.name, action, status, g.address), g.request_id)
            else:
                audit.add(principal.name, action, status, g.request_id, g.get("access") or AuditedAccess())
        except OSError as error:
            log.error("the audit log can't be written", detail=error.strerror)
            # What can't be written down is not answered: else a full disk would be a way around the log.
            detail = "the audit log can't be written, so nothing is answered; the operator's log says why"
            return problem(HTTPStatus.SERVICE_UNAVAILABLE, detail, g.request_id)
        return response
