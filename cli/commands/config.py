"""`codequarry config`: the effective settings and where each comes from."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import typer

from codequarry.cli.session.session import Json, load
from codequarry.cli.terminal.console import safe_line, write, write_json, write_table

if TYPE_CHECKING:
    from codequarry.shared.settings.config import LoadedSettings

DEFAULT = "default"


@dataclass(frozen=True, slots=True)
class SettingRow:
    """One effective setting, with secrets masked."""

    key: str
    value: object
    source: str


def rows(loaded: "LoadedSettings") -> list[SettingRow]:
    """Return every setting in the order of the settings model, with secrets masked."""
    from codequarry.shared.settings.config import LEAVES
    from codequarry.shared.settings.sources import MASK, is_secret, without_accounts

    values = loaded.settings.model_dump(mode="json")
    shown = []
    for key, field in LEAVES.items():
        value = values
        for part in key.split("."):
            value = value[part]
        masked = MASK if is_secret(field) and value else without_accounts(value)
        shown.append(SettingRow(key, masked, loaded.sources.get(key, DEFAULT)))
    return shown


def config(context: typer.Context, as_json: Json = False) -> None:
    """Show the settings and where each comes from.

    Later sources win: defaults, a TOML file (CODEQUARRY_CONFIG, ./codequarry.toml or config.toml in the data
    folder), CODEQUARRY_ variables, --set. Secrets are masked.
    """
    loaded = load(context)
    shown = rows(loaded)
    if as_json:
        settings = {row.key: {"value": row.value, "source": row.source} for row in shown}
        write_json({"file": str(loaded.file) if loaded.file else None, "settings": settings})
        return
    write(f"settings file: {safe_line(str(loaded.file)) if loaded.file else 'none'}\n")
    write_table([(row.key, _text(row.value), row.source) for row in shown])


def _text(value: object) -> str:
    if value is None or value == [] or value == {}:
        return "-"
    if isinstance(value, list) and all(isinstance(part, str) for part in value):
        return ", ".join(value)
    return str(value)
