"""`codequarry index`: indexes a repository or a version of it."""

from collections.abc import Sequence
from dataclasses import asdict
from itertools import chain
from typing import TYPE_CHECKING, Annotated

import typer

from codequarry.cli.options.version_options import Names, PullNumbers, ref_from_options
from codequarry.cli.session.session import Json, load, workplace
from codequarry.cli.terminal import progress
from codequarry.cli.terminal.console import note, write_json
from codequarry.cli.terminal.failures import INTERRUPTED
from codequarry.shared.cyclic_garbage import search_garbage_rarely
from codequarry.shared.errors import UsageError

if TYPE_CHECKING:
    from codequarry.ingest.request.index_request import IndexReport, IndexRequest, Workshop


def index(
    context: typer.Context,
    origin: Annotated[str | None, typer.Argument(metavar="[PATH_OR_URL]", help="A folder or a git URL.")] = None,
    branch: Annotated[Names, typer.Option(metavar="B", help="A branch, as a layer over a commit.")] = None,
    tag: Annotated[Names, typer.Option(metavar="T", help="A tag.")] = None,
    commit: Annotated[Names, typer.Option(metavar="SHA", help="A commit, in full or abbreviated.")] = None,
    pull: Annotated[PullNumbers, typer.Option(metavar="N", min=1, help="A pull or merge request.")] = None,
    workspace: Annotated[Names, typer.Option(metavar="PATH", help="A working tree with local changes.")] = None,
    default: Annotated[bool, typer.Option("--default", help="Make it the branch searched by default.")] = False,
    name: Annotated[str | None, typer.Option(metavar="NAME", help="Name in the index; default: the origin's.")] = None,
    full: Annotated[bool, typer.Option("--full", help="Start over; forget earlier commits.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Estimate the cost and change nothing.")] = False,
    max_chunks: Annotated[int | None, typer.Option(min=1, metavar="N", help="Stop above N chunks.")] = None,
    max_tokens: Annotated[int | None, typer.Option(min=1, metavar="N", help="Stop above N tokens to embed.")] = None,
    context_window: Annotated[
        int | None, typer.Option(min=16, metavar="N", help="Tokens that the model reads at once.")
    ] = None,
    stride_window: Annotated[
        int | None, typer.Option(min=16, metavar="N", help="Tokens per stride of a chunk longer than that.")
    ] = None,
    stride_overlap: Annotated[
        int | None, typer.Option(min=0, metavar="N", help="Tokens that neighbouring strides share.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Index a repository or one version of it, or bring it up to date.

    Reads git objects, not the working tree: only committed files are indexed. A second run reads only what changed. If
    a run is interrupted, the next run resumes it.

    A branch, tag, commit, pull request or working tree becomes a layer over an indexed commit and costs only its diff.
    A version that the origin no longer has is dropped.
    """
    search_garbage_rarely()
    strides = {"context_window": context_window, "stride_window": stride_window, "stride_overlap": stride_overlap}
    settings = load(context, {f"embedding.{name}": value for name, value in strides.items()}).settings
    from codequarry.ingest.request.index_request import IndexRequest, Workshop

    ref = ref_from_options(branch=branch, tag=tag, commit=commit, pull=pull, workspace=workspace)
    if origin is None and not workspace:
        raise UsageError("give the path of a git repository or its URL, or --workspace PATH")
    if default and not branch:
        raise UsageError("--default needs --branch, which names the new default branch")
    request = IndexRequest(origin or "", ref, name, full, max_chunks, max_tokens, default, checked_out=True)
    with workplace(settings, writing=True, migrating=not dry_run) as place:
        workshop = Workshop(place.store, place.embedder, settings)
        try:
            (_estimate if dry_run else _index)(request, workshop, as_json)
        except KeyboardInterrupt:
            note("stopped; nothing was published. Run the same command again to resume.")
            raise typer.Exit(INTERRUPTED) from None


def _index(request: "IndexRequest", workshop: "Workshop", as_json: bool) -> None:
    from codequarry.cli.terminal.index_report import show_report
    from codequarry.ingest.run.pipeline import index_repository

    with progress.shown() as observe:
        report = index_repository(request, workshop, observe)
    report = _erased(report, workshop)
    for part in (report.default_branch, report):
        for text in (part.name_note, part.version_note) if part else ():
            if text:
                note(f"note: {text}")
    _warn(*(part.warnings for part in (report.default_branch, report) if part))
    if as_json:
        write_json(asdict(report))
    else:
        show_report(report)


def _warn(*warnings: Sequence[str]) -> None:
    """Write warnings to stderr, once if several versions have the same."""
    for warning in dict.fromkeys(chain(*warnings)):
        note(f"warning: {warning}")


def _erased(report: "IndexReport", workshop: "Workshop") -> "IndexReport":
    """Wait until rows from before secrets were masked may be deleted, then delete them."""
    if report.erased or report.unmasked:
        return report
    from dataclasses import replace
    from time import sleep

    from codequarry.ingest.run.remasking import finish_masking

    seconds = workshop.settings.retention.grace_seconds
    note(f"rows with unmasked secrets will be deleted in {seconds:g} s, when running searches have ended")
    sleep(seconds)
    return replace(report, erased=finish_masking(workshop, report.repo))


def _estimate(request: "IndexRequest", workshop: "Workshop", as_json: bool) -> None:
    from codequarry.cli.terminal.index_report import estimate_to_json, show_estimate
    from codequarry.ingest.run.estimate import estimate

    with progress.shown() as observe:
        found = estimate(request, workshop, observe)
    _warn(found.warnings)
    if as_json:
        write_json(estimate_to_json(found))
    else:
        show_estimate(found)
