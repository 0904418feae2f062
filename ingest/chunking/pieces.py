"""What the cutters hand to the driver: pieces of a file by rows, with what is known of them."""

from dataclasses import dataclass

from codequarry.shared.model import SymbolType


@dataclass(frozen=True, slots=True)
class Piece:
    """Rows ``start`` to ``end`` (exclusive) and the fields of the chunk that they become."""

    start: int
    end: int
    type: SymbolType
    kind: str | None = None
    name: str | None = None
    qualified: str | None = None
    signature: str | None = None
    exported: bool | None = None
    body_byte: int | None = None
    part: str | None = None
    context: str = ""
    doc: str = ""
    package: str | None = None
    defines: tuple[str, ...] = ()
    references: tuple[str, ...] = ()
    imports: tuple[str, ...] = ()
    exports: tuple[str, ...] = ()
    calls: tuple[str, ...] = ()
    dependencies: tuple[str, ...] = ()
    complexity: float | None = None
