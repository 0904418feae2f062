"""`codequarry fsck`: the index against git."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from codequarry.cli import progress
from codequarry.cli.asking import Branch, Commit, Pull, Tag, Workspace, version_query
from codequarry.cli.console import count, note, safe_line, write, write_json, write_table
from codequarry.cli.failures import FAILED
from codequarry.cli.invocation import Json, load, workplace

if TYPE_CHECKING:
    from codequarry.ingest.fsck.files import Problem
    from codequarry.ingest.fsck.versions import FsckReport
    from codequarry.ingest.report import Workshop
    from codequarry.search_api.versions import VersionQuery
    from codequarry.shared.store.port import Store
    from codequarry.shared.versions.transactions import TransactionRecord

SHORT_COMMIT = 12
# More than a person reads at once; --json has all.
MOST_SHOWN = 50


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
    full_text: Annotated[
        bool, typer.Option("--full-text", help="Compare the text of every file, not of 200 picked at random.")
    ] = False,
    repair: Annotated[bool, typer.Option("--repair", help="Mend what is wrong with the newest commit.")] = False,
    as_json: Json = False,
) -> None:
    """Compare the store with its checksums, and the index with git: path by path, blob by blob.

    Nothing is fetched and, without --repair, nothing changed. Exit 1 if anything is wrong.
    """
    version = version_query(branch, tag, commit, pull, workspace)
    settings = load(context).settings
    from codequarry.ingest.report import Workshop

    with workplace(settings) as place:
        workshop = Workshop(place.store, place.embedder, settings)
        if repo is None:
            _check_store(workshop, repair=repair, as_json=as_json)
            return
        found = _check(workshop, repo, version, full_text=full_text)
        left = _repair(workshop, found, repo, version, full_text=full_text) if repair and found.problems else found
    if as_json:
        write_json(_body(found, left, repair=repair))
    else:
        _show(found, left, repo, repair=repair)
    if left.problems:
        raise typer.Exit(FAILED)


def _check_store(workshop: "Workshop", *, repair: bool, as_json: bool) -> None:
    """Look for damage in all that is stored, whatever repository it belongs to."""
    from codequarry.ingest.fsck.storage import check_storage, mend_vectors

    found = left = check_storage(workshop.store)
    if repair and any(problem.kind == "vectors" for problem in found):
        made = mend_vectors(workshop)
        note(f"store: {count(made, 'vector')} made anew")
        left = check_storage(workshop.store)
    if as_json:
        repaired = {"repaired": [_problem(one) for one in found]} if repair else {}
        write_json({"clean": not left, "problems": [_problem(one) for one in left], **repaired})
    else:
        write(f"store: {'clean' if not left else count(len(left), 'problem')}")
        _list(tuple(left))
    if left:
        raise typer.Exit(FAILED)


def _check(workshop: "Workshop", repo: str, version: "VersionQuery", *, full_text: bool) -> "FsckReport":
    from codequarry.ingest.fsck.versions import check_version

    record = _record(workshop.store, repo, version)
    with progress.shown() as observe:
        return check_version(record, workshop, observe, full_text=full_text)


def _repair(
    workshop: "Workshop", found: "FsckReport", repo: str, version: "VersionQuery", *, full_text: bool
) -> "FsckReport":
    """Mend what was found, and check what is there then."""
    from codequarry.ingest.fsck.versions import repair_version

    with progress.shown() as observe:
        repair_version(found, workshop, observe)
    return _check(workshop, repo, version, full_text=full_text)


def _record(store: "Store", repo: str, version: "VersionQuery") -> "TransactionRecord":
    """Return the record of a published version; NotIndexed says what there is."""
    from codequarry.search_api.catalog import Catalog
    from codequarry.search_api.locate import one_version
    from codequarry.shared.errors import NotIndexed
    from codequarry.shared.versions.ledger import read_transaction

    view = one_version(Catalog(store), repo, version).view
    record = read_transaction(store, view.timeline, view.number)
    if record is None:
        raise NotIndexed(f"{repo} at {view.commit} was given up a moment ago")
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
        "problems": [_problem(one) for one in left.problems],
    }
    return body | ({"repaired": [_problem(one) for one in found.problems]} if repair else {})


def _problem(problem: "Problem") -> dict[str, str]:
    return {"kind": problem.kind, "path": problem.path, "detail": problem.detail}


def _show(found: "FsckReport", left: "FsckReport", repo: str, *, repair: bool) -> None:
    record = left.record
    if repair and found.problems:
        write(f"{safe_line(repo)}: {count(len(found.problems), 'problem')} found and worked on")
    compared = f"{count(left.files, 'file')} compared, {left.texts:,} of them down to the text"
    write(f"{safe_line(repo)}: {safe_line(record.ref)} at {record.commit[:SHORT_COMMIT]}, {compared}")
    if not left.same_rules:
        note("note: other settings than today's decided about these files, so their verdicts were not compared")
    if not left.problems:
        write("  clean")
        return
    _list(left.problems)
    paths = count(len(left.wrong_paths), "path")
    note(f"{count(len(left.problems), 'problem')} with {paths}" + ("" if repair else f"; {_remedy(left, repo)}"))


def _list(problems: "tuple[Problem, ...]") -> None:
    from codequarry.ingest.fsck.files import KINDS

    write_table([("  " + one.kind, one.path, one.detail) for one in problems[:MOST_SHOWN]])
    if len(problems) > MOST_SHOWN:
        write(f"  and {len(problems) - MOST_SHOWN:,} more (--json lists them all)")
    for kind in dict.fromkeys(one.kind for one in problems):
        note(f"  {kind}: {KINDS[kind]}")


def _remedy(left: "FsckReport", repo: str) -> str:
    if any(one.kind == "counter" for one in left.problems):
        return "restore catalog and rows from one backup, or index again into an empty store"
    return f"codequarry fsck {safe_line(repo)} --repair mends the newest commit of a version"
