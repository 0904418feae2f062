"""Puts what a piece of a format defines and refers to into it, as code's is: by name, with places."""

from collections.abc import Sequence
from dataclasses import replace

from codequarry.ingest.chunking.facts import MAX_REFERENCES
from codequarry.ingest.chunking.pieces import Piece
from codequarry.shared.relations import (
    ANYWHERE,
    Definition,
    Reference,
    ReferenceKind,
    Symbols,
    Target,
    defined_names,
    encode,
)


def with_symbols(piece: Piece, definitions: Sequence[Definition], references: Sequence[Reference] = ()) -> Piece:
    """Return a piece with definitions and references, by whose names it is found."""
    symbols = Symbols(tuple(definitions), tuple(references))
    names = dict.fromkeys((*piece.references, *(found.name for found in references)))
    return replace(
        piece,
        references=tuple(names)[:MAX_REFERENCES],
        symbols=defined_names(symbols),
        relations=encode(symbols),
    )


def by_name(kind: ReferenceKind, name: str, line: int, within: tuple[str, ...] = ()) -> Reference:
    """Return a reference to whatever has a name in files of the language; what is before its last dot is left out."""
    return Reference(kind, line, Target("name", ANYWHERE, (name.rpartition(".")[2] or name,)), within)
