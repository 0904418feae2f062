"""The MCP tool `symbol_history`: when a symbol appeared, changed, moved and vanished."""

from collections.abc import Callable
from typing import Annotated, Any

from mcp.server.mcpserver import MCPServer
from mcp_types import CallToolResult
from pydantic import Field

from codequarry.search_api.answers.symbol_history import DeclarationHistory, HistoricText, SymbolEvent, SymbolHistory
from codequarry.search_api.mcp.tool_results import READ_ONLY, REF, tool_result, with_tool_errors
from codequarry.search_api.query.symbol_request import history_request
from codequarry.search_api.search.backend import Backend
from codequarry.search_api.search.history.symbol_history import symbol_history
from codequarry.shared.access.grants import Principal
from codequarry.shared.control_characters import visible_line

DESCRIPTION = """\
Find out when a function, method or class appeared, changed, moved and vanished among the indexed commits. Use it before
git log if you know the name. Returns the events of each declaration of the name, newest first, with the range of
commits in which each lies (for git log), and the lines before and after: read_file shows them at these commits.

name: the exact name of a symbol (load), or the end of its qualified name (Store.load)."""
COMMIT_CHARACTERS = 12
DATE_CHARACTERS = len("2026-01-31")


def add_symbol_history(server: MCPServer[Any], backend: Backend, principal: Callable[[], Principal]) -> None:
    """Add the tool to a server, limited to what ``principal`` may see when it is called."""

    @server.tool(name="symbol_history", title="Symbol history", description=DESCRIPTION, annotations=READ_ONLY)
    def history_of_symbol(
        name: Annotated[str, Field(description="Exact name, such as load or Store.load", min_length=1)],
        repo: Annotated[str | None, Field(description="Only this repository")] = None,
        path: Annotated[
            str | None, Field(description="Only declarations that were ever at a path like this glob")
        ] = None,
        ref: Annotated[str | None, Field(description=REF)] = None,
        limit: Annotated[int, Field(description="Maximum number of events", ge=1, le=200)] = 30,
    ) -> Annotated[CallToolResult, SymbolHistory]:
        given = {"repo": repo, "path": path, "ref": ref}
        filters = {key: [value] for key, value in given.items() if value}
        answer = with_tool_errors(
            lambda: symbol_history(backend.seen_by(principal()), history_request(name, filters, limit))
        )
        return tool_result(render_history(answer, name), answer)


def render_history(answer: SymbolHistory, name: str) -> str:
    """Return an answer as compact text: a header line for each declaration, and a line for each event."""
    if not answer.declarations:
        return f"No indexed commit has a declaration of {visible_line(name)}"
    blocks = [_render(history) for history in answer.declarations]
    shown = sum(len(history.events) for history in answer.declarations)
    if shown < answer.total_events:
        blocks.append(f"{answer.total_events - shown} more events: pass a repo, a path or a larger limit")
    return "\n\n".join(blocks)


def _render(history: DeclarationHistory) -> str:
    gone = "" if history.exists else " (vanished)"
    head = f"{history.repo} {history.ref} {history.path}  {history.symbol_type or ''} {history.symbol}{gone}"
    return "\n".join((visible_line(head), *map(_event, history.events)))


def _event(event: SymbolEvent) -> str:
    places = " -> ".join(_place(text) for text in (event.before, event.after) if text)
    between = "..".join(commit[:COMMIT_CHARACTERS] for commit in event.range.split("..")) if event.range else ""
    indexed = f"indexed {(event.indexed_at or '')[:DATE_CHARACTERS]}"
    parts = (event.event, event.commit[:COMMIT_CHARACTERS], indexed, places, between)
    return "  " + "  ".join(part for part in parts if part)


def _place(text: HistoricText) -> str:
    return visible_line(f"{text.path}:{text.start_line}-{text.end_line}")
