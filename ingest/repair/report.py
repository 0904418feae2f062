"""The report of a repair."""

from dataclasses import dataclass

from codequarry.ingest.repair.catalog import Lost


@dataclass(frozen=True, slots=True)
class RepairReport:
    """What a repair copied, restored and lost; ``kept_folder`` is "" if the damaged folder was deleted."""

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
