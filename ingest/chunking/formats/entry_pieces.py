"""Cuts files that consist of entries: keys and values, elements, statements."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from codequarry.ingest.chunking.facts import MAX_DEFINES
from codequarry.ingest.chunking.formats.entries import Entry, EntryTree
from codequarry.ingest.chunking.formats.entry_groups import EntryGroup, grouped_rows
from codequarry.ingest.chunking.formats.named_symbols import with_symbols
from codequarry.ingest.chunking.pieces import Piece, Sizes
from codequarry.ingest.chunking.plain import parts_of
from codequarry.ingest.chunking.text import SourceText
from codequarry.shared.model import SymbolType
from codequarry.shared.relations import Definition

# The share of the target below which a key or an element may share a chunk with its neighbours.
_SMALL_SHARE = 3
# Lists in lists have no labels; a file may nest a hundred thousand of them.
_MOST_UNLABELLED = 8


@dataclass(frozen=True, slots=True)
class Entries:
    """The entries of a file in order, and its rows that have nothing but a comment.

    ``type`` is that of the chunks, ``whole`` that of a file that is one chunk.
    """

    entries: Sequence[Entry]
    comments: Sequence[bool]
    type: SymbolType = "config"
    whole: SymbolType = "config"


def entry_pieces(found: Entries, text: SourceText, sizes: Sizes) -> list[Piece] | None:
    """Cut a file at its entries, nested where one is large; return None if it has none."""
    if not found.entries:
        return None
    tree = EntryTree.of(found.entries, found.comments, text)
    if text.tokens(0, text.rows) <= sizes.target:
        return [with_names(Piece(0, text.rows, found.whole), tree)]
    groups = grouped_rows(tree, text, sizes, sizes.target // _SMALL_SHARE)
    return [piece for group in groups for piece in _pieces(group, found.type, tree, text, sizes)]


def _pieces(group: EntryGroup, type_: SymbolType, tree: EntryTree, text: SourceText, sizes: Sizes) -> list[Piece]:
    piece = Piece(group.start, group.end, type_, context=_context(tree, group.parent))
    if group.entry >= 0 and tree.entries[group.entry].name:
        entry = tree.entries[group.entry]
        piece = replace(piece, kind=entry.kind or None, name=entry.name, qualified=entry.qualified or None)
    return [with_names(part, tree) for part in parts_of(piece, text, sizes)]


def _context(tree: EntryTree, index: int) -> str:
    """Return the label of the nearest entry around that has one, unless that is far away."""
    for _ in range(_MOST_UNLABELLED):
        if index < 0 or tree.entries[index].label:
            break
        index = tree.parents[index]
    return tree.entries[index].label if index >= 0 else ""


def with_names(piece: Piece, tree: EntryTree) -> Piece:
    """Return a piece that defines the names of the entries that begin in it, plain and qualified."""
    names: dict[str, None] = {}
    definitions: list[Definition] = []
    for entry in tree.between(piece.start, piece.end):
        if entry.name:
            names |= dict.fromkeys((entry.name, entry.qualified or entry.name))
            definitions.append(_definition(entry, piece.type))
        if len(names) >= MAX_DEFINES:
            break
    return with_symbols(replace(piece, defines=tuple(names)[:MAX_DEFINES]), definitions)


def _definition(entry: Entry, type_: SymbolType) -> Definition:
    path = tuple(filter(None, entry.qualified.split("."))) or (entry.name,)
    return Definition(path, type_, entry.kind or "key", entry.row + 1, entry.row + 1)
