"""`codequarry files` and `codequarry chunks`: the files of an indexed repository, and the chunks of a file."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from codequarry.cli.options.search_options import Branch, Commit, Pull, Tag, Workspace, version_query
from codequarry.cli.session.session import Json, load, workplace
from codequarry.cli.terminal.console import count, note, safe_line, short, size, write, write_json, write_table

if TYPE_CHECKING:
    from codequarry.search_api.versions.resolution import OneVersion
    from codequarry.shared.model import FileRecord

# Longest text shown beside a path or place; --json has the whole text.
MOST_CHARACTERS = 60

Repo = Annotated[str, typer.Argument(metavar="REPO", help="Name of an indexed repository (codequarry repos list).")]


def files(
    context: typer.Context,
    repo: Repo,
    branch: Branch = None,
    tag: Tag = None,
    commit: Commit = None,
    pull: Pull = None,
    workspace: Workspace = None,
    masked: Annotated[
        bool, typer.Option("--masked", help="Only files with masked secrets, and counts by rule.")
    ] = False,
    as_json: Json = False,
) -> None:
    """List the indexed files, and the skipped files with reasons, of the default branch or a named version."""
    version = version_query(branch, tag, commit, pull, workspace)
    with workplace(load(context).settings) as place:
        from codequarry.search_api.versions.catalog import Catalog
        from codequarry.search_api.versions.local_heads import LocalHeads
        from codequarry.search_api.versions.resolution import one_version

        seen = one_version(Catalog(place.store, local_heads=LocalHeads(place.settings)), repo, version)
        records = list(place.store.files(seen.snapshot))
    from codequarry.shared.model import INDEXED

    indexed = [record for record in records if record.verdict == INDEXED]
    skipped = [record for record in records if record.verdict != INDEXED]
    if masked:
        _show_masked(seen, records, as_json=as_json)
        return
    if as_json:
        write_json(
            {
                **_version_to_json(seen),
                "files": [_indexed_to_json(record) for record in indexed],
                "skipped": [_skipped_to_json(record) for record in skipped],
            }
        )
        return
    write_table([(record.path, record.language or "", size(record.size)) for record in indexed], right=(2,))
    if skipped:
        write("\nskipped:")
        write_table(
            [(record.path, record.verdict, size(record.size), _shortened(record.detail)) for record in skipped],
            right=(2,),
        )
    note(f"{_at(seen)}: {count(len(indexed), 'file')} indexed, {len(skipped):,} skipped")


def _show_masked(seen: "OneVersion", records: "list[FileRecord]", *, as_json: bool) -> None:
    """Show the files with secrets, whether they were masked or skipped because of the secrets."""
    from codequarry.shared.secret_counts import SecretCounts

    found = [(record, SecretCounts.of_detail(record.detail)) for record in records]
    found = [(record, counts) for record, counts in found if counts.total]
    if as_json:
        files = [
            {"path": record.path, "verdict": record.verdict, "masked": dict(counts.by_rule)} for record, counts in found
        ]
        write_json({**_version_to_json(seen), "files": files})
        return
    rows = [(record.path, ", ".join(f"{rule} {n}" for rule, n in counts.by_rule.items())) for record, counts in found]
    write_table(rows)
    total = sum(counts.total for _, counts in found)
    note(f"{_at(seen)}: {count(total, 'secret')} in {count(len(found), 'file')}")


def chunks(
    context: typer.Context,
    repo: Repo,
    path: Annotated[str, typer.Argument(metavar="PATH", help="Path of a file in the repository.")],
    branch: Branch = None,
    tag: Tag = None,
    commit: Commit = None,
    pull: Pull = None,
    workspace: Workspace = None,
    as_json: Json = False,
) -> None:
    """Show how a file was split into chunks, on the default branch or in a named version."""
    version = version_query(branch, tag, commit, pull, workspace)
    with workplace(load(context).settings) as place:
        from codequarry.search_api.search.files import file_chunks
        from codequarry.search_api.versions.catalog import Catalog
        from codequarry.search_api.versions.local_heads import LocalHeads
        from codequarry.search_api.versions.resolution import one_version

        seen = one_version(Catalog(place.store, local_heads=LocalHeads(place.settings)), repo, version)
        found = file_chunks(place.store, seen, path)
    if as_json:
        from codequarry.search_api.answers.json import to_json
        from codequarry.search_api.search.hits import code_chunk

        chunks = [to_json(code_chunk(chunk)) for chunk in found]
        write_json({**_version_to_json(seen), "path": path, "chunks": chunks})
        return
    rows = []
    for chunk in found:
        part = f" (part {chunk.symbol_part})" if chunk.symbol_part else ""
        name = chunk.qualified_name or chunk.symbol_name or ""
        rows.append((f"{chunk.start_line}-{chunk.end_line}", chunk.symbol_type, name + part, _summary(chunk.text)))
    write_table(rows)
    note(f"{count(len(found), 'chunk')} in {safe_line(path)} of {_at(seen)}")


def _version_to_json(seen: "OneVersion") -> dict[str, Any]:
    from codequarry.search_api.answers.json import to_json

    return {
        "repo": seen.view.repo,
        "ref": seen.view.ref.name,
        "commit": seen.view.commit,
        "freshness": to_json(seen.state.freshness()),
    }


def _at(seen: "OneVersion") -> str:
    return f"{safe_line(seen.view.repo)} {safe_line(seen.view.ref.name)} at {short(seen.view.commit)}"


def _indexed_to_json(record: "FileRecord") -> dict[str, Any]:
    from codequarry.shared.secret_counts import SecretCounts

    return {
        "path": record.path,
        "blob": record.blob,
        "language": record.language,
        "size": record.size,
        "lines": record.lines,
        "rows": record.rows,
        "masked": dict(SecretCounts.of_detail(record.detail).by_rule),
    }


def _skipped_to_json(record: "FileRecord") -> dict[str, Any]:
    return {
        "path": record.path,
        "blob": record.blob,
        "reason": record.verdict,
        "detail": record.detail,
        "size": record.size,
    }


def _summary(text: str) -> str:
    return _shortened(next((line.strip() for line in text.splitlines() if line.strip()), ""))


def _shortened(text: str) -> str:
    return text if len(text) <= MOST_CHARACTERS else text[: MOST_CHARACTERS - 1] + "…"
