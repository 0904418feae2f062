"""The MCP server: the two tools that a coding agent needs, over stdio. Only protocol messages go to stdout."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.metadata import version
from typing import Annotated, Any, TypeVar

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp_types import CallToolResult, TextContent, ToolAnnotations
from pydantic import Field, SecretStr

from codequarry.search_api.access.authentication import ApiKeys, RefuseAll, RequestCredentials
from codequarry.search_api.answers.absence import LEFT_OUT_IF_NONE
from codequarry.search_api.answers.file_text import FileText
from codequarry.search_api.answers.freshness import Freshness
from codequarry.search_api.answers.hits import Hit, HitVariant, HitVersion, SearchAnswer
from codequarry.search_api.answers.json import to_json
from codequarry.search_api.mcp.rendering import render_answer, render_file, symbol_of
from codequarry.search_api.query.request import parse_request
from codequarry.search_api.query.version_query import VersionQuery, VersionSpecifier
from codequarry.search_api.search.backend import Backend
from codequarry.search_api.search.files import read_file
from codequarry.shared.access.grants import OWNER, Principal
from codequarry.shared.access.key_list import find_key
from codequarry.shared.access.keys import moment, split_token
from codequarry.shared.control_characters import visible
from codequarry.shared.errors import CodequarryError, NotIndexed, Unauthorized
from codequarry.shared.settings.config import SettingsModel
from codequarry.shared.store.port import DocumentStore

INSTRUCTIONS = """\
Codequarry searches indexed git repositories. Call search_code with a question in plain words ("where are retries
scheduled"), or with an exact name if you know it. Then call read_file for the lines around a result. Results show the
code at the indexed commit that they name, not the working tree. Both tools take a ref: a branch, a tag, pull/12, a
commit, or workspace:/path for an indexed working tree (any folder in it). The default is the default branch.
search_code also takes a pattern as ref, such as release/* or * for every version: each result is then one declaration,
with the versions that have it and those that have another text of it."""
SEARCH = """\
Find code by meaning or by name in the indexed repositories. Use it instead of grep if you don't know the exact words.
Returns the best places as `repo path:from-to` with their code, best first.

query: a question or description in plain words, or an identifier, whose definition then comes first. It may contain
repo:NAME, lang:python, path:GLOB, symbol:NAME, kind:function (- before a filter excludes it) and "an exact phrase"."""
READ = """\
Read numbered lines of an indexed file at the indexed commit. Take the path from a search_code result, and pass the
same ref. Returns the first 400 lines unless you pass start_line and end_line; at most 400 lines per call."""

# A whole large file would fill an agent's context window.
MAX_FILE_LINES = 400

_REFS = (
    "An indexed branch, tag, pull/12 or commit, workspace:/path, or a pattern such as release/*, or * for every "
    "version; the default is the default branch"
)
_REF = "An indexed branch, tag, pull/12 or commit, or workspace:/path; the default is the default branch"
READ_ONLY = ToolAnnotations(read_only_hint=True, idempotent_hint=True, open_world_hint=False)

Value = TypeVar("Value")


@dataclass(frozen=True, slots=True)
class CodePlace:
    """The part of a hit that an agent needs."""

    repo: str
    path: str
    start_line: int
    end_line: int
    symbol: str | None
    symbol_type: str
    language: str
    score: float
    ref: str | None
    commit: str | None
    text: str
    versions: Annotated[tuple[HitVersion, ...] | None, LEFT_OUT_IF_NONE] = None
    variants: Annotated[tuple[HitVariant, ...] | None, LEFT_OUT_IF_NONE] = None


# No slots: the MCP library would mistake them for defaults, and the tool would have no schema.
@dataclass(frozen=True)
class CodePlaces:
    """The structured content of a search_code result."""

    results: tuple[CodePlace, ...]
    reason: str | None
    suggestion: str | None
    degraded: tuple[str, ...]
    freshness: tuple[Freshness, ...]


def create_server(backend: Backend) -> MCPServer[Any]:
    """Return the server, limited to what ``[mcp] key`` may see, if set; the first call opens store and model."""
    caller = McpCaller(backend.settings, lambda: backend.engine().store)
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
        top_k: Annotated[int, Field(description="Maximum number of results", ge=1, le=50)] = 10,
    ) -> Annotated[CallToolResult, CodePlaces]:
        filters = {"repo": repo, "language": language, "path": path, "ref": ref}
        body = {"query": query, "top_k": top_k, "filters": {name: value for name, value in filters.items() if value}}
        answer = _with_tool_errors(lambda: _search(backend, body, caller.principal()))
        return _result(render_answer(answer), places(answer))

    @server.tool(name="read_file", title="Read file", description=READ, annotations=READ_ONLY)
    def read_indexed_file(
        repo: Annotated[str, Field(description="Repository, as named in a search_code result")],
        path: Annotated[str, Field(description="Path of the file in the repository")],
        start_line: Annotated[int | None, Field(description="First line, counted from 1", ge=1)] = None,
        end_line: Annotated[int | None, Field(description="Last line, inclusive", ge=1)] = None,
        ref: Annotated[str | None, Field(description=_REF)] = None,
    ) -> Annotated[CallToolResult, FileText]:
        first = start_line or 1
        last = min(end_line or first + MAX_FILE_LINES - 1, first + MAX_FILE_LINES - 1)
        version = VersionQuery((VersionSpecifier("ref", ref),)) if ref else VersionQuery()
        file = _with_tool_errors(
            lambda: read_file(backend.seen_by(caller.principal()).catalog, repo, path, start_line, last, version)
        )
        return _result(render_file(file), file)

    return server


def _search(backend: Backend, body: Mapping[str, Any], principal: Principal) -> SearchAnswer:
    return backend.search(parse_request(body, reranking=backend.settings.reranking), principal)


def _with_tool_errors(call: Callable[[], Value]) -> Value:
    """Return what ``call`` returns; its errors become tool errors with the same message."""
    try:
        return call()
    except CodequarryError as error:
        raise ToolError(visible(str(error))) from error


def _result(text: str, structured: CodePlaces | FileText) -> CallToolResult:
    return CallToolResult(
        content=[TextContent(type="text", text=visible(text))], structured_content=to_json(structured)
    )


def places(answer: SearchAnswer) -> CodePlaces:
    """Return the structured content for an answer from the engine."""
    return CodePlaces(
        tuple(map(_place, answer.results)), answer.reason, answer.suggestion, answer.degraded, answer.freshness
    )


def _place(hit: Hit) -> CodePlace:
    return CodePlace(
        repo=hit.repo,
        path=hit.path,
        start_line=hit.start_line,
        end_line=hit.end_line,
        symbol=symbol_of(hit),
        symbol_type=hit.symbol_type,
        language=hit.language,
        score=hit.score,
        ref=hit.ref,
        commit=hit.commit,
        text=hit.text,
        versions=hit.versions,
        variants=hit.variants,
    )


class McpCaller:
    """The principal of the MCP server, from ``[mcp] key``: a token, or the id or name of a key."""

    def __init__(self, settings: SettingsModel, store: Callable[[], DocumentStore]) -> None:
        self._configured: SecretStr | None = settings.mcp.key
        self._store = store
        self._keys = ApiKeys(settings, store, RefuseAll())

    def principal(self) -> Principal:
        """Return the principal; raise Unauthorized if the key is not active, or Forbidden if it lacks ``search``."""
        if self._configured is None:
            return OWNER
        principal = self._principal_of(self._configured.get_secret_value())
        principal.require("search")
        return principal

    def _principal_of(self, key_or_name: str) -> Principal:
        if split_token(key_or_name):
            return self._keys.authenticate(RequestCredentials(key_or_name, "", ""))
        limited = f"this server is limited to the key '{key_or_name}'"
        try:
            key = find_key(self._store(), key_or_name)
        except NotIndexed:
            raise Unauthorized(f"{limited}, but no key in use has that id or name; see codequarry keys list") from None
        state = key.state(moment())
        if state != "active":
            raise Unauthorized(f"{limited}, which is {state}; create another key")
        return key.principal
