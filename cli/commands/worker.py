"""`codequarry worker`: does the jobs that others ask for."""

from typing import Annotated

import typer

from codequarry.cli.session.session import load
from codequarry.shared.errors import UnknownName


def worker(
    context: typer.Context,
    concurrency: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Jobs and batches at once [queue.concurrency].")
    ] = None,
    queues: Annotated[
        str | None, typer.Option(metavar="NAMES", help="Only these of control, scan, index, embed; all if unset.")
    ] = None,
) -> None:
    """Do the jobs that the service, webhooks and other commands ask for.

    Needs [queue] url and an index that all share. Run as many as you like, on any number of machines, and one
    `codequarry beat`. SIGTERM lets each end its step and leave the rest for others (docs/operators/running.md).
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
