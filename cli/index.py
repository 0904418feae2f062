"""`codequarry index`: a repository from git into the index."""

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from codequarry.cli import progress
from codequarry.cli.console import count, duration, note, safe_line, skips, write, write_json
from codequarry.cli.failures import INTERRUPTED
from codequarry.cli.invocation import Json, load, workplace
from codequarry.cli.versions import asked_ref
from codequarry.shared.errors import UsageError

if TYPE_CHECKING:
    from codequarry.ingest.report import IndexReport, IndexRequest, Workshop

SHORT_COMMIT = 12


def index(
    context: typer.Context,
    origin: Annotated[str, typer.Argument(metavar="PATH_OR_URL", help="A folder, or a URL that git can clone.")],
    branch: Annotated[str | None, typer.Option(metavar="B", help="A branch, as a layer over what is indexed.")] = None,
    tag: Annotated[str | None, typer.Option(metavar="T", help="A tag.")] = None,
    commit: Annotated[str | None, typer.Option(metavar="SHA", help="A commit, in full or its first digits.")] = None,
    pull: Annotated[int | None, typer.Option(metavar="N", min=1, help="A pull or merge request.")] = None,
    default: Annotated[
        bool, typer.Option("--default", help="Make the branch the one that the repository is searched at.")
    ] = False,
    name: Annotated[str | None, typer.Option(metavar="NAME", help="Name in the index; the origin's if unset.")] = None,
    full: Annotated[bool, typer.Option("--full", help="Start over instead of going on from what is indexed.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what it would take, and change nothing.")] = False,
    max_chunks: Annotated[int | None, typer.Option(min=1, metavar="N", help="Stop if there are more chunks.")] = None,
    max_tokens: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Stop if more tokens would have to be embedded.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Index a repository, or bring it up to date.

    Reads git objects, not the working tree: what is committed is indexed. A second run reads only what
    changed. Stopped at any moment, the next run goes on where it was.
    """
    settings = load(context).settings
    from codequarry.ingest.report import IndexRequest, Workshop

    ref = asked_ref(branch=branch, tag=tag, commit=commit, pull=pull)
    if default and branch is None:
        raise UsageError("--default needs --branch: it says which branch becomes the default one")
    request = IndexRequest(origin, ref, name, full, max_chunks, max_tokens, default)
    with workplace(settings) as place:
        workshop = Workshop(place.store, place.embedder, settings)
        try:
            (_estimate if dry_run else _index)(request, workshop, as_json)
        except KeyboardInterrupt:
            note("stopped; nothing was published. Run the same command again to go on.")
            raise typer.Exit(INTERRUPTED) from None


def _index(request: "IndexRequest", workshop: "Workshop", as_json: bool) -> None:
    from codequarry.ingest.pipeline import index_repository

    with progress.shown() as observe:
        report = index_repository(request, workshop, observe)
    if report.name_note:
        note(f"note: {report.name_note}")
    if as_json:
        write_json(asdict(report))
    else:
        _show(report)


def _show(report: "IndexReport") -> None:
    where = f"{safe_line(report.repo)}: {safe_line(report.ref)} at {report.commit[:SHORT_COMMIT]}"
    if not report.changed:
        write(f"{where}, nothing new ({duration(report.seconds)})")
        return
    how = " (resumed)" if report.resumed else " (from the start)" if report.full else ""
    write(f"{where}, indexed in {duration(report.seconds)}{how}")
    if report.previous_commit and not report.full:
        changed = count(report.files_changed + report.files_removed, "changed path")
        removed = f", {report.files_removed:,} of them removed" if report.files_removed else ""
        write(f"  since {report.previous_commit[:SHORT_COMMIT]}: only {changed}{removed}")
    skipped = skips(report.skipped)
    write(f"  files       {report.files_indexed:,} indexed{f', {skipped}' if skipped else ', none skipped'}")
    write(f"  chunks      {report.chunks_live:,}, {report.chunks_written:,} of them new")
    write(f"  embeddings  {report.embedded:,} made, {report.reused_embeddings:,} reused")


def _estimate(request: "IndexRequest", workshop: "Workshop", as_json: bool) -> None:
    from codequarry.cli.estimates import estimate_to_json, show_estimate
    from codequarry.ingest.estimate import estimate

    with progress.shown() as observe:
        found = estimate(request, workshop, observe)
    if as_json:
        write_json(estimate_to_json(found))
    else:
        show_estimate(found)
