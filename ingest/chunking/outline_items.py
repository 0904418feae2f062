"""From the outline to items: consecutive row ranges that are grouped or cut to pieces."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import Enum, auto

from codequarry.ingest.chunking.language_spec import Role
from codequarry.ingest.chunking.outline import Declaration
from codequarry.ingest.chunking.pieces import Sizes
from codequarry.ingest.chunking.text import SourceText

# A callable or type of at most so many rows and tokens is a one-liner that says little by itself.
_SMALL_ROWS = 3
_SMALL_TOKENS = 40
# A constant of so many tokens is a table that deserves its name.
_LARGE_VALUE_TOKENS = 80
# Fewer tokens are no chunk: a package clause and an import, `main()` at the end of a script, `impl Foo {`.
_TINY_TOKENS = 25
# A row with more declarations is minified: one more says nothing more of it.
_MAX_FUSED = 200


class Family(Enum):
    """Neighbours of one family may share a chunk."""

    PROLOGUE = auto()
    VALUE = auto()
    CALLABLE = auto()
    TYPE = auto()
    HEADER = auto()
    """What opens a type; the small members that follow may join it."""
    GLUE = auto()
    """What opens a scope or statement whose members stand by themselves; it joins what follows."""


@dataclass(frozen=True, slots=True)
class OutlineItem:
    """Rows from ``row`` to the next item's row, with the declarations in them and those around them."""

    row: int
    family: Family
    declarations: tuple[Declaration, ...]
    enclosing: tuple[Declaration, ...] = ()
    alone: bool = False


_FAMILIES = {
    Role.CALLABLE: Family.CALLABLE,
    Role.TYPE: Family.TYPE,
    Role.IMPORT: Family.PROLOGUE,
}


def items_of(declarations: Sequence[Declaration], text: SourceText, sizes: Sizes) -> list[OutlineItem]:
    """Lay a file out as items that cover all its rows, in order, none empty."""
    flat = _fused(_Flattener(text, sizes).flatten(declarations, ()))
    if not flat:
        return [OutlineItem(0, Family.PROLOGUE, ())]
    first, *rest = _with_prologue(flat)
    return _joined([replace(first, row=0), *rest], text, sizes)


@dataclass(frozen=True, slots=True)
class _Flattener:
    text: SourceText
    sizes: Sizes

    def flatten(self, declarations: Sequence[Declaration], enclosing: tuple[Declaration, ...]) -> Iterator[OutlineItem]:
        """Yield a leaf for each declaration; an opening and its members where they stand by themselves."""
        for one in declarations:
            if one.role is Role.TYPE and self._is_opened(one):
                yield OutlineItem(one.row, Family.HEADER, (one,), enclosing, alone=True)
                yield from self.flatten(one.members, (*enclosing, one))
            elif one.role in {Role.SCOPE, Role.TRANSPARENT, Role.BLOCK} and one.members:
                inside = enclosing if one.role is Role.TRANSPARENT else (*enclosing, one)
                yield OutlineItem(one.row, Family.GLUE, (one,), enclosing)
                yield from self.flatten(one.members, inside)
            else:
                yield OutlineItem(
                    one.row, _FAMILIES.get(one.role, Family.VALUE), (one,), enclosing, self._is_alone(one)
                )

    def _tokens(self, one: Declaration) -> int:
        return self.text.tokens(one.row, min(one.end_row + 1, self.text.rows))

    def _is_opened(self, one: Declaration) -> bool:
        """Tell whether a type is too large for one chunk and has members that can stand by themselves."""
        return self._tokens(one) > self.sizes.target and any(_can_stand(member) for member in one.members)

    def _is_alone(self, one: Declaration) -> bool:
        if one.role in {Role.CALLABLE, Role.TYPE}:
            return one.end_row - one.head_row >= _SMALL_ROWS or self._tokens(one) > _SMALL_TOKENS
        # Prototypes stay together however long they are: what they declare has a chunk of its own elsewhere.
        return one.role is Role.VALUE and one.rule.type != "function" and self._tokens(one) >= _LARGE_VALUE_TOKENS


def _can_stand(member: Declaration) -> bool:
    """Tell whether a member is worth a chunk: any but fields and short statements."""
    if member.role is Role.BLOCK:
        return member.end_row - member.head_row >= _SMALL_ROWS
    return member.role in {Role.CALLABLE, Role.TYPE, Role.SCOPE, Role.TRANSPARENT}


def _fused(items: Iterator[OutlineItem]) -> list[OutlineItem]:
    """Join items that begin in one row: a chunk is whole rows."""
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
    """Keep the imports that a file begins with as its prologue; later ones are ordinary statements."""
    begun = True
    kept = []
    for item in items:
        begun = begun and item.family in {Family.PROLOGUE, Family.GLUE} and not item.enclosing
        late = item.family is Family.PROLOGUE and not begun
        kept.append(replace(item, family=Family.VALUE) if late else item)
    return kept


def _joined(items: list[OutlineItem], text: SourceText, sizes: Sizes) -> list[OutlineItem]:
    """Group small neighbours, and let openings and crumbs join what they belong to."""
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
    """Return both items as one if they belong together and fit, else None."""
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
    """Tell whether small neighbours may share a chunk: those of one family, and all small members of one type."""
    if last.family is item.family:
        return True
    members = {Family.VALUE, Family.CALLABLE, Family.TYPE}
    in_type = bool(item.enclosing) and item.enclosing[-1].role is Role.TYPE
    return in_type and {last.family, item.family} <= members


def _opens(last: OutlineItem, tokens: int) -> bool:
    """Tell whether an item is only the opening of the one after it."""
    if last.family is Family.GLUE:
        return True
    if tokens >= _TINY_TOKENS:
        return False
    return last.family is Family.PROLOGUE or (last.family is Family.HEADER and last.declarations[-1].rule.reopens)


def _is_crumb(last: OutlineItem, item: OutlineItem, tokens: int) -> bool:
    """Tell whether an item is a tiny unnamed statement that ends what comes before it."""
    statement = item.declarations[-1].role is Role.BLOCK if item.declarations else False
    return statement and tokens < _TINY_TOKENS and last.alone and last.enclosing == item.enclosing


def _whole_file(items: list[OutlineItem], text: SourceText, sizes: Sizes) -> list[OutlineItem]:
    """Let a small file with one declaration be one item of that declaration."""
    if len(items) == 2 and items[0].family is Family.PROLOGUE and text.tokens(0, text.rows) <= sizes.target:
        return [replace(items[1], row=0)]
    return items
