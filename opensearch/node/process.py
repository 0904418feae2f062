"""Starts, finds and stops a real OpenSearch server on this machine."""

import json
import os
import re
import shutil
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from codequarry.opensearch.node.accounts import Account, give_to, make_folder, reachable_folder, server_account
from codequarry.opensearch.node.artifacts import read_pins
from codequarry.opensearch.node.assembly import assemble, locked, reachable_java
from codequarry.opensearch.node.configuration import RunFolder, command, write_configuration
from codequarry.opensearch.node.identity import end, is_alive, started_at
from codequarry.opensearch.node.java import find_java
from codequarry.shared.errors import StoreUnavailable, UsageError

USUAL_PORT = 9200
START_SECONDS = 180
POLL_SECONDS = 0.2
ROOT_CAUSE = "Likely root cause:"
HEAP = re.compile(r"[1-9][0-9]*[mg]")


@dataclass(frozen=True, slots=True)
class NodePlan:
    """Identifies a node (``folder`` and ``name``) and how to start it; ``java_options`` come after our own.

    ``port`` 0 means any free port; None means the usual port if it is free, otherwise any.
    """

    folder: Path
    name: str = "main"
    heap: str = "1g"
    port: int | None = None
    repository: str | None = None
    java_options: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Node:
    """A started server: its URL, its process and its files."""

    url: str
    version: str
    pid: int
    started: float
    folder: str
    log: str


def start(plan: NodePlan, say: Callable[[str], None]) -> Node:
    """Start the node and wait until it answers; if it is already running, return it."""
    if not HEAP.fullmatch(plan.heap):
        raise UsageError(f"'{plan.heap}' is not a heap size; write it as 512m or 1g")
    account = server_account()
    folder = _folder(plan)
    folder.mkdir(parents=True, exist_ok=True)
    with locked(folder):
        running = _find(folder, plan.name)
        if running:
            return running
        port = _free_port(plan.port)
        place = reachable_folder(folder, account)
        make_folder(place, account)
        java = reachable_java(find_java(), place, account)
        home = assemble(place, plan.repository, say)
        run = RunFolder(place / plan.name)
        make_folder(run.root, account)
        write_configuration(run, f"codequarry-{plan.name}", port)
        for owned in run.written_by_the_server:
            give_to(owned, account)
        say(f"starting OpenSearch on port {port}")
        process = _launch(command(java, home, run, plan.heap, plan.java_options), run, account)
        node = _record(folder, plan.name, run, process.pid, port)
        try:
            _wait_until_ready(node, run, process)
        except BaseException:
            end(node.pid, node.started)
            _record_path(folder, plan.name).unlink(missing_ok=True)
            raise
        # The server outlives this process on purpose. Without this line, Popen warns that its process is still running.
        process.returncode = 0
    return node


def _launch(arguments: Sequence[str], run: RunFolder, account: Account | None) -> "subprocess.Popen[bytes]":
    with run.console.open("wb") as console:
        return subprocess.Popen(
            arguments,
            cwd=run.root,
            env={"PATH": os.defpath, "LANG": "C.UTF-8", "HOME": str(run.root)},
            stdin=subprocess.DEVNULL,
            stdout=console,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            user=account.uid if account else None,
            group=account.gid if account else None,
            extra_groups=[] if account else None,
        )


def find(plan: NodePlan) -> Node | None:
    """Return the node if it is running, otherwise None."""
    return _find(_folder(plan), plan.name)


def names(folder: Path) -> list[str]:
    """Return the names of the nodes below ``folder`` that were started and not stopped, running or not."""
    return sorted(path.stem for path in folder.expanduser().glob("*.json"))


def stop(plan: NodePlan, *, remove_data: bool = False) -> Node | None:
    """Stop the node that ``start`` started, and no other process; return it, or None if it was not running."""
    folder = _folder(plan)
    node = _find(folder, plan.name)
    if node:
        end(node.pid, node.started)
    _record_path(folder, plan.name).unlink(missing_ok=True)
    if remove_data:
        shutil.rmtree(reachable_folder(folder, server_account()) / plan.name, ignore_errors=True)
    return node


def _folder(plan: NodePlan) -> Path:
    return plan.folder.expanduser().absolute()


def _record_path(folder: Path, name: str) -> Path:
    """Return the path of a node's record, in the caller's own folder, which the server's account can't change."""
    return folder / f"{name}.json"


def _record(folder: Path, name: str, run: RunFolder, pid: int, port: int) -> Node:
    url = f"http://127.0.0.1:{port}"
    node = Node(url, read_pins().version, pid, started_at(pid), str(run.root), str(run.log))
    _record_path(folder, name).write_text(json.dumps(asdict(node), indent=2) + "\n", "utf-8")
    return node


def _find(folder: Path, name: str) -> Node | None:
    try:
        node = Node(**json.loads(_record_path(folder, name).read_text("utf-8")))
    except (OSError, ValueError, TypeError):
        return None
    return node if is_alive(node.pid, node.started) else None


def _free_port(wanted: int | None) -> int:
    if wanted is None and _is_free(USUAL_PORT):
        return USUAL_PORT
    if wanted:
        if not _is_free(wanted):
            raise StoreUnavailable(f"port {wanted} is in use; stop the program that uses it, or choose another --port")
        return wanted
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def _wait_until_ready(node: Node, run: RunFolder, process: "subprocess.Popen[bytes]") -> None:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        if process.poll() is not None:
            raise StoreUnavailable(f"OpenSearch stopped during startup: {_reason(run)}; log: {run.log}")
        if _answers(node.url):
            return
        time.sleep(POLL_SECONDS)
    raise StoreUnavailable(f"OpenSearch did not answer within {START_SECONDS} s: {_reason(run)}; log: {run.log}")


def _answers(url: str) -> bool:
    # A proxy from the environment must not be used for a server on this machine.
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(f"{url}/_cluster/health?wait_for_status=yellow&timeout=1s", timeout=5) as answer:
            return bool(answer.status == 200)
    except (urllib.error.URLError, OSError):
        return False


def _reason(run: RunFolder) -> str:
    """Return the reason for a failure: a line that the JVM printed, otherwise the last error in the log."""
    printed = _lines(run.console)
    causes = [line for line in printed if line.startswith(ROOT_CAUSE)]
    failures = [line for line in printed if line.startswith(("Error", "Unrecognized", "Exception", "uncaught"))]
    errors = [line for line in _lines(run.log) if "[ERROR]" in line]
    told = causes[:1] or failures[:1] or errors[-1:] or ["no reason given"]
    return told[0].removeprefix(ROOT_CAUSE).strip()[:300]


def _lines(path: Path) -> list[str]:
    return path.read_text("utf-8", "replace").splitlines() if path.is_file() else []
