"""A migration with progress on stderr, started by the command or by ``on_model_change`` in the settings."""

from typing import TYPE_CHECKING

import typer

from codequarry.cli.terminal import progress
from codequarry.cli.terminal.console import note
from codequarry.cli.terminal.failures import INTERRUPTED

if TYPE_CHECKING:
    from codequarry.ingest.migration.migrate import MigrationReport
    from codequarry.shared.settings.config import SettingsModel


def migrate_to(settings: "SettingsModel", model: str) -> "MigrationReport":
    """Migrate the index with progress on stderr; after Ctrl-C, print how to resume."""
    from codequarry.ingest.migration.migrate import migrate as run

    try:
        with progress.shown() as observe:
            return run(settings, model, observe)
    except KeyboardInterrupt:
        note(f"stopped; searches still use the old model. To resume: codequarry migrate --model {model}")
        raise typer.Exit(INTERRUPTED) from None
