"""The MCP tools `find_symbol` and `find_references`."""

from collections.abc import Callable, Mapping
from typing import Annotated, Any

from mcp.server.mcpserver import MCPServer
from mcp_types import CallToolResult
from pydantic import Field

from codequarry.search_api.answers.relations import Definitions, Edge, Edges, SymbolDefinition
from codequarry.search_api.mcp.tool_results import READ_ONLY, REF, tool_result, with_tool_errors
from codequarry.search_api.query.relations_request import MAX_DEPTH, definitions_request, graph_request
from codequarry.search_api.search.backend import Backend
from codequarry.search_api.search.relations.defined_symbols import defined_symbols
from codequarry.search_api.search.relations.edges import find_edges
from codequarry.shared.access.grants import Principal
from codequarry.shared.control_characters import visible_line

FIND_SYMBOL = """\
Find where a function, method, class, constant or other symbol is defined, with its signature and lines. Use it instead
of grep if you know the name. read_file shows the lines.

name: the exact name of a symbol (load), or the end of its qualified name (Store.load)."""
FIND_REFERENCES = """\
Find what refers to a symbol (its callers, subclasses, importers), or what it refers to. Use it instead of grep if you
know the name: it tells symbols of the same name apart, follows imports, and says how sure each edge is (0 to 1).

name: the exact name of a symbol (load), or the end of its qualified name (Store.load).
kinds: call, import, inherits, implements, type, decorates, data_flow, link, mention; the default is all of these. If
named, co_change too: the files that changed in the same commits as a file (its path is the name) or a symbol's file.
direction: in for what refers to it, out for what it refers to. depth: follow callers of callers, and so on."""
_NAME = "Exact name, such as load or Store.load"


def add_relations(server: MCPServer[Any], backend: Backend, principal: Callable[[], Principal]) -> None:
    """Add both tools to a server, limited to what ``principal`` may see when they are called."""

    @server.tool(name="find_symbol", title="Find symbol", description=FIND_SYMBOL, annotations=READ_ONLY)
    def find_symbol(
        name: Annotated[str, Field(description=_NAME, min_length=1)],
        repo: Annotated[str | None, Field(description="Only this repository")] = None,
        language: Annotated[str | None, Field(description="Only this language")] = None,
        path: Annotated[str | None, Field(description="Only paths that match this glob")] = None,
        ref: Annotated[str | None, Field(description=REF)] = None,
        limit: Annotated[int, Field(description="Maximum number of definitions", ge=1, le=200)] = 30,
    ) -> Annotated[CallToolResult, Definitions]:
        filters = _filters(repo, language, path, ref)
        answer = with_tool_errors(
            lambda: defined_symbols(backend.seen_by(principal()), definitions_request(name, filters, limit))
        )
        return tool_result(render_definitions(answer, name), answer)

    @server.tool(name="find_references", title="Find references", description=FIND_REFERENCES, annotations=READ_ONLY)
    def find_references(
        name: Annotated[str, Field(description=_NAME, min_length=1)],
        kinds: Annotated[list[str] | None, Field(description="Kinds of edges; the default is all references")] = None,
        direction: Annotated[str, Field(description="in, out or both")] = "in",
        depth: Annotated[int, Field(description="How many edges to follow", ge=1, le=MAX_DEPTH)] = 1,
        repo: Annotated[str | None, Field(description="Only this repository")] = None,
        language: Annotated[str | None, Field(description="Only references in this language")] = None,
        path: Annotated[str | None, Field(description="Only references in paths that match this glob")] = None,
        ref: Annotated[str | None, Field(description=REF)] = None,
        limit: Annotated[int, Field(description="Maximum number of edges", ge=1, le=200)] = 50,
    ) -> Annotated[CallToolResult, Edges]:
        filters = _filters(repo, language, path, ref)

        def answered() -> Edges:
            request = graph_request(name, filters, direction=direction, kinds=kinds or (), depth=depth, limit=limit)
            return find_edges(backend.seen_by(principal()), request)

        answer = with_tool_errors(answered)
        return tool_result(render_edges(answer, name), answer)


def _filters(repo: str | None, language: str | None, path: str | None, ref: str | None) -> Mapping[str, list[str]]:
    given = {"repo": repo, "language": language, "path": path, "ref": ref}
    return {key: [value] for key, value in given.items() if value}


def render_definitions(answer: Definitions, name: str) -> str:
    """Return definitions as compact text: a line for each, and its signature."""
    if not answer.definitions:
        return f"Nothing defines {visible_line(name)} in this version"
    lines = [_definition(found) for found in answer.definitions]
    if len(lines) < answer.total:
        lines.append(f"{answer.total - len(lines)} more definitions: pass a repo, a path or a larger limit")
    return "\n".join(lines)


def _definition(found: SymbolDefinition) -> str:
    head = f"{found.repo} {found.path}:{found.start_line}-{found.end_line}  {found.symbol_kind} {found.qualified_name}"
    return visible_line(f"{head}  {found.signature}" if found.signature else head)


def render_edges(answer: Edges, name: str) -> str:
    """Return edges as compact text, a line for each."""
    if not answer.edges:
        return f"No reference of {visible_line(name)} in this version; find_symbol shows what is defined"
    lines = [_edge(edge) for edge in answer.edges]
    if len(lines) < answer.total:
        lines.append(f"{answer.total - len(lines)} more edges: pass kinds, a repo, a path or a larger limit")
    return "\n".join(lines)


def _edge(edge: Edge) -> str:
    source, to = edge.source, edge.to
    indent = "  " * (edge.depth - 1)
    if edge.kind == "co_change" and to is not None:
        changed = f"{edge.commits} commits, share {edge.confidence:.2f}"
        return indent + visible_line(f"{source.repo} {source.path}  co_change -> {to.path}  ({changed})")
    meant = f"{to.path}:{to.line} {to.symbol}  ({edge.confidence:.2f})" if to else f"{edge.name}, defined elsewhere"
    place = f"{source.repo} {source.path}:{source.line}  {source.symbol or ''}"
    return indent + visible_line(f"{place}  {edge.kind} -> {meant}")
