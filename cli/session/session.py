"""What every command needs: the settings for this run, and the store and model that they name."""

import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from codequarry.shared.embedding.port import Embedder
    from codequarry.shared.index.opened_index import OpenIndex
    from codequarry.shared.settings.config import LoadedSettings, SettingsModel
    from codequarry.shared.store.editions import Editions
    from codequarry.shared.store.port import Store


def examples(*lines: str) -> str:
    """Return the examples at the end of a command's help."""
    # The control character prevents rewrapping of the lines.
    return "\b\nExamples:\n" + "\n".join(f"  codequarry {line}" for line in lines)


Json = Annotated[bool, typer.Option("--json", help="Print one JSON document (docs/cli.md describes it).")]


@dataclass(frozen=True, slots=True)
class Workplace:
    """An open index: a store and the model that made it. Every answer must report ``degraded``."""

    settings: "SettingsModel"
    embedder: "Embedder"
    store: "Store"
    degraded: tuple[str, ...] = ()


def load(context: typer.Context, overrides: Mapping[str, object] | None = None) -> "LoadedSettings":
    """Return the settings for this run; ``--set`` and the flags in ``overrides`` (key to value or None) win."""
    from codequarry.shared.settings.config import load_settings

    return load_settings(context.find_root().obj or (), overrides)


@contextmanager
def workplace(settings: "SettingsModel", *, writing: bool = False, migrating: bool = True) -> Iterator[Workplace]:
    """Open the index and its model, and close both afterwards.

    ``writing`` uses the configured model. If the index was made with a different model, raise ModelMismatch, unless
    ``migrating`` allows the migration that [embedding] on_model_change requests; the migration then runs first.
    """
    from codequarry.shared.index.opened_index import open_index
    from codequarry.shared.store.factory import editions_of

    # Only retries log here. Skipping this when nothing retries (stamina is not imported) saves a tenth of a second.
    if settings.store == "opensearch" or "stamina" in sys.modules:
        log_warnings()
    with _place_of_index(settings, writing) as place:
        with closing(editions_of(place)) as editions:
            index = _open_to_write(settings, editions, migrating) if writing else open_index(settings, editions)
        try:
            yield Workplace(settings, index.embedder, index.store, index.degraded)
        finally:
            index.close()


@contextmanager
def _place_of_index(settings: "SettingsModel", writing: bool) -> Iterator["SettingsModel"]:
    """Yield the settings that say where the index is; reading without a data folder uses an empty temporary folder."""
    if writing or settings.store != "embedded" or settings.home.exists():
        yield settings
        return
    with tempfile.TemporaryDirectory(prefix="codequarry-") as folder:
        yield settings.model_copy(update={"home": Path(folder)})


def _open_to_write(settings: "SettingsModel", editions: "Editions", migrating: bool) -> "OpenIndex":
    from codequarry.ingest.migration.leftovers import remove_left_editions
    from codequarry.shared.errors import ModelMismatch
    from codequarry.shared.index.opened_index import open_index_to_write

    remove_left_editions(editions, settings.retention.grace_seconds)
    try:
        return open_index_to_write(settings, editions)
    except ModelMismatch:
        if not migrating or settings.embedding.on_model_change != "migrate":
            raise
    from codequarry.cli.session.migration import migrate_to

    migrate_to(settings, settings.embedding.model)
    return open_index_to_write(settings, editions)


def log_warnings() -> None:
    """Log warnings to stderr; stdout is for the answer only."""
    from codequarry.shared.telemetry.logs import configure_logs

    configure_logs("warning", as_json=False)
