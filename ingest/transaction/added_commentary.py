"""Adds commentary to the chunks of a batch before they are embedded."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from codequarry.ingest.commentary.cache import CommentaryCache
from codequarry.ingest.commentary.describer import Described, Describer
from codequarry.ingest.files.read_file import ReadFile, ReadPiece, piece_of
from codequarry.ingest.request.index_request import Workshop
from codequarry.ingest.request.progress import Watch
from codequarry.ingest.transaction.written import Written
from codequarry.shared.catalog.ledger import INCOMPLETE
from codequarry.shared.catalog.repositories import read_repository


class AddedCommentary:
    """Has the chunks of one repository described."""

    def __init__(self, describer: Describer) -> None:
        self._describer = describer

    def added(self, batch: Sequence[ReadFile], written: Written, watch: Watch) -> list[ReadFile]:
        """Return the files with their commentary; the rules of a file that lacks some say so.

        The next run then finds that these rules are not those of the settings, and writes the file again.
        """

        def say(done: int, total: int) -> None:
            watch.say(f"describing {done:,} of {total:,} chunks")

        chunks = [piece.chunk for file in batch for piece in file.pieces]
        found = self._describer.describe(chunks, say)
        watch.say("indexing")
        written.described += found.asked
        written.commentary_reused += found.reused
        written.commentary_missing += len(found.missing)
        written.commentary_tokens += found.tokens
        written.commentary_problem = written.commentary_problem or found.problem
        return [_with_commentary(file, found) for file in batch]

    def close(self) -> None:
        """Close the connections to the server."""
        self._describer.close()


def commentary_writer(workshop: Workshop, repo: str) -> AddedCommentary | None:
    """Return what describes a repository's chunks, or None if the settings ask for no commentary."""
    settings = workshop.settings.commentary
    if not settings.enabled:
        return None
    repository = read_repository(workshop.store, repo)
    return AddedCommentary(Describer(settings, CommentaryCache(workshop.store, repository.id if repository else repo)))


def _with_commentary(file: ReadFile, found: Described) -> ReadFile:
    pieces = tuple(_pieces(file, found))
    if any(piece.chunk.id in found.missing for piece in pieces):
        return replace(file, pieces=pieces, task=replace(file.task, rules=file.task.rules + INCOMPLETE))
    return replace(file, pieces=pieces)


def _pieces(file: ReadFile, found: Described) -> Iterator[ReadPiece]:
    for piece in file.pieces:
        text = found.texts.get(piece.chunk.id, "")
        yield piece_of(replace(piece.chunk, commentary=text)) if text else piece
