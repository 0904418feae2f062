"""`codequarry beat`: reminds the workers of what is to be done every few seconds."""

import typer

from codequarry.cli.session.session import load


def beat(context: typer.Context) -> None:
    """Remind the workers of lost jobs, of those that nobody was told of, of old ones, and of origins to be asked.

    Needs [queue] url. Run one; while none runs, jobs are done, but lost ones wait.
    """
    settings = load(context).settings
    from codequarry.shared.telemetry.logs import configure_logs

    configure_logs()
    from codequarry.ingest.workers.app import run_beat

    run_beat(settings)
