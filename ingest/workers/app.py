"""The Celery application of the workers and of beat. No other module in this room imports Celery."""

import logging
import mmap
import os
import signal
import socket
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from functools import partial
from types import FrameType
from typing import Any

from celery import Celery, signals
from celery.beat import ScheduleEntry, Scheduler, Service
from kombu.exceptions import OperationalError

from codequarry.ingest.files.reading_pool import read_apart
from codequarry.ingest.workers.queue_transport import TRANSPORT
from codequarry.ingest.workers.tasks import SCHEDULE, register
from codequarry.ingest.workers.worker import Worker
from codequarry.shared.errors import QueueUnavailable, UsageError
from codequarry.shared.jobs.job import Job
from codequarry.shared.processors import processor_count
from codequarry.shared.queue.messages import APP, CONTROL, RUN_JOB, SCAN, WRITE_BATCH, batch_queue, celery_options
from codequarry.shared.queue.probe import QueueProbe
from codequarry.shared.settings.config import SettingsModel
from codequarry.shared.telemetry.logs import logger
from codequarry.shared.telemetry.metrics import counted_together, start_counting
from codequarry.shared.telemetry.metrics_server import MetricsServer
from codequarry.shared.telemetry.traces import start_tracing, stop_tracing

# At most this many of beat's messages wait; more would only pile up while no worker is free.
MOST_REMINDERS = 10

log = logger("codequarry.worker")


class CeleryMessages:
    """The queue behind Celery; a send is not retried, so it blocks only until the connection fails."""

    def __init__(self, app: Celery, settings: SettingsModel) -> None:
        self._app, self._batches = app, batch_queue(settings)
        self._probe = QueueProbe(settings.queue)

    def tell(self, job: Job) -> None:
        """Tell a worker that there is a job."""
        self._send(RUN_JOB, (job.id,), SCAN, job.priority)

    def call_helper(self, timeline: int, number: int, priority: int) -> None:
        """Ask a worker to take part in writing a transaction."""
        self._send(WRITE_BATCH, (timeline, number, priority), self._batches, priority)

    def waiting_jobs(self) -> int:
        """Return the number of job messages that no worker has taken."""
        return self._waiting(SCAN)

    def waiting_calls(self) -> int:
        """Return the number of calls for helpers that no worker has taken."""
        return self._waiting(self._batches)

    def waiting_reminders(self) -> int:
        """Return the number of beat's messages that no worker has taken."""
        return self._waiting(CONTROL)

    def _send(self, task: str, arguments: tuple[object, ...], queue: str, priority: int) -> None:
        self._probe.check()
        try:
            self._app.send_task(task, arguments, queue=queue, priority=priority, retry=False)
        except OperationalError as error:
            raise QueueUnavailable(f"the queue does not answer: {error}") from error

    def _waiting(self, queue: str) -> int:
        self._probe.check()
        connection = self._app.connection_for_write()
        try:
            with connection:
                declared = connection.default_channel.queue_declare(queue=queue, durable=True, auto_delete=False)
                return int(declared.message_count)
        except connection.connection_errors as error:
            raise QueueUnavailable(f"the queue does not answer: {error}") from error


class _StopFlag:
    """A flag with which a worker's parent process tells its children to stop."""

    def __init__(self) -> None:
        # Shared with the children, which are forked later. A byte that is only ever set needs no lock.
        self._flag = mmap.mmap(-1, 1)

    def __call__(self) -> bool:
        return self._flag[0] != 0

    def set(self, **_: object) -> None:
        """Tell every process of the worker to stop."""
        self._flag[0] = 1


