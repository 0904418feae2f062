"""The MCP server: the tools that a coding agent needs, over stdio. Only protocol messages go to stdout."""

from importlib.metadata import version
from typing import Annotated, Any

from mcp.server.mcpserver import MCPServer
from mcp_types import CallToolResult
from pydantic import Field

from codequarry.search_api.answers.file_text import FileText
from codequarry.search_api.jobs.queue import Indexer
from codequarry.search_api.mcp.caller import McpCaller
from codequarry.search_api.mcp.relations import add_relations
from codequarry.search_api.mcp.rendering import CodePlaces, places, render_answer, render_file
from codequarry.search_api.mcp.symbol_history import add_symbol_history
from codequarry.search_api.mcp.tool_calls import ToolCalls
from codequarry.search_api.mcp.tool_results import READ_ONLY, REF, tool_result, with_tool_errors
from codequarry.search_api.query.version_query import VersionQuery, VersionSpecifier
from codequarry.search_api.search.backend import Backend

INSTRUCTIONS = """\
Codequarry searches indexed git repositories. Call search_code with a question in plain words ("where are retries
scheduled"), or with an exact name if you know it. Then call read_file for the lines around a result, find_references
for the callers, subclasses and importers of a symbol, find_symbol for all definitions of a name, or symbol_history for
when a function, method or class changed. Results show the code at the indexed commit that they name, not the
working tree. All tools take a ref: a branch, a tag, pull/12, a commit, or workspace:/path for an indexed working tree
(any folder in it). The default is the default branch.
search_code also takes a pattern as ref, such as release/* or * for every version: each result is then one declaration,
with the versions that have it and those that have another text of it.
With index: true, search_code and read_file first index a version that is missing or behind its repository."""
SEARCH = """\
Find code by meaning or by name in the indexed repositories. Use it instead of grep if you don't know the exact words.
Returns the best places as `repo path:from-to` with their code, best first.

query: a question or description in plain words, or an identifier, whose definition then comes first. It may contain
repo:NAME, lang:python, path:GLOB, symbol:NAME, kind:function (- before a filter excludes it) and "an exact phrase".

type: pass commit to find commits by their messages, or diff to find when lines were added or removed. The query
"type:commit" lists the newest commits."""
READ = """\
Read numbered lines of an indexed file at the indexed commit. Take the path from a search_code result, and pass the
same ref. Returns the first 400 lines unless you pass start_line and end_line; at most 400 lines per call."""

# A whole large file would fill an agent's context window.
MAX_FILE_LINES = 400

_TYPE = "Search commits instead of code: commit (messages) or diff (added and removed lines)"
_SINCE = "First day of the last change of the file, such as 2024-05-31; with type, of the commits"
_REFS = (
    "An indexed branch, tag, pull/12 or commit, workspace:/path, or a pattern such as release/*, or * for every "
    "version; the default is the default branch"
)
_INDEX = (
    "First index the version that repo and ref name if it is missing or outdated, for example after a commit; this may "
    "take a while"
)


def create_server(backend: Backend, indexer: Indexer) -> MCPServer[Any]:
    """Return the server, limited to what ``[mcp] key`` may see, if set; the first call opens store and model.

    ``indexer`` runs the jobs of calls with ``index``.
    """
    calls = ToolCalls(backend, indexer, McpCaller(backend.settings, lambda: backend.engine().store))
    server: MCPServer[Any] = MCPServer(
        "codequarry", version=version("codequarry"), instructions=INSTRUCTIONS, log_level="WARNING"
    )

    @server.tool(name="search_code", title="Search code", description=SEARCH, annotations=READ_ONLY)
    def search_code(
        query: Annotated[str, Field(description="Question, description or identifier", min_length=1)],
        repo: Annotated[str | None, Field(description="Only this repository")] = None,
        language: Annotated[str | None, Field(description="Only this language, such as python or typescript")] = None,
        path: Annotated[str | None, Field(description="Only paths that match this glob, such as src/**/*.py")] = None,
        ref: Annotated[str | None, Field(description=_REFS)] = None,
        type: Annotated[str | None, Field(description=_TYPE)] = None,
        author: Annotated[str | None, Field(description="Part of a name: who last changed the file")] = None,
        since: Annotated[str | None, Field(description=_SINCE)] = None,
        until: Annotated[str | None, Field(description="Last such day")] = None,
        top_k: Annotated[int, Field(description="Maximum number of results", ge=1, le=50)] = 10,
        index: Annotated[bool, Field(description=_INDEX)] = False,
    ) -> Annotated[CallToolResult, CodePlaces]:
        filters = {"repo": repo, "language": language, "path": path, "ref": ref, "type": type}
        filters |= {"author": author, "since": since, "until": until}
        body = {"query": query, "top_k": top_k, "filters": {name: value for name, value in filters.items() if value}}
        answer = with_tool_errors(lambda: calls.search(body, index=index))
        return tool_result(render_answer(answer), places(answer))

    @server.tool(name="read_file", title="Read file", description=READ, annotations=READ_ONLY)
    def read_indexed_file(
        repo: Annotated[str, Field(description="Repository, as named in a search_code result")],
        path: Annotated[str, Field(description="Path of the file in the repository")],
        start_line: Annotated[int | None, Field(description="First line, counted from 1", ge=1)] = None,
        end_line: Annotated[int | None, Field(description="Last line, inclusive", ge=1)] = None,
        ref: Annotated[str | None, Field(description=REF)] = None,
        index: Annotated[bool, Field(description=_INDEX)] = False,
    ) -> Annotated[CallToolResult, FileText]:
        first = start_line or 1
        last = min(end_line or first + MAX_FILE_LINES - 1, first + MAX_FILE_LINES - 1)
        version = VersionQuery((VersionSpecifier("ref", ref),)) if ref else VersionQuery()
        file = with_tool_errors(lambda: calls.read(repo, path, start_line, last, version, index=index))
        return tool_result(render_file(file), file)

    add_relations(server, backend, calls.caller.principal)
    add_symbol_history(server, backend, calls.caller.principal)
    return server
