"""The tasks by name; each only passes on its message's arguments."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from codequarry.ingest.remotes.polling import LOOK_SECONDS as POLL_SECONDS
from codequarry.ingest.workers.open_index import WorkerIndex
from codequarry.ingest.workers.worker import Messages, Worker
from codequarry.shared.errors import CodequarryError
from codequarry.shared.jobs.job import PRIORITIES
from codequarry.shared.queue.messages import CONTROL, LOOK_AFTER_JOBS, POLL_ORIGINS, RUN_JOB, WRITE_BATCH
from codequarry.shared.settings.config import SettingsModel
from codequarry.shared.telemetry.logs import logger

if TYPE_CHECKING:
    from celery import Celery

# How soon a job resumes once it is found lost or its pause after a failure is over.
LOOK_SECONDS = 2.0

SCHEDULE: dict[str, dict[str, Any]] = {
    "look after jobs": {
        "task": LOOK_AFTER_JOBS,
        "schedule": LOOK_SECONDS,
        "options": {"queue": CONTROL, "priority": PRIORITIES["urgent"]},
    },
    "poll origins": {
        "task": POLL_ORIGINS,
        "schedule": POLL_SECONDS,
        "options": {"queue": CONTROL, "priority": PRIORITIES["background"]},
    },
}

log = logger("codequarry.worker")


def register(app: "Celery", settings: SettingsModel, messages: Messages, is_ending: Callable[[], bool]) -> Worker:
    """Register the tasks and return their worker; each process opens its index on its first task."""
    worker = Worker(WorkerIndex(settings), messages, is_ending)

    def run_job(_: str) -> None:
        _log_failure(worker.do_next)

    def write_batch(timeline: int, number: int, priority: int) -> None:
        _log_failure(lambda: worker.write_batch(timeline, number, priority))

    def look_after_jobs() -> None:
        _log_failure(worker.look_after_jobs)

    def poll_origins() -> None:
        _log_failure(worker.poll_origins)

    tasks = {
        RUN_JOB: run_job,
        WRITE_BATCH: write_batch,
        LOOK_AFTER_JOBS: look_after_jobs,
        POLL_ORIGINS: poll_origins,
    }
    for name, task in tasks.items():
        app.task(name=name)(task)
    return worker


def _log_failure(do: Callable[[], None]) -> None:
    """Log in one line why a task failed; its job is still waiting in the catalog."""
    try:
        do()
    except CodequarryError as error:
        log.warning("jobs wait", error=type(error).__name__, detail=str(error))