def _prepare_child(**_: object) -> None:
    """Leave SIGTERM to the parent, even if the whole process group receives it; start this process's tracing."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    start_tracing("codequarry-worker")


def _close_child(worker: Worker, **_: object) -> None:
    worker.close()
    stop_tracing()


def make_app(settings: SettingsModel, is_ending: Callable[[], bool] = lambda: False) -> tuple[Celery, Worker]:
    """Return the application and the worker that carries out its tasks; nothing is sent or opened yet."""
    check_queue(settings)
    app = Celery(APP, set_as_current=False)
    app.conf.update(celery_options(settings), broker_transport=TRANSPORT)
    app.conf.beat_schedule = SCHEDULE
    return app, register(app, settings, CeleryMessages(app, settings), is_ending)


def check_queue(settings: SettingsModel) -> None:
    """Raise UsageError if no queue is configured."""
    if settings.queue.url is None:
        raise UsageError("no queue is configured: set [queue] url, for example to redis://127.0.0.1:6379/0")


def run_worker(settings: SettingsModel, queues: Sequence[str], concurrency: int) -> int:
    """Run a worker until it is told to stop, and return its exit code."""
    stop_flag = _StopFlag()
    app, tasks = make_app(read_apart(_sharing_processors(settings, concurrency)), stop_flag)
    app.set_current()
    signals.setup_logging.connect(_keep_own_logging, weak=False)
    signals.worker_shutting_down.connect(stop_flag.set, weak=False)
    signals.worker_process_init.connect(_prepare_child, weak=False)
    signals.worker_process_shutdown.connect(partial(_close_child, tasks), weak=False)
    for name in ("celery.worker.strategy", "celery.app.trace"):
        logging.getLogger(name).setLevel(logging.WARNING)  # they log each message, we log each job
    options: dict[str, Any] = {
        "hostname": f"{APP}-{os.getpid()}@{socket.gethostname()}",
        "pool_cls": "prefork",
        "concurrency": concurrency,
        "queues": list(queues),
        "optimization": "fair",
        "quiet": True,
        "without_gossip": True,
        "without_mingle": True,
        "without_heartbeat": True,
    }
    worker = app.Worker(**options)
    log.info("worker begins", queues=list(queues), concurrency=concurrency)
    with _metrics_served(settings):
        worker.start()
    return int(worker.exitcode or 0)


@contextmanager
def _metrics_served(settings: SettingsModel) -> Iterator[None]:
    """Collect and serve the metrics of children that are forked in the block, if the settings name a port."""
    if settings.metrics.port is None:
        yield
        return
    with counted_together(), closing(MetricsServer(settings.metrics.host, settings.metrics.port)):
        start_counting()
        yield


def run_beat(settings: SettingsModel) -> None:
    """Send the periodic tasks until told to stop; no state is kept between runs."""
    app, _ = make_app(settings)
    messages = CeleryMessages(app, settings)

    class Reminders(Scheduler):  # type: ignore[misc]  # Celery has no types
        """Sends nothing while workers take no messages; an expiry would compare the clocks of two machines."""

        def apply_entry(self, entry: ScheduleEntry, producer: object = None) -> None:
            try:
                if messages.waiting_reminders() < MOST_REMINDERS:
                    super().apply_entry(entry, producer)
            except QueueUnavailable as error:
                log.warning("nobody is reminded", detail=str(error))

    service = Service(app, scheduler_cls=Reminders)

    def end(_: int, __: FrameType | None) -> None:
        service.stop()

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, end)
    logging.getLogger("celery.beat").setLevel(logging.WARNING)  # it logs every tick
    log.info("beat begins")
    with _metrics_served(settings):
        service.start()


def _sharing_processors(settings: SettingsModel, concurrency: int) -> SettingsModel:
    """Divide the processors among a worker's processes, unless the settings say how many each uses."""
    if settings.indexing.processes is not None:
        return settings
    share = max(1, processor_count() // concurrency)
    return settings.model_copy(update={"indexing": settings.indexing.model_copy(update={"processes": share})})


def _keep_own_logging(**_: object) -> None:
    """Do nothing: a receiver of this signal keeps Celery from setting up its own logging."""
