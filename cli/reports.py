"""What `codequarry index` says when it is done."""

from typing import TYPE_CHECKING

from codequarry.cli.console import count, duration, safe_line, skips, write
from codequarry.shared.versions.refs import Ref

if TYPE_CHECKING:
    from codequarry.ingest.report import IndexReport

SHORT_COMMIT = 12


def show_report(report: "IndexReport") -> None:
    """Write what a run did for a person; first what it had to do before that."""
    if report.default_branch:
        show_report(report.default_branch)
    if report.kind == "gone":
        write(f"{safe_line(report.repo)}: the origin has no {_spoken(report)} any more; dropped from the index")
        return
    _show(report)
    for name in report.dropped:
        write(f"  dropped     {safe_line(name)}, which the origin has no more")


def _show(report: "IndexReport") -> None:
    where = f"{safe_line(report.repo)}: {_spoken(report)} at {report.commit[:SHORT_COMMIT]}"
    if not report.changed:
        write(f"{where}, nothing new ({duration(report.seconds)})")
        return
    how = " (resumed)" if report.resumed else " (from the start)" if report.full else ""
    write(f"{where}, indexed in {duration(report.seconds)}{how}")
    for line in _since(report):
        write(line)
    for line in _masked(report):
        write(line)
    skipped = skips(report.skipped)
    write(f"  files       {report.files_indexed:,} indexed{f', {skipped}' if skipped else ', none skipped'}")
    write(f"  chunks      {report.chunks_live:,}, {report.chunks_written:,} of them new")
    write(f"  embeddings  {report.embedded:,} made, {report.reused_embeddings:,} reused")


def _masked(report: "IndexReport") -> list[str]:
    """Say how many secrets were masked, and what became of what was there before they were."""
    lines = []
    if report.masked:
        rules = ", ".join(f"{safe_line(rule)} {number:,}" for rule, number in report.masked.items())
        lines.append(
            f"  secrets     {sum(report.masked.values()):,} masked in {count(report.masked_files, 'file')}: {rules}"
        )
    if report.given_up or report.masked_anew:
        others = f"{count(len(report.masked_anew), 'other version')} indexed anew"
        lines.append(
            f"  from before {others}, {count(report.given_up, 'older commit')} given up: secrets were not masked"
        )
    lines += [f"  unmasked    {safe_line(one)}: index it again, or drop it" for one in report.unmasked]
    return lines


def _since(report: "IndexReport") -> list[str]:
    """Say what the run compared with."""
    if report.kind == "overlay":
        over = f"{safe_line(report.base_ref)} at {report.base_commit[:SHORT_COMMIT]}"
        return [f"  layer       {count(report.base_paths, 'changed path')} over {over}"]
    if report.previous_commit and not report.full:
        changed = count(report.files_changed + report.files_removed, "changed path")
        removed = f", {report.files_removed:,} of them removed" if report.files_removed else ""
        return [f"  since {report.previous_commit[:SHORT_COMMIT]}: only {changed}{removed}"]
    if report.kind == "full":
        return ["  whole       it differs in too much for a layer over what is indexed"]
    return []


def _spoken(report: "IndexReport") -> str:
    ref = Ref.of_key(report.key) if report.key else None
    if ref and ref.kind == "commit":
        return f"commit {ref.value[:SHORT_COMMIT]}"
    return f"{ref.kind} {safe_line(ref.value)}" if ref else safe_line(report.ref)
