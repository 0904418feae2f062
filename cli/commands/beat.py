"""`codequarry beat`: sends workers their periodic tasks."""

import typer

from codequarry.cli.session.session import load


def beat(context: typer.Context) -> None:
    """Send workers their periodic tasks: requeue lost jobs, announce waiting jobs, delete old jobs, poll origins.

    Needs [queue] url. Run exactly one beat. Without it, workers still run new jobs, but lost jobs are not resumed.
    """
    settings = load(context).settings
    from codequarry.shared.telemetry.logs import configure_logs

    configure_logs()
    from codequarry.ingest.workers.app import run_beat

    run_beat(settings)
