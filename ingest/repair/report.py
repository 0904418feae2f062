"""The report of a repair."""

from dataclasses import dataclass

from codequarry.ingest.repair.catalog import Lost


@dataclass(frozen=True, slots=True)
class RepairReport:
    """What a repair found, copied (``files``, ``rows``, ``vectors``) and restored, and what is ``lost`` for good.

    ``kept_folder`` is the path of the damaged folder, "" if nothing is lost and it was deleted.
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
