"""`codequarry fsck`: compares the index with its checksums and with git."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from codequarry.cli.options.search_options import Branch, Commit, Pull, Tag, Workspace, version_query
from codequarry.cli.session.session import Json, load, workplace
from codequarry.cli.terminal import progress, repair_report
from codequarry.cli.terminal.console import count, note, safe_line, short, write, write_json, write_table
from codequarry.cli.terminal.failures import FAILED

if TYPE_CHECKING:
    from codequarry.ingest.fsck.files import Inconsistency
    from codequarry.ingest.fsck.versions import FsckReport
    from codequarry.ingest.repair.report import RepairReport
    from codequarry.ingest.request.index_request import Workshop
    from codequarry.search_api.query.version_query import VersionQuery
    from codequarry.shared.settings.config import SettingsModel
    from codequarry.shared.store.port import Store
    from codequarry.shared.versions.transactions import TransactionRecord

Found = TypeVar("Found")

# At most this many problems are printed; --json has all.
MOST_SHOWN = 50


@dataclass(frozen=True, slots=True)
class _Asked:
    repo: str
    version: "VersionQuery"
    full_text: bool
    repair: bool


def fsck(
    context: typer.Context,
    repo: Annotated[
        str | None,
        typer.Argument(metavar="[REPO]", help="Name of an indexed repository; without it only the store is checked."),
    ] = None,
    branch: Branch = None,
    tag: Tag = None,
    commit: Commit = None,
    pull: Pull = None,
    workspace: Workspace = None,
    full_text: Annotated[bool, typer.Option("--full-text", help="Compare the text of all files, not 200.")] = False,
    repair: Annotated[bool, typer.Option("--repair", help="Repair the newest commit, and a damaged store.")] = False,
    as_json: Json = False,
) -> None:
    """Compare the store with its checksums, and the index with git: path by path, blob by blob.

    Fetches nothing and, without --repair, changes nothing. Exit 1 if anything is wrong.
    """
    version = version_query(branch, tag, commit, pull, workspace)
    settings = load(context).settings
    if repo is None:
        _fsck_store(settings, repair=repair, as_json=as_json)
    else:
        _fsck_version(settings, _Asked(repo, version, full_text, repair), as_json=as_json)


def _fsck_version(settings: "SettingsModel", asked: _Asked, *, as_json: bool) -> None:
    rebuilt, (found, left) = _inspect(settings, asked.repair, as_json, lambda workshop: _look(workshop, asked))
    if as_json:
        write_json(_body(found, left, repair=asked.repair) | repair_report.body(rebuilt))
    else:
        _show(found, left, asked.repo, repair=asked.repair)
    if left.problems or (rebuilt and rebuilt.lost):
        raise typer.Exit(FAILED)


def _look(workshop: "Workshop", asked: _Asked) -> "tuple[FsckReport, FsckReport]":
    """Check a version, and repair it on request; return the report before and the report after."""
    found = _check(workshop, asked)
    return found, _repair(workshop, found, asked) if asked.repair and found.problems else found


def _fsck_store(settings: "SettingsModel", *, repair: bool, as_json: bool) -> None:
    rebuilt, (found, left) = _inspect(settings, repair, as_json, lambda workshop: _look_at_store(workshop, repair))
    if as_json:
        repaired = {"repaired": [_problem(problem) for problem in found]} if repair else {}
        body = {"clean": not left, "problems": [_problem(problem) for problem in left], **repaired}
        write_json(body | repair_report.body(rebuilt))
    else:
        write(f"store: {'clean' if not left else count(len(left), 'problem')}")
        _list(tuple(left))
    if left or (rebuilt and rebuilt.lost):
        raise typer.Exit(FAILED)


def _look_at_store(workshop: "Workshop", repair: bool) -> "tuple[list[Inconsistency], list[Inconsistency]]":
    from codequarry.ingest.fsck.storage import check_readable, check_storage, mend_vectors

    found = check_storage(workshop.store)
    if repair:
        check_readable(found)
    if not repair or not any(problem.kind == "vectors" for problem in found):
        return found, found
    note(f"store: {count(mend_vectors(workshop), 'vector')} rebuilt")
    return found, check_storage(workshop.store)


def _inspect(
    settings: "SettingsModel", repair: bool, as_json: bool, look: "Callable[[Workshop], Found]"
) -> "tuple[RepairReport | None, Found]":
    """Return what ``look`` finds; if the database is damaged and may be repaired, rebuild it first."""
    from codequarry.shared.errors import CodequarryError, StoreDamaged

    try:
        seen = _with_workshop(settings, look)
        if repair and settings.store == "embedded":
            repair_report.drop_unfinished(settings)
        return None, seen
    except StoreDamaged:
        if not repair or settings.store != "embedded":
            raise
    rebuilt = repair_report.rebuild(settings)
    if not as_json:
        repair_report.show(rebuilt)
    try:
        return rebuilt, _with_workshop(settings, look)
    except CodequarryError:
        if as_json:
            write_json({"clean": False, "problems": []} | repair_report.body(rebuilt))
        raise


def _with_workshop(settings: "SettingsModel", look: "Callable[[Workshop], Found]") -> "Found":
    from codequarry.ingest.request.index_request import Workshop

    with workplace(settings) as place:
        return look(Workshop(place.store, place.embedder, settings))


def _check(workshop: "Workshop", asked: _Asked) -> "FsckReport":
    from codequarry.ingest.fsck.versions import check_version

    record = _record(workshop.store, asked.repo, asked.version)
    with progress.shown() as observe:
        return check_version(record, workshop, observe, full_text=asked.full_text)


def _repair(workshop: "Workshop", found: "FsckReport", asked: _Asked) -> "FsckReport":
    from codequarry.ingest.fsck.versions import repair_version

    with progress.shown() as observe:
        repair_version(found, workshop, observe)
    return _check(workshop, asked)


def _record(store: "Store", repo: str, version: "VersionQuery") -> "TransactionRecord":
    """Return the record of a published version; raise NotIndexed, which names the indexed versions."""
    from codequarry.search_api.versions.catalog import Catalog
    from codequarry.search_api.versions.resolution import one_version
    from codequarry.shared.catalog.ledger import read_transaction
    from codequarry.shared.errors import NotIndexed

    view = one_version(Catalog(store), repo, version).view
    record = read_transaction(store, view.timeline, view.number)
    if record is None:
        raise NotIndexed(f"{repo} at {view.commit} has just expired")
    return record


def _body(found: "FsckReport", left: "FsckReport", *, repair: bool) -> dict[str, Any]:
    record = left.record
    body = {
        "repo": record.repo,
        "ref": record.ref,
        "commit": record.commit,
        "clean": not left.problems,
        "files": left.files,
        "texts": left.texts,
        "same_rules": left.same_rules,
        "problems": [_problem(problem) for problem in left.problems],
    }
    return body | ({"repaired": [_problem(problem) for problem in found.problems]} if repair else {})


def _problem(problem: "Inconsistency") -> dict[str, str]:
    return {"kind": problem.kind, "path": problem.path, "detail": problem.detail}


def _show(found: "FsckReport", left: "FsckReport", repo: str, *, repair: bool) -> None:
    record = left.record
    if repair and found.problems:
        write(f"{safe_line(repo)}: {count(len(found.problems), 'problem')} found, repair attempted")
    compared = f"{count(left.files, 'file')} compared, {left.texts:,} of them with their text"
    write(f"{safe_line(repo)}: {safe_line(record.ref)} at {short(record.commit)}, {compared}")
    if not left.same_rules:
        note("note: the settings have changed since these files were judged, so verdicts were not compared")
    if not left.problems:
        write("  clean")
        return
    _list(left.problems)
    paths = count(len(left.wrong_paths), "path")
    note(f"{count(len(left.problems), 'problem')} in {paths}" + ("" if repair else f"; {_remedy(left, repo)}"))


def _list(problems: "tuple[Inconsistency, ...]") -> None:
    from codequarry.ingest.fsck.files import KINDS

    write_table([("  " + problem.kind, problem.path, problem.detail) for problem in problems[:MOST_SHOWN]])
    if len(problems) > MOST_SHOWN:
        write(f"  and {len(problems) - MOST_SHOWN:,} more (--json lists them all)")
    for kind in dict.fromkeys(problem.kind for problem in problems):
        note(f"  {kind}: {KINDS[kind]}")


def _remedy(left: "FsckReport", repo: str) -> str:
    if any(problem.kind == "counter" for problem in left.problems):
        return "restore catalog and rows from the same backup, or index again into an empty store"
    return f"codequarry fsck {safe_line(repo)} --repair repairs the newest commit of a version"
