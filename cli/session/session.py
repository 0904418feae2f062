"""What every command is given: the settings of this run, and the store and model they name."""

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
    """Return the end of a command's help."""
    # The control character keeps the lines as they are.
    return "\b\nExamples:\n" + "\n".join(f"  codequarry {line}" for line in lines)


Json = Annotated[bool, typer.Option("--json", help="Print one JSON document (docs/cli.md describes it).")]


@dataclass(frozen=True, slots=True)
class Workplace:
    """An open index: a store with the model that made it; ``degraded`` is what every answer has to say of it."""

    settings: "SettingsModel"
    embedder: "Embedder"
    store: "Store"
    degraded: tuple[str, ...] = ()


def load(context: typer.Context, overrides: Mapping[str, object] | None = None) -> "LoadedSettings":
    """Return the settings of this run: ``--set`` and the flags in ``overrides`` (key to value or None) count most."""
    from codequarry.shared.settings.config import load_settings

    return load_settings(context.find_root().obj or (), overrides)


@contextmanager
def workplace(settings: "SettingsModel", *, writing: bool = False, migrating: bool = True) -> Iterator[Workplace]:
    """Open the index and its model, and close both afterwards.

    ``writing`` takes the model of the settings: ModelMismatch where the index was made with another one, unless
    [embedding] on_model_change asks for a migration, which is made first where the command is ``migrating``.
    """
    from codequarry.shared.index.opened_index import open_index
    from codequarry.shared.store.factory import editions_of

    # For retries. Without a server (who retries has imported stamina) nothing logs: a tenth of a second is saved.
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
    """Give the settings that say where the index is: who only reads makes no data folder where there is none.

    Then an empty index in a folder that is removed again gives the answers.
    """
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
    """Log warnings to stderr: stdout is for the answer, and for nothing else."""
    from codequarry.shared.telemetry.logs import configure_logs

    configure_logs("warning", as_json=False)
