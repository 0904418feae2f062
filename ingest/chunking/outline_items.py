"""Turns the outline into items: consecutive row ranges, to be grouped or cut into pieces."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import Enum, auto

from codequarry.ingest.chunking.declarations import Declaration
from codequarry.ingest.chunking.language_spec import Role
from codequarry.ingest.chunking.pieces import Sizes
from codequarry.ingest.chunking.text import SourceText

# A callable or type of at most this many rows and tokens says little on its own.
_SMALL_ROWS = 3
_SMALL_TOKENS = 40
# A constant of at least this many tokens is a table, and gets a chunk with its name.
_LARGE_VALUE_TOKENS = 80
# Too few tokens for a chunk: a package clause and an import, `main()` at the end of a script, `impl Foo {`.
_TINY_TOKENS = 25
# A row with more declarations is minified; further declarations are dropped.
_MAX_FUSED = 200


class Family(Enum):
    """Neighbours of the same family may share a chunk."""

    PROLOGUE = auto()
    VALUE = auto()
    CALLABLE = auto()
    TYPE = auto()
    HEADER = auto()
    """The opening of a type; small members that follow may join it."""
    GLUE = auto()
    """The opening of a scope or statement with separate members; it joins what follows."""


@dataclass(frozen=True, slots=True)
class OutlineItem:
    """Rows from ``row`` to the next item's row, with the declarations in them and around them."""

    row: int
    family: Family
    declarations: tuple[Declaration, ...]
    enclosing: tuple[Declaration, ...] = ()
    alone: bool = False


_FAMILIES = {Role.CALLABLE: Family.CALLABLE, Role.TYPE: Family.TYPE, Role.IMPORT: Family.PROLOGUE}


def items_of(declarations: Sequence[Declaration], text: SourceText, sizes: Sizes) -> list[OutlineItem]:
    """Return non-empty items that cover all rows of a file, in order."""
    flattened = _Flattener(text, sizes).flatten(declarations, ())
    # A grammar may report an empty syntax error at the end of the file, which is the row after the last line feed.
    flat = _fused(item for item in flattened if item.row < text.rows)
    if not flat:
        return [OutlineItem(0, Family.PROLOGUE, ())]
    first, *rest = _with_prologue(flat)
    return _joined([replace(first, row=0), *rest], text, sizes)


@dataclass(frozen=True, slots=True)
class _Flattener:
    text: SourceText
    sizes: Sizes

    def flatten(self, declarations: Sequence[Declaration], enclosing: tuple[Declaration, ...]) -> Iterator[OutlineItem]:
        """Yield an item for each declaration, or for its opening and each member if these are separate."""
        for declaration in declarations:
            row, role, members = declaration.row, declaration.role, declaration.members
            if role is Role.TYPE and self._is_opened(declaration):
                yield OutlineItem(row, Family.HEADER, (declaration,), enclosing, alone=True)
                yield from self.flatten(members, (*enclosing, declaration))
            elif role in {Role.SCOPE, Role.TRANSPARENT, Role.BLOCK} and members:
                inside = enclosing if role is Role.TRANSPARENT else (*enclosing, declaration)
                yield OutlineItem(row, Family.GLUE, (declaration,), enclosing)
                yield from self.flatten(members, inside)
            else:
                family = _FAMILIES.get(role, Family.VALUE)
                yield OutlineItem(row, family, (declaration,), enclosing, self._is_alone(declaration))

    def _tokens(self, declaration: Declaration) -> int:
        return self.text.tokens(declaration.row, min(declaration.end_row + 1, self.text.rows))

    def _is_opened(self, type_: Declaration) -> bool:
        """Return whether a type is too large for one chunk and has members worth a chunk."""
        return self._tokens(type_) > self.sizes.target and any(_is_chunk(member) for member in type_.members)

    def _is_alone(self, declaration: Declaration) -> bool:
        role, tokens = declaration.role, self._tokens(declaration)
        if role in {Role.CALLABLE, Role.TYPE}:
            return declaration.end_row - declaration.head_row >= _SMALL_ROWS or tokens > _SMALL_TOKENS
        # Prototypes stay together whatever their size: the functions that they declare have chunks elsewhere.
        return role is Role.VALUE and declaration.rule.type != "function" and tokens >= _LARGE_VALUE_TOKENS


