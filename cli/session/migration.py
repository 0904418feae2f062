"""A migration with its progress on stderr, as the command runs it and as the settings may ask for it."""

from typing import TYPE_CHECKING

import typer

from codequarry.cli.terminal import progress
from codequarry.cli.terminal.console import note
from codequarry.cli.terminal.failures import INTERRUPTED

if TYPE_CHECKING:
    from codequarry.ingest.migration.migrate import MigrationReport
    from codequarry.shared.settings.config import SettingsModel


def migrate_to(settings: "SettingsModel", model: str) -> "MigrationReport":
    """Move the index with progress on stderr; Ctrl-C says how to go on."""
    from codequarry.ingest.migration.migrate import migrate as run

    try:
        with progress.shown() as observe:
            return run(settings, model, observe)
    except KeyboardInterrupt:
        note(f"stopped; searches go on with the old model. To go on: codequarry migrate --model {model}")
        raise typer.Exit(INTERRUPTED) from None
