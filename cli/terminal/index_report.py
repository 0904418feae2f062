"""The reports of `codequarry index`."""

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from codequarry.cli.terminal.console import count, duration, safe_line, short, size, skips, write, write_table
from codequarry.shared.versions.refs import Ref

if TYPE_CHECKING:
    from codequarry.ingest.request.index_request import IndexReport
    from codequarry.ingest.run.estimate import Estimate
    from codequarry.shared.model import KindOfFile

KEPT = "its commits stay searchable until they expire"


def show_report(report: "IndexReport") -> None:
    """Write a run's report as text, after the report on the default branch if that had to be indexed first."""
    if report.default_branch:
        show_report(report.default_branch)
    if report.kind == "gone":
        write(f"{safe_line(report.repo)}: the origin no longer has {_version(report)}; {KEPT}")
        return
    _show(report)
    for name in report.dropped:
        write(f"  ended       {safe_line(name)}: the origin no longer has it; {KEPT}")
    if report.former_default:
        show_report(report.former_default)


def _show(report: "IndexReport") -> None:
    where = f"{safe_line(report.repo)}: {_version(report)} at {short(report.commit)}"
    if not report.changed:
        write(f"{where}, nothing new ({duration(report.seconds)})")
        return
    how = " (resumed)" if report.resumed else " (from the start)" if report.full else ""
    write(f"{where}, indexed in {duration(report.seconds)}{how}")
    for line in _since(report):
        write(line)
    for line in _masked(report):
        write(line)
    write(f"  files       {report.files_indexed:,} indexed, {skips(report.skipped)}")
    write(f"  chunks      {report.chunks_live:,}, {report.chunks_written:,} of them new")
    if report.log_commits:
        write(f"  history     {count(report.log_commits, 'commit')}, {count(report.log_diffs, 'changed file')} of them")
    for line in _commentary(report):
        write(line)
    write(f"  embeddings  {report.embedded:,} made, {report.reused_embeddings:,} reused")


def _commentary(report: "IndexReport") -> list[str]:
    made, reused, missing = report.commentary_made, report.commentary_reused, report.commentary_missing
    if not made + reused + missing:
        return []
    lacking = f", {missing:,} missing" if missing else ""
    used = f", {report.commentary_tokens:,} tokens" if report.commentary_tokens else ""
    return [f"  commentary  {made:,} made, {reused:,} reused{lacking}{used}"]


def _masked(report: "IndexReport") -> list[str]:
    lines = []
    if report.masked:
        rules = ", ".join(f"{safe_line(rule)} {number:,}" for rule, number in report.masked.items())
        lines.append(
            f"  secrets     {sum(report.masked.values()):,} masked in {count(report.masked_files, 'file')}: {rules}"
        )
    if report.given_up or report.masked_anew:
        others = f"{count(len(report.masked_anew), 'other version')} indexed again"
        expired = f"{count(report.given_up, 'older commit')} dropped"
        lines.append(f"  remasked    {others}, {expired}, because secrets were not masked")
    lines += [f"  unmasked    {safe_line(version)}: index it again, or remove it" for version in report.unmasked]
    return lines


def _since(report: "IndexReport") -> list[str]:
    if report.kind == "overlay":
        over = f"{safe_line(report.base_ref)} at {short(report.base_commit)}"
        return [f"  layer       {count(report.base_paths, 'changed path')} over {over}"]
    if report.previous_commit and not report.full:
        changed = count(report.files_changed + report.files_removed, "changed path")
        removed = f", {report.files_removed:,} of them removed" if report.files_removed else ""
        return [f"  since {short(report.previous_commit)}: only {changed}{removed}"]
    if report.kind == "full":
        return ["  whole       too many paths differ for a layer over an indexed commit"]
    return []


def _version(report: "IndexReport") -> str:
    ref = Ref.of_key(report.key) if report.key else None
    if ref and ref.kind == "commit":
        return f"commit {short(ref.value)}"
    return f"{ref.kind} {safe_line(ref.value)}" if ref else safe_line(report.ref)


def estimate_to_json(found: "Estimate") -> dict[str, Any]:
    """Return an estimate as JSON, with named fields instead of tuples."""
    return asdict(found) | {
        "largest_files": [
            {"path": path, "size": number_of_bytes, "chunks": chunks}
            for path, number_of_bytes, chunks in found.largest_files
        ],
        "most_skipped_folders": [
            {"folder": folder, "files": files, "reason": reason} for folder, files, reason in found.most_skipped_folders
        ],
    }


def _of_programs(found: "Estimate") -> str:
    """Return how many chunks an operator could do without, with the settings that leave them out."""
    switches: dict[KindOfFile, str] = {"vendored": "skip_vendored", "generated": "skip_generated"}
    there = [kind for kind in switches if found.chunks_by_kind.get(kind)]
    if not there:
        return ""
    parts = " and ".join(f"{found.chunks_by_kind[kind]:,} of {kind} files" for kind in there)
    return f", {parts} (left out by [scan] {' and '.join(switches[kind] for kind in there)})"


def show_estimate(found: "Estimate") -> None:
    """Write an estimate as text."""
    where = f"{safe_line(found.repo)}: {safe_line(found.ref)} at {short(found.commit)}"
    to_index = found.files - sum(found.skipped.values())
    if not found.files:
        write(f"{where}, nothing to do: it is already indexed")
        return
    write(f"{where}, would take about {duration(found.seconds)}")
    if found.base_commit:
        over = f"{safe_line(found.base_ref)} at {short(found.base_commit)}"
        write(f"  layer       {count(found.base_paths, 'changed path')} over {over}")
    write(f"  files       {to_index:,} to index, {skips(found.skipped)}")
    write(f"  chunks      about {found.chunks:,}{_of_programs(found)}")
    if found.log_commits:
        write(f"  history     {count(found.log_commits, 'commit')}")
    cost = "" if found.cost is None else f", about {found.cost:.2f} at the configured price"
    write(f"  tokens      about {found.tokens:,} to embed{cost}")
    if described := found.commentary:
        price = "" if described.cost is None else f", about {described.cost:.2f} at the configured price"
        amount = f"{described.input_tokens:,} tokens to send, {described.output_tokens:,} to receive"
        write(f"  commentary  about {count(described.chunks, 'chunk')} to describe: {amount}{price}")
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
