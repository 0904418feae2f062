"""`codequarry migrate`: the index goes on with another embedding model."""

from contextlib import closing
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from codequarry.cli.session.migration import migrate_to
from codequarry.cli.session.session import Json, load
from codequarry.cli.terminal.console import count, duration, note, safe_line, write, write_json
from codequarry.shared.known_models import resolve_model_folder

if TYPE_CHECKING:
    from codequarry.ingest.migration.estimate import MigrationEstimate
    from codequarry.ingest.migration.migrate import MigrationReport
    from codequarry.shared.settings.config import SettingsModel

# Of the files that a model refuses, so many are named; --json has all.
REFUSED_SHOWN = 10


def migrate(
    context: typer.Context,
    model: Annotated[
        str | None,
        typer.Option(metavar="MODEL", help="Model to move to (codequarry models); that of the settings if unset."),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what it would take, and change nothing.")] = False,
    schema: Annotated[
        bool, typer.Option("--schema", help="Bring an index that an older version made up to date instead.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Move the index to another embedding model.

    A new index is filled from the stored text, without any clone, beside the old one; searches and imports go on, and
    the new one takes over when it is complete. Stopped at any moment, the same command goes on where it was.
    """
    settings = load(context).settings
    if schema:
        _upgrade(settings, as_json)
        return
    wanted = model or settings.embedding.model
    if model and not settings.embedding.base_url:
        wanted = resolve_model_folder(model, Path.cwd())
    if dry_run:
        _estimate(settings, wanted, as_json)
        return
    report = migrate_to(settings, wanted)
    if as_json:
        write_json(asdict(report) | {"refused": [{"path": path, "reason": why} for path, why in report.refused]})
    else:
        _show(report, settings)


def _upgrade(settings: "SettingsModel", as_json: bool) -> None:
    """Bring the active edition of the index up to date."""
    before, after = _upgrade_opensearch(settings) if settings.store == "opensearch" else _upgrade_embedded(settings)
    if as_json:
        write_json({"before": before, "after": after})
    else:
        write(f"the index is of format {after}" + (f"; it was {before}" if before != after else ""))


def _upgrade_opensearch(settings: "SettingsModel") -> tuple[int, int]:
    from codequarry.shared.store.opensearch.editions import OpenSearchEditions

    with closing(OpenSearchEditions(settings.opensearch)) as editions:
        return editions.upgrade()


def _upgrade_embedded(settings: "SettingsModel") -> tuple[int, int]:
    from codequarry.shared.store.embedded.editions import EmbeddedEditions
    from codequarry.shared.store.embedded.folder_format import upgrade_folder

    return upgrade_folder(EmbeddedEditions(settings.home.expanduser()).active_folder())


def _show(report: "MigrationReport", settings: "SettingsModel") -> None:
    if not report.moved:
        write(f"nothing to move: {'the index has that model' if report.previous else 'the index is empty'}")
    else:
        how = " (resumed)" if report.resumed else ""
        write(f"moved to {report.name}, {report.dimension} dimensions, in {duration(report.seconds)}{how}")
        write(f"  copied      {count(report.files, 'file')}, {count(report.chunks, 'chunk')}, old versions among them")
        write(f"  embeddings  {report.embedded:,} made, {report.reused_embeddings:,} reused")
    if report.refused:
        write(f"  refused     {count(len(report.refused), 'file')} that the model does not take")
        for path, why in report.refused[:REFUSED_SHOWN]:
            write(f"    {safe_line(path)}: {safe_line(why)}")
    if settings.embedding.model != report.model:
        note(f'searches use it now; for imports set it too: [embedding] model = "{report.model}"')


def _estimate(settings: "SettingsModel", model: str, as_json: bool) -> None:
    from codequarry.ingest.migration.estimate import estimate_migration

    found = estimate_migration(settings, model)
    if as_json:
        write_json(asdict(found))
    else:
        _show_estimate(found)


def _show_estimate(found: "MigrationEstimate") -> None:
    if not found.files:
        write(f"nothing to move: {'the index has that model' if found.previous else 'the index is empty'}")
        return
    write(f"moving to {found.name} would take about {duration(found.seconds)}")
    write(f"  copied      {count(found.files, 'file')}, {count(found.chunks, 'chunk')}, old versions among them")
    cost = "" if found.cost is None else f", about {found.cost:.2f} at the price that is set"
    write(f"  embeddings  {found.texts:,} texts of about {found.tokens:,} tokens{cost}")
