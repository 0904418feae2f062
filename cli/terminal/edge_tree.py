"""Edges as a tree that a person reads: each symbol, and below it what refers to it or what it refers to."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from codequarry.cli.terminal.console import note, safe_line, write

if TYPE_CHECKING:
    from codequarry.search_api.answers.relations import Edge, EdgeEnd, Edges

_Key = tuple[str, str, str | None]


def show_edges(answer: "Edges", name: str, *, incoming: bool) -> None:
    """Write the edges below the symbols that they lead to, or for outgoing edges, come from."""
    below: dict[_Key | None, list[Edge]] = {}
    for edge in answer.edges:
        below.setdefault(_key(_near(edge, incoming)), []).append(edge)
    shown: set[_Key | None] = set()
    for edge in answer.edges:
        end = _near(edge, incoming)
        if edge.depth == 1 and _key(end) not in shown:
            write(_title(end, name))
            _write_below(below, _key(end), incoming, "", shown)
    for key, edges in below.items():
        # On a later page, the symbol above an edge may have been on an earlier page.
        if key not in shown:
            write(_title(_near(edges[0], incoming), name))
            _write_below(below, key, incoming, "", shown)
    if not answer.edges:
        note(f"no edge of {safe_line(name)} in these versions; codequarry symbols NAME shows what is defined")
    elif answer.next_cursor:
        note(f"{answer.total:,} edges in total; more: --cursor {answer.next_cursor}")


def _write_below(
    below: "Mapping[_Key | None, Sequence[Edge]]",
    key: _Key | None,
    incoming: bool,
    indent: str,
    shown: set[_Key | None],
) -> None:
    shown.add(key)
    edges = below.get(key, ())
    for index, edge in enumerate(edges):
        last = index == len(edges) - 1
        write(f"{indent}{'└─' if last else '├─'} {_line(edge, incoming)}")
        far = _key(edge.source if incoming else edge.to)
        if far is not None and far not in shown:
            _write_below(below, far, incoming, f"{indent}{'   ' if last else '│  '}", shown)


def _near(edge: "Edge", incoming: bool) -> "EdgeEnd | None":
    return edge.to if incoming else edge.source


def _key(end: "EdgeEnd | None") -> _Key | None:
    return (end.repo, end.path, end.symbol) if end is not None else None


def _title(end: "EdgeEnd | None", name: str) -> str:
    if end is None:
        return safe_line(name)
    symbol = safe_line(end.symbol or name)
    return f"{safe_line(end.repo)}  {safe_line(end.path)}  {symbol}"


def _line(edge: "Edge", incoming: bool) -> str:
    end = edge.source if incoming else edge.to
    if end is None:
        return f"{safe_line(edge.name)}  {edge.kind}  line {edge.source.line}, not defined here"
    symbol = safe_line(end.symbol or "(top of the file)")
    return f"{safe_line(end.path)}:{end.line}  {symbol}  {edge.kind}  {edge.confidence:.2f} by {edge.found_by}"
