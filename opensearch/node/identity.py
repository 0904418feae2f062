"""The identity of a started process: a pid and a start time, because pids are reused."""

from typing import Any

from codequarry.opensearch.node.artifacts import INSTALL_HINT
from codequarry.shared.errors import StoreUnavailable

STOP_SECONDS = 30
# The system clock may be adjusted between readings; a process that reuses a pid starts hours later.
TOLERANCE_SECONDS = 5.0


def started_at(pid: int) -> float:
    """Return when a process started, in seconds since the epoch."""
    return float(_psutil().Process(pid).create_time())


def is_alive(pid: int, started: float) -> bool:
    """Return whether the process with that pid and start time is still running."""
    return _process(pid, started) is not None


def end(pid: int, started: float) -> None:
    """Ask a process to stop, and kill it if it does not; a different process with the same pid is left alone."""
    psutil = _psutil()
    process = _process(pid, started)
    if process is None:
        return
    try:
        process.terminate()
        process.wait(STOP_SECONDS)
    except psutil.TimeoutExpired:
        process.kill()
        process.wait(STOP_SECONDS)
    except psutil.NoSuchProcess:
        return


def _process(pid: int, started: float) -> Any | None:  # noqa: ANN401 - psutil ships no types
    psutil = _psutil()
    try:
        process = psutil.Process(pid)
        same = abs(process.create_time() - started) < TOLERANCE_SECONDS
        return process if same and process.status() != psutil.STATUS_ZOMBIE else None
    except psutil.NoSuchProcess:
        return None


def _psutil() -> Any:  # noqa: ANN401 - psutil ships no types
    try:
        import psutil
    except ImportError as exc:
        raise StoreUnavailable(INSTALL_HINT) from exc
    return psutil
