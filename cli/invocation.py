"""What every command is given: the settings of this run, and the store and model they name."""

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from codequarry.shared.config import LoadedSettings, SettingsModel
    from codequarry.shared.embedding.port import Embedder
    from codequarry.shared.store.port import Store


def examples(*lines: str) -> str:
    """Return the end of a command's help."""
    # The control character keeps the lines as they are.
    return "\b\nExamples:\n" + "\n".join(f"  codequarry {line}" for line in lines)


Json = Annotated[bool, typer.Option("--json", help="Print one JSON document (docs/cli.md describes it).")]


@dataclass(frozen=True, slots=True)
class Workplace:
    """An open store with the embedding model whose vectors it holds."""

    settings: "SettingsModel"
    embedder: "Embedder"
    store: "Store"


def load(context: typer.Context, overrides: Mapping[str, object] | None = None) -> "LoadedSettings":
    """Return the settings of this run: ``--set`` and the flags in ``overrides`` (key to value or None) count most."""
    from codequarry.shared.config import load_settings

    return load_settings(context.find_root().obj or (), overrides)


@contextmanager
def workplace(settings: "SettingsModel") -> Iterator[Workplace]:
    """Open the store and the model, and close both afterwards."""
    from codequarry.shared.embedding.factory import open_embedder
    from codequarry.shared.store.factory import open_store

    embedder = open_embedder(settings.embedding, settings.home / "models")
    try:
        if settings.store == "opensearch" or "stamina" in sys.modules:
            _tell_retries()
        store = open_store(settings, embedder.dimension)
        try:
            yield Workplace(settings, embedder, store)
        finally:
            store.close()
    finally:
        embedder.close()


def _tell_retries() -> None:
    """Tell the retries of a server on stderr: stdout is for the answer, and for nothing else.

    Without a server (who retries has imported stamina) nothing logs, and a tenth of a second is saved.
    """
    from codequarry.shared.logs import configure_logs

    configure_logs("warning", as_json=False)
