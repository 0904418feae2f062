"""What `codequarry index --dry-run` says."""

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from codequarry.cli.console import count, duration, safe_line, size, skips, write, write_table

if TYPE_CHECKING:
    from codequarry.ingest.estimate import Estimate


def estimate_to_json(found: "Estimate") -> dict[str, Any]:
    """Return an estimate with names instead of places in its lists."""
    return asdict(found) | {
        "largest_files": [
            {"path": path, "size": number_of_bytes, "chunks": chunks}
            for path, number_of_bytes, chunks in found.largest_files
        ],
        "most_skipped_folders": [
            {"folder": folder, "files": files, "reason": reason} for folder, files, reason in found.most_skipped_folders
        ],
    }


def show_estimate(found: "Estimate") -> None:
    """Write an estimate for a person."""
    where = f"{safe_line(found.repo)}: {safe_line(found.ref)} at {found.commit[:12]}"
    to_index = found.files - sum(found.skipped.values())
    if not found.files:
        write(f"{where}, nothing to do: it is indexed already")
        return
    write(f"{where}, would take about {duration(found.seconds)}")
    if found.base_commit:
        over = f"{safe_line(found.base_ref)} at {found.base_commit[:12]}"
        write(f"  layer       {count(found.base_paths, 'changed path')} over {over}")
    write(f"  files       {to_index:,} to index, {skips(found.skipped)}")
    write(f"  chunks      about {found.chunks:,}")
    cost = "" if found.cost is None else f", about {found.cost:.2f} at the price that is set"
    write(f"  tokens      about {found.tokens:,} to embed{cost}")
    if found.largest_files:
        write("largest files:")
        write_table(
            [
                (f"  {path}", size(length), count(chunks, "chunk") if chunks else "skipped")
                for path, length, chunks in found.largest_files
            ],
            right=(1, 2),
        )
    if found.most_skipped_folders:
        write("most skipped folders:")
        write_table(
            [(f"  {folder}/", count(files, "file"), reason) for folder, files, reason in found.most_skipped_folders],
            right=(1,),
        )
