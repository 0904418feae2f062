"""`codequarry migrate`: moves the index to another embedding model, or to the current format."""

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

# At most this many refused files are printed; --json has all.
REFUSED_SHOWN = 10


def migrate(
    context: typer.Context,
    model: Annotated[
        str | None,
        typer.Option(metavar="MODEL", help="Model to move to (codequarry models); from the settings by default."),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Estimate the cost and change nothing.")] = False,
    schema: Annotated[bool, typer.Option("--schema", help="Instead, upgrade an index from an older version.")] = False,
    as_json: Json = False,
) -> None:
    """Move the index to another embedding model.

    Fills a second index from the stored text, without cloning. Searches and imports continue, and the new index takes
    over when it is complete. If interrupted, run the same command again to resume.
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
    before, after = _upgrade_opensearch(settings) if settings.store == "opensearch" else _upgrade_embedded(settings)
    if as_json:
        write_json({"before": before, "after": after})
    else:
        write(f"the index has format {after}" + (f", upgraded from {before}" if before != after else ""))


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
        write(f"nothing to move: {'the index already uses that model' if report.previous else 'the index is empty'}")
    else:
        how = " (resumed)" if report.resumed else ""
        write(f"moved to {report.name}, {report.dimension} dimensions, in {duration(report.seconds)}{how}")
        write(f"  copied      {count(report.files, 'file')}, {count(report.chunks, 'chunk')}, including old versions")
        write(f"  embeddings  {report.embedded:,} made, {report.reused_embeddings:,} reused")
    if report.refused:
        write(f"  refused     {count(len(report.refused), 'file')} that the model rejects")
        for path, why in report.refused[:REFUSED_SHOWN]:
            write(f"    {safe_line(path)}: {safe_line(why)}")
    if settings.embedding.model != report.model:
        note(f'searches use it now; for imports, also set [embedding] model = "{report.model}"')


def _estimate(settings: "SettingsModel", model: str, as_json: bool) -> None:
    from codequarry.ingest.migration.estimate import estimate_migration

    found = estimate_migration(settings, model)
    if as_json:
        write_json(asdict(found))
    else:
        _show_estimate(found)


def _show_estimate(found: "MigrationEstimate") -> None:
    if not found.files:
        write(f"nothing to move: {'the index already uses that model' if found.previous else 'the index is empty'}")
        return
    write(f"moving to {found.name} would take about {duration(found.seconds)}")
    write(f"  copied      {count(found.files, 'file')}, {count(found.chunks, 'chunk')}, including old versions")
    cost = "" if found.cost is None else f", about {found.cost:.2f} at the configured price"
    write(f"  embeddings  {found.texts:,} texts of about {found.tokens:,} tokens{cost}")
