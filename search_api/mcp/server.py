"""The MCP server: the two tools a coding agent needs, over stdio. Nothing but protocol goes to stdout."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.metadata import version
from typing import Annotated, Any, TypeVar

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp_types import CallToolResult, TextContent, ToolAnnotations
from pydantic import Field, SecretStr

from codequarry.search_api.access.authentication import ApiKeys, RequestCredentials, RefuseAll
from codequarry.search_api.answers.file_text import FileText
from codequarry.search_api.answers.freshness import Freshness
from codequarry.search_api.answers.hits import Hit, SearchAnswer
from codequarry.search_api.answers.json import to_json
from codequarry.search_api.query.request import parse_request
from codequarry.search_api.query.version_query import VersionQuery, VersionSpecifier
from codequarry.search_api.search.backend import Backend
from codequarry.search_api.search.files import read_file
from codequarry.shared.access.grants import OWNER, Principal
from codequarry.shared.access.key_list import find_key
from codequarry.shared.access.keys import moment, split_token
from codequarry.shared.control_characters import visible, visible_line
from codequarry.shared.errors import CodequarryError, NotIndexed, Unauthorized
from codequarry.shared.settings.config import SettingsModel
from codequarry.shared.store.port import DocumentStore

INSTRUCTIONS = """\
Codequarry searches indexed git repositories. Call search_code with a question in plain words ("where are retries
scheduled"), or with an exact name when you know one; then read_file for the lines around a result. Results are as of
the indexed commit that is named with them, not of the working tree. Both tools take a ref: a branch, a tag, pull/12, a
commit, or workspace:/path for a working tree that was indexed, by any folder in it; without one they see the default
branch."""
SEARCH = """\
Find code by meaning or by name in the indexed repositories; use it instead of grep when you don't know the exact
words. Returns the best places as `repo path:from-to` with their code, best first.

query: a question or description in plain words, or an identifier, whose definition then comes first. In it may stand
repo:NAME, lang:python, path:GLOB, symbol:NAME, kind:function (a - before one excludes) and "an exact phrase"."""
READ = """\
Read lines of an indexed file, numbered, as they are at the indexed commit. Paths are those that search_code returns.
Without lines the file's first 400 lines come; ask for start_line and end_line to read on. Give the ref that you gave to
search_code."""

# A hit is shown so far; a longer chunk says how to read the rest. Chunks are seldom longer.
MAX_HIT_LINES = 80
# A whole large file would push everything else out of an agent's window.
MAX_FILE_LINES = 400

_REF = "A branch, tag, pull/12 or commit, as it is indexed; the default branch without it"
READ_ONLY = ToolAnnotations(read_only_hint=True, idempotent_hint=True, open_world_hint=False)


Value = TypeVar("Value")


@dataclass(frozen=True, slots=True)
class CodePlace:
    """A place in the code: of a hit what an agent needs."""

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


# Without slots: the MCP library would take them for defaults, and give the tool no schema.
@dataclass(frozen=True)
class CodePlaces:
    """What search_code returns beside its text."""

    results: tuple[CodePlace, ...]
    reason: str | None
    suggestion: str | None
    degraded: tuple[str, ...]
    freshness: tuple[Freshness, ...]


def create_server(backend: Backend) -> MCPServer[Any]:
    """Return the server with its tools; store and model are opened by the first call, so that it answers at once.

    Each call is answered as ``[mcp] key`` may see the index, or as its owner where that is not set.
    """
    caller = McpCaller(backend.settings, lambda: backend.engine().store)
    server: MCPServer[Any] = MCPServer(
        "codequarry", version=version("codequarry"), instructions=INSTRUCTIONS, log_level="WARNING"
    )

    @server.tool(name="search_code", title="Search code", description=SEARCH, annotations=READ_ONLY)
    def search_code(
        query: Annotated[str, Field(description="Question, description or identifier", min_length=1)],
        repo: Annotated[str | None, Field(description="Only this repository")] = None,
        language: Annotated[str | None, Field(description="Only this language, as in python, go, typescript")] = None,
        path: Annotated[str | None, Field(description="Only paths that fit this glob, as in src/**/*.py")] = None,
        ref: Annotated[str | None, Field(description=_REF)] = None,
        top_k: Annotated[int, Field(description="How many results", ge=1, le=50)] = 10,
    ) -> Annotated[CallToolResult, CodePlaces]:
        filters = {"repo": repo, "language": language, "path": path, "ref": ref}
        body = {"query": query, "top_k": top_k, "filters": {name: value for name, value in filters.items() if value}}
        answer = _told(lambda: _search(backend, body, caller.principal()))
        return _result(render_answer(answer), places(answer))

    @server.tool(name="read_file", title="Read file", description=READ, annotations=READ_ONLY)
    def read_indexed_file(
        repo: Annotated[str, Field(description="Repository, as in a result of search_code")],
        path: Annotated[str, Field(description="Path of the file in the repository")],
        start_line: Annotated[int | None, Field(description="First line, from 1", ge=1)] = None,
        end_line: Annotated[int | None, Field(description="Last line, inclusive", ge=1)] = None,
        ref: Annotated[str | None, Field(description=_REF)] = None,
    ) -> Annotated[CallToolResult, FileText]:
        first = start_line or 1
        last = min(end_line or first + MAX_FILE_LINES - 1, first + MAX_FILE_LINES - 1)
        version = VersionQuery((VersionSpecifier("ref", ref),)) if ref else VersionQuery()
        file = _told(
            lambda: read_file(backend.seen_by(caller.principal()).catalog, repo, path, start_line, last, version)
        )
        return _result(render_file(file), file)

    return server


def _search(backend: Backend, body: Mapping[str, Any], principal: Principal) -> SearchAnswer:
    return backend.search(parse_request(body, reranking=backend.settings.reranking), principal)


def _told(call: Callable[[], Value]) -> Value:
    """Give our errors to the agent as they are: they say what to do."""
    try:
        return call()
    except CodequarryError as error:
        raise ToolError(visible(str(error))) from error


def _result(text: str, structured: CodePlaces | FileText) -> CallToolResult:
    return CallToolResult(
        content=[TextContent(type="text", text=visible(text))], structured_content=to_json(structured)
    )


def places(answer: SearchAnswer) -> CodePlaces:
    """Return an answer of the engine as an agent needs it."""
    return CodePlaces(
        tuple(map(_place, answer.results)), answer.reason, answer.suggestion, answer.degraded, answer.freshness
    )


def _place(hit: Hit) -> CodePlace:
    return CodePlace(
        repo=hit.repo,
        path=hit.path,
        start_line=hit.start_line,
        end_line=hit.end_line,
        symbol=_symbol(hit),
        symbol_type=hit.symbol_type,
        language=hit.language,
        score=hit.score,
        ref=hit.ref,
        commit=hit.commit,
        text=hit.text,
    )


def render_answer(answer: SearchAnswer) -> str:
    """Return an answer as compact text: a head line and the code of every hit."""
    if not answer.results:
        suggestion = f" ({answer.suggestion})" if answer.suggestion else ""
        return f"No results: {answer.reason}{suggestion}"
    blocks = [_render_hit(hit) for hit in answer.results]
    if answer.degraded:
        blocks.append(f"Note: answered without {', '.join(answer.degraded)}.")
    shown = {hit.repo for hit in answer.results}
    states = sorted(_state(entry) for entry in answer.freshness if entry.repo in shown)
    blocks.append("Indexed: " + ", ".join(states))
    return "\n\n".join(blocks)


def _state(entry: Freshness) -> str:
    """Say at which commit a version of a repository is, and how far behind."""
    behind = f", {entry.commits_behind} commits behind" if entry.commits_behind else ""
    return f"{entry.repo} {entry.ref} at {str(entry.indexed_commit)[:12]}{behind}"


def _render_hit(hit: Hit) -> str:
    lines = _lines(hit.text)
    head = visible_line(f"{hit.repo} {hit.path}:{hit.start_line}-{hit.end_line}")
    if symbol := _symbol(hit):
        head += f"  {hit.symbol_type} {visible_line(symbol)}"
    shown = lines[:MAX_HIT_LINES]
    if len(lines) > len(shown):
        shown.append(f"… {len(lines) - len(shown)} more lines: read_file from {hit.start_line + len(shown)}")
    return "\n".join((f"{head}  ({hit.score:.2f})", *shown))


def _symbol(hit: Hit) -> str | None:
    return hit.qualified_name or hit.symbol_name


def render_file(file: FileText) -> str:
    """Return a file's lines with their numbers."""
    width = len(str(file.end_line))
    numbered = [f"{number:>{width}}  {line}" for number, line in enumerate(_lines(file.text), file.start_line)]
    place = visible_line(f"{file.repo} {file.path}:{file.start_line}-{file.end_line} of {file.total_lines}")
    return "\n".join((f"{place} at {file.ref} {file.commit[:12]}", *numbered))


def _lines(text: str) -> list[str]:
    """Return a text's lines as git counts them: only a line feed ends one, not a form feed or what Unicode adds."""
    # The carriage return of a Windows line end is no part of what is read.
    return [line.removesuffix("\r") for line in text.removesuffix("\n").split("\n")] if text else []


class McpCaller:
    """Says who asks the MCP server of ``settings``."""

    def __init__(self, settings: SettingsModel, store: Callable[[], DocumentStore]) -> None:
        self._asked: SecretStr | None = settings.mcp.key
        self._store = store
        self._keys = ApiKeys(settings, store, RefuseAll())

    def principal(self) -> Principal:
        """Return who asks; Unauthorized if the key is not in use any more, Forbidden if it may not search."""
        if self._asked is None:
            return OWNER
        principal = self._of(self._asked.get_secret_value())
        principal.require("search")
        return principal

    def _of(self, asked: str) -> Principal:
        if split_token(asked):
            return self._keys.authenticate(RequestCredentials(asked, "", ""))
        try:
            key = find_key(self._store(), asked)
        except NotIndexed:
            raise Unauthorized(
                f"this server is limited to the key '{asked}', and no key in use has that id or name: codequarry keys "
                "list names them"
            ) from None
        state = key.state(moment())
        if state != "active":
            raise Unauthorized(f"this server is limited to the key '{asked}', which is {state}; make another one")
        return key.principal
