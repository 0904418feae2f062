"""The entries of an outline."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from codequarry.ingest.chunking.language_spec import NamePath, Role, Rule


@dataclass(frozen=True, slots=True)
class Declaration:
    """An entry of the outline; ``row`` includes comments and decorators above it, ``head_row`` does not."""

    rule: Rule
    row: int
    head_row: int
    end_row: int
    start_byte: int
    end_byte: int
    name: NamePath = ()
    signature: str = ""
    body_byte: int | None = None
    doc: str = ""
    exported: bool | None = None
    members: tuple["Declaration", ...] = ()

    @property
    def role(self) -> Role:
        """The role of its rule."""
        return self.rule.role


def joined(declarations: Iterable[Declaration], *, by_name: bool) -> Iterator[Declaration]:
    """Join each declaration that continues the one before it to it; with ``by_name``, so do functions of its name."""
    last: Declaration | None = None
    for declaration in declarations:
        if last is not None and _continues(last, declaration, by_name=by_name):
            last = replace(
                last,
                end_row=max(last.end_row, declaration.end_row),
                end_byte=declaration.end_byte,
                body_byte=last.body_byte or declaration.body_byte or declaration.start_byte,
            )
            continue
        if last is not None:
            yield last
        last = declaration
    if last is not None:
        yield last


def _continues(last: Declaration, declaration: Declaration, *, by_name: bool) -> bool:
    if declaration.role is Role.CONTINUED:
        return True
    named = by_name and bool(last.name) and last.name == declaration.name and not declaration.doc
    return named and last.role is Role.CALLABLE and declaration.role is Role.CALLABLE