def _is_chunk(member: Declaration) -> bool:
    """Return whether a member is worth a chunk: all but fields and short statements."""
    if member.role is Role.BLOCK:
        return member.end_row - member.head_row >= _SMALL_ROWS
    return member.role in {Role.CALLABLE, Role.TYPE, Role.SCOPE, Role.TRANSPARENT}


def _fused(items: Iterator[OutlineItem]) -> list[OutlineItem]:
    """Join items that begin in the same row, because a chunk has whole rows."""
    fused: list[OutlineItem] = []
    for item in items:
        if fused and item.row <= fused[-1].row:
            last = fused[-1]
            family = item.family if last.family is Family.GLUE else last.family
            enclosing = item.enclosing if last.family is Family.GLUE else last.enclosing
            declarations = item.declarations if last.family is Family.GLUE else last.declarations
            if last.family is not Family.GLUE and len(declarations) < _MAX_FUSED:
                declarations += item.declarations
            fused[-1] = OutlineItem(last.row, family, declarations, enclosing, last.alone or item.alone)
        else:
            fused.append(item)
    return fused


def _with_prologue(items: list[OutlineItem]) -> list[OutlineItem]:
    """Keep the imports at the start of a file as its prologue; later imports are ordinary statements."""
    begun = True
    kept = []
    for item in items:
        begun = begun and item.family in {Family.PROLOGUE, Family.GLUE} and not item.enclosing
        late = item.family is Family.PROLOGUE and not begun
        kept.append(replace(item, family=Family.VALUE) if late else item)
    return kept


def _joined(items: list[OutlineItem], text: SourceText, sizes: Sizes) -> list[OutlineItem]:
    """Group small neighbours, and join openings and tiny statements to what they belong to."""
    ends = [item.row for item in items[1:]] + [text.rows]
    joined: list[OutlineItem] = []
    for item, end in zip(items, ends, strict=True):
        current = item
        while joined and (merged := _merge(joined[-1], current, text, end, sizes)) is not None:
            joined.pop()
            current = merged
        joined.append(current)
    return _whole_file(joined, text, sizes)


def _merge(last: OutlineItem, item: OutlineItem, text: SourceText, end: int, sizes: Sizes) -> OutlineItem | None:
    total = text.tokens(last.row, end)
    if last.family is not item.family and _opens(last, text.tokens(last.row, item.row)):
        return replace(item, row=last.row) if total <= sizes.maximum else None
    if _is_crumb(last, item, text.tokens(item.row, end)):
        return last if total <= sizes.maximum else None
    if total > (sizes.maximum if last.family is Family.PROLOGUE else sizes.target):
        return None
    if last.family is Family.HEADER:
        return last if item.enclosing[-1:] == last.declarations[-1:] and not item.alone else None
    shares = last.enclosing == item.enclosing and not (last.alone or item.alone) and _same_kind(last, item)
    return replace(last, declarations=last.declarations + item.declarations) if shares else None


def _same_kind(last: OutlineItem, item: OutlineItem) -> bool:
    """Return whether small neighbours may share a chunk: they have the same family, or are members of a type."""
    if last.family is item.family:
        return True
    members = {Family.VALUE, Family.CALLABLE, Family.TYPE}
    in_type = bool(item.enclosing) and item.enclosing[-1].role is Role.TYPE
    return in_type and {last.family, item.family} <= members


def _opens(last: OutlineItem, tokens: int) -> bool:
    if last.family is Family.GLUE:
        return True
    if tokens >= _TINY_TOKENS:
        return False
    return last.family is Family.PROLOGUE or (last.family is Family.HEADER and last.declarations[-1].rule.reopens)


def _is_crumb(last: OutlineItem, item: OutlineItem, tokens: int) -> bool:
    """Return whether an item is a tiny unnamed statement after a separate declaration."""
    statement = item.declarations[-1].role is Role.BLOCK if item.declarations else False
    return statement and tokens < _TINY_TOKENS and last.alone and last.enclosing == item.enclosing


def _whole_file(items: list[OutlineItem], text: SourceText, sizes: Sizes) -> list[OutlineItem]:
    """Return a small file with a single declaration as one item for that declaration."""
    if len(items) == 2 and items[0].family is Family.PROLOGUE and text.tokens(0, text.rows) <= sizes.target:
        return [replace(items[1], row=0)]
    return items
