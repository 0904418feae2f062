"""`codequarry files` and `codequarry chunks`: what the index holds of a repository, and how a file was cut."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from codequarry.cli.console import count, note, safe_line, size, write, write_json, write_table
from codequarry.cli.invocation import Json, load, workplace

if TYPE_CHECKING:
    from codequarry.shared.model import FileRecord, Snapshot
    from codequarry.shared.store.port import Store

# What stands beside a path or place for a person; --json has all of it.
MOST_CHARACTERS = 60

Repo = Annotated[str, typer.Argument(metavar="REPO", help="Name of an indexed repository (codequarry repos list).")]


def files(context: typer.Context, repo: Repo, as_json: Json = False) -> None:
    """List files: indexed, or skipped and why."""
    with workplace(load(context).settings) as place:
        records = list(place.store.files(_head_of(place.store, repo)))
    from codequarry.shared.model import INDEXED

    indexed = [record for record in records if record.verdict == INDEXED]
    skipped = [record for record in records if record.verdict != INDEXED]
    if as_json:
        write_json(
            {
                "repo": repo,
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
    note(f"{count(len(indexed), 'file')} indexed, {len(skipped):,} skipped")


def chunks(
    context: typer.Context,
    repo: Repo,
    path: Annotated[str, typer.Argument(metavar="PATH", help="Path of a file in the repository.")],
    as_json: Json = False,
) -> None:
    """Show how a file was cut into chunks."""
    with workplace(load(context).settings) as place:
        snapshot = _head_of(place.store, repo)
        found = place.store.chunks(snapshot, path, repo)
        if not found and not _is_indexed(place.store, snapshot, path):
            from codequarry.search_api.files import read_file

            read_file(place.store, repo, path)  # says why the file is not there
    if as_json:
        from codequarry.search_api.answer import chunk_json

        write_json({"repo": repo, "path": path, "chunks": [chunk_json(chunk) for chunk in found]})
        return
    rows = []
    for chunk in found:
        part = f" (part {chunk.symbol_part})" if chunk.symbol_part else ""
        name = chunk.qualified_name or chunk.symbol_name or ""
        rows.append((f"{chunk.start_line}-{chunk.end_line}", chunk.symbol_type, name + part, _summary(chunk.text)))
    write_table(rows)
    note(f"{count(len(found), 'chunk')} in {safe_line(path)}")


def _head_of(store: "Store", repo: str) -> "Snapshot":
    """Return what readers see of a repository; NotIndexed names those that there are."""
    from codequarry.shared.errors import NotIndexed
    from codequarry.shared.ledger import read_head
    from codequarry.shared.snapshots import head_snapshot

    head = read_head(store)
    snapshot = head_snapshot(head, [repo])
    if not snapshot.layers[0].timelines:
        there = f"; indexed: {', '.join(sorted(head.defaults))}" if head.defaults else "; nothing is indexed yet"
        raise NotIndexed(f"repository '{repo}' is not indexed{there}")
    return snapshot


def _is_indexed(store: "Store", snapshot: "Snapshot", path: str) -> bool:
    """Tell whether a file without chunks is indexed all the same: it is empty then."""
    from codequarry.shared.model import INDEXED

    return any(record.verdict == INDEXED for record in store.files(snapshot, [path]))


def _indexed_to_json(record: "FileRecord") -> dict[str, Any]:
    return {
        "path": record.path,
        "blob": record.blob,
        "language": record.language,
        "size": record.size,
        "lines": record.lines,
        "rows": record.rows,
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
    """Return the first line of a chunk that says something, shortened."""
    return _shortened(next((line.strip() for line in text.splitlines() if line.strip()), ""))


def _shortened(text: str) -> str:
    return text if len(text) <= MOST_CHARACTERS else text[: MOST_CHARACTERS - 1] + "…"
