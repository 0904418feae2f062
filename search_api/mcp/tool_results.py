"""What the tools of the MCP server have in common: results as text and as data, and errors."""

from collections.abc import Callable
from typing import TypeVar

from mcp.server.mcpserver.exceptions import ToolError
from mcp_types import CallToolResult, TextContent, ToolAnnotations

from codequarry.search_api.answers.json import to_json
from codequarry.shared.control_characters import visible
from codequarry.shared.errors import CodequarryError

# Indexing changes nothing that belongs to the user: it copies what the repository already has.
READ_ONLY = ToolAnnotations(read_only_hint=True, idempotent_hint=True, open_world_hint=False)
REF = "An indexed branch, tag, pull/12 or commit, or workspace:/path; the default is the default branch"

Value = TypeVar("Value")


def with_tool_errors(call: Callable[[], Value]) -> Value:
    """Return what ``call`` returns; its errors become tool errors with the same message."""
    try:
        return call()
    except CodequarryError as error:
        raise ToolError(visible(str(error))) from error


def tool_result(text: str, structured: object) -> CallToolResult:
    """Return a result with its text, in which control characters are escaped, and its structured content."""
    return CallToolResult(
        content=[TextContent(type="text", text=visible(text))], structured_content=to_json(structured)
    )
