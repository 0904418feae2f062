"""What a repair says at its end."""

from dataclasses import dataclass

from codequarry.ingest.repair.catalog import Lost


@dataclass(frozen=True, slots=True)
class RepairReport:
    """What a repair found, what it made again, and what is ``lost`` for good.

    ``files``, ``rows`` and ``vectors`` were brought over; ``files_again`` were read from git, ``versions_again``
    indexed anew. ``kept_folder`` is where the damaged folder is, "" where it was deleted since nothing is lost.
    """

    pages: int
    damaged_pages: int
    files: int
    rows: int
    vectors: int
    files_again: int = 0
    chunks_again: int = 0
    versions_again: tuple[str, ...] = ()
    embedded: int = 0
    reused_embeddings: int = 0
    tokens: int = 0
    lost: tuple[Lost, ...] = ()
    kept_folder: str = ""
    resumed: bool = False
