"""The repair of a damaged database by `codequarry fsck --repair`, and its report."""

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from codequarry.cli.terminal import progress
from codequarry.cli.terminal.console import count, note, safe_line, write

if TYPE_CHECKING:
    from codequarry.ingest.repair.report import RepairReport
    from codequarry.shared.settings.config import SettingsModel


def rebuild(settings: "SettingsModel") -> "RepairReport":
    """Rebuild the damaged index of the data folder."""
    from codequarry.ingest.repair.repair import repair_index

    with progress.shown() as observe:
        return repair_index(settings, lambda text: note(f"repair: {text}"), observe)


def drop_unfinished(settings: "SettingsModel") -> None:
    """Delete what an interrupted repair left behind; the index itself is undamaged."""
    from codequarry.ingest.repair.repair import drop_unfinished

    drop_unfinished(settings)


def body(done: "RepairReport | None") -> dict[str, Any]:
    """Return the JSON for a rebuilt index, or an empty body if no index was rebuilt."""
    return {"rebuilt": asdict(done)} if done else {}


def show(done: "RepairReport") -> None:
    """Write what was recovered, what was rebuilt, and everything that is lost."""
    write(
        f"index rebuilt: {done.damaged_pages:,} of {count(done.pages, 'page')} were damaged; "
        f"{count(done.files, 'file version')} and {count(done.vectors, 'vector')} recovered, "
        f"{count(done.files_again, 'file version')} read from git again, {count(done.embedded, 'text')} embedded"
    )
    for name in done.versions_again:
        write(f"  indexed again: {safe_line(name)}")
    for loss in done.lost:
        paths = f" ({', '.join(loss.paths)})" if loss.paths else ""
        write(safe_line(f"  lost: {loss.kind} {loss.name}: {loss.detail}{paths}"))
    if done.kept_folder:
        note(f"the damaged index is kept in {safe_line(done.kept_folder)}; delete it when you no longer need it")
    else:
        write("  nothing is lost")
