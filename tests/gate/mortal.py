"""A separate program that runs `codequarry` commands in processes that kill themselves (SIGKILL) at a chosen write.

It reads one JSON object per line: the arguments, and the write at which the process dies (0: it lives). It answers with
the exit code and the number of writes that began. Each command is a forked process, because importing everything again
for some hundred deaths would take minutes; a whole process is killed either way. A write is a commit of a SQLite
database or a request that changes something on an OpenSearch node. This covers every write of the catalog and of the
rows.
"""

import importlib
import json
import os
import signal
import sys
from typing import Any

import apsw
from opensearchpy import Transport

from codequarry.cli import main
from codequarry.ingest.secrets.masking import mask
from codequarry.shared.data_folder import UMASK
from codequarry.shared.processors import use_one_blas_thread

# Modules that the commands import when they run.
USED = (
    "codequarry.ingest.run.pipeline",
    "codequarry.ingest.removal.removal",
    "codequarry.ingest.run.rename",
    "codequarry.ingest.garbage_collection.collector",
    "codequarry.ingest.garbage_collection.unmasked_rows",
    "codequarry.ingest.migration.leftovers",
    "tree_sitter_language_pack.bindings.python",
    "codequarry.ingest.fsck.versions",
    "codequarry.cli.terminal.index_report",
    "codequarry.search_api.versions.catalog",
    "codequarry.search_api.versions.repositories",
    "codequarry.shared.embedding.table_embedder",
    "codequarry.shared.index.opened_index",
    "codequarry.shared.store.embedded.editions",
    "codequarry.shared.store.factory",
    "codequarry.shared.store.embedded.store",
    "codequarry.shared.store.opensearch.store",
    "codequarry.shared.telemetry.logs",
)
READING = ("/_search", "/_msearch", "/_mget", "/_count", "/_refresh", "/_search/point_in_time")


class Death:
    """Counts writes, reports the count to the parent process, and kills the process at one of them."""

    def __init__(self, at: int, *, after: bool, count: int) -> None:
        self._at, self._after, self._count, self._written = at, after, count, 0

    def before_write(self) -> None:
        """Count a write that is about to happen."""
        self._written += 1
        os.pwrite(self._count, str(self._written).encode(), 0)
        if not self._after:
            self._die()

    def after_write(self) -> None:
        """Record that the write is done."""
        if self._after:
            self._die()

    def _die(self) -> None:
        if self._written == self._at:
            os.kill(os.getpid(), signal.SIGKILL)


def watch_commits(death: Death) -> None:
    """Report each commit of every SQLite connection opened from now on."""

    def watch(connection: apsw.Connection) -> None:
        begun = False

        def committing() -> bool:
            nonlocal begun
            begun = True
            death.before_write()
            return False  # True would roll back

        def ended(_: object) -> None:
            nonlocal begun
            if begun and connection.get_autocommit():
                begun = False
                death.after_write()

        connection.set_commit_hook(committing)
        connection.trace_v2(apsw.SQLITE_TRACE_PROFILE, ended)

    apsw.connection_hooks.append(watch)


def watch_requests(death: Death) -> None:
    """Report each request that changes something on a node."""
    send = Transport.perform_request

    def watched(self: Transport, method: str, url: str, *given: Any, **named: Any) -> Any:
        if method in ("GET", "HEAD") or url.endswith(READING):
            return send(self, method, url, *given, **named)
        death.before_write()
        answer = send(self, method, url, *given, **named)
        death.after_write()
        return answer

    Transport.perform_request = watched  # type: ignore[method-assign]


def live(order: dict[str, Any], count: int) -> int:
    """Run one command until it ends or dies; return its exit code."""
    death = Death(order["at"], after=order["after"], count=count)
    watch_commits(death)
    watch_requests(death)
    for stream in (1, 2):
        os.dup2(os.open(order["output"], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), stream)
    os.umask(UMASK)
    return main.run(order["arguments"])


def run_once(order: dict[str, Any]) -> dict[str, int]:
    """Run one command in a new process and return how it ended."""
    count = os.memfd_create("writes")
    child = os.fork()
    if not child:
        code = 1
        try:
            code = live(order, count)
        finally:
            sys.stdout.flush()
            os._exit(code)
    _, status = os.waitpid(child, 0)
    writes = int(os.pread(count, 20, 0) or 0)
    os.close(count)
    return {"code": os.waitstatus_to_exitcode(status), "writes": writes}


def serve() -> None:
    """Run the requested commands until the input ends."""
    use_one_blas_thread()
    for module in USED:
        importlib.import_module(module)
    mask("x")  # compiles the rules
    answers = os.fdopen(os.dup(1), "w")
    for line in sys.stdin:
        answers.write(json.dumps(run_once(json.loads(line))) + "\n")
        answers.flush()


if __name__ == "__main__":
    serve()
