"""`codequarry worker`: runs jobs of the queue."""

from typing import Annotated

import typer

from codequarry.cli.session.session import load
from codequarry.shared.errors import UnknownName


def worker(
    context: typer.Context,
    concurrency: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Jobs and batches to run at once [queue.concurrency].")
    ] = None,
    queues: Annotated[
        str | None, typer.Option(metavar="NAMES", help="Queues to serve: control, scan, index, embed; default: all.")
    ] = None,
) -> None:
    """Run the jobs that the service, webhooks and other commands submit.

    Needs [queue] url and an index that all workers share. Run any number of workers on any number of machines, and
    one `codequarry beat`. On SIGTERM a worker finishes its step and leaves the rest to others
    (docs/operators/running.md).
    """
    settings = load(context, {"queue.concurrency": concurrency}).settings
    from codequarry.shared.queue.messages import QUEUES
    from codequarry.shared.telemetry.logs import configure_logs

    named = [name.strip() for name in queues.split(",")] if queues else list(QUEUES)
    for name in named:
        if name not in QUEUES:
            raise UnknownName("queue", name, QUEUES)
    configure_logs()
    from codequarry.ingest.workers.app import run_worker

    raise typer.Exit(run_worker(settings, named, settings.queue.concurrency))
