"""Edges as a tree that a person reads: each symbol, and below it what refers to it or what it refers to."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from codequarry.cli.terminal.console import count, note, safe_line, write

if TYPE_CHECKING:
    from codequarry.search_api.answers.relations import Edge, EdgeEnd, Edges

_Key = tuple[str, str, str | None]


def show_edges(answer: "Edges", name: str, *, incoming: bool) -> None:
    """Write the edges below the symbols that they lead to, or for outgoing edges, come from."""
    tree = _Tree(answer.edges, name, incoming)
    for edge in answer.edges:
        # On a later page, the symbol above an edge may have been on an earlier page.
        if edge not in tree.shown:
            tree.write_symbol(edge)
    if not answer.edges:
        note(f"no edge of {safe_line(name)} in these versions; codequarry symbols NAME shows what is defined")
    elif answer.next_cursor:
        note(f"{answer.total:,} edges in total; more: --cursor {answer.next_cursor}")


class _Tree:
    """The edges by the symbol that they hang below; each edge is shown once."""

    def __init__(self, edges: "Sequence[Edge]", name: str, incoming: bool) -> None:
        self._name, self._incoming = name, incoming
        self._below: dict[tuple[_Key | None, int], list[Edge]] = {}
        for edge in edges:
            self._below.setdefault((_key(_near(edge, incoming)), edge.depth), []).append(edge)
        self.shown: set[Edge] = set()

    def write_symbol(self, edge: "Edge") -> None:
        """Write the symbol that an edge hangs below, with all its edges."""
        end = _near(edge, self._incoming)
        write(_title(end, self._name))
        self._write_below(_key(end), edge.depth, "")

    def _write_below(self, key: _Key | None, depth: int, indent: str) -> None:
        edges = [edge for edge in self._below.get((key, depth), ()) if edge not in self.shown]
        self.shown.update(edges)
        for index, edge in enumerate(edges):
            last = index == len(edges) - 1
            write(f"{indent}{'└─' if last else '├─'} {_line(edge, self._incoming)}")
            far = _key(edge.source if self._incoming else edge.to)
            if far is not None:
                self._write_below(far, depth + 1, f"{indent}{'   ' if last else '│  '}")


def _near(edge: "Edge", incoming: bool) -> "EdgeEnd | None":
    return edge.to if incoming else edge.source


def _key(end: "EdgeEnd | None") -> _Key | None:
    return (end.repo, end.path, end.symbol) if end is not None else None


def _title(end: "EdgeEnd | None", name: str) -> str:
    if end is None:
        return safe_line(name)
    symbol = f"  {safe_line(end.symbol)}" if end.symbol else ""
    return f"{safe_line(end.repo)}  {safe_line(end.path)}{symbol}"


def _line(edge: "Edge", incoming: bool) -> str:
    end = edge.source if incoming else edge.to
    if end is None:
        return f"{safe_line(edge.name)}  {edge.kind}  line {edge.source.line}, not defined here"
    if edge.kind == "co_change":
        return f"{safe_line(end.path)}  co_change  {count(edge.commits or 0, 'commit')}, share {edge.confidence:.2f}"
    symbol = safe_line(end.symbol or "(top of the file)")
    return f"{safe_line(end.path)}:{end.line}  {symbol}  {edge.kind}  {edge.confidence:.2f} by {edge.found_by}"
