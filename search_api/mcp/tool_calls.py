"""What the tools do: search and read, after indexing what a call names if the call asks for that."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from codequarry.search_api.answers.file_text import FileText
from codequarry.search_api.answers.hits import SearchAnswer
from codequarry.search_api.answers.jobs import PendingSearch
from codequarry.search_api.jobs.needed_versions import NeededVersions
from codequarry.search_api.jobs.on_demand import index_first, search_or_index
from codequarry.search_api.jobs.queue import Indexer
from codequarry.search_api.mcp.caller import McpCaller
from codequarry.search_api.query.request import parse_request
from codequarry.search_api.query.selection import Selection
from codequarry.search_api.query.version_query import VersionQuery
from codequarry.search_api.search.backend import Backend
from codequarry.search_api.search.files import read_file
from codequarry.search_api.versions.missing_version import VersionMissing
from codequarry.search_api.versions.resolution import locate
from codequarry.shared.access.grants import Principal
from codequarry.shared.errors import NotIndexed

# Clients give up on a call after a minute or later.
INDEX_WAIT_MS = 30_000
CALL_AGAIN = "call again with index: true to get the answer when it is done"


@dataclass(frozen=True, slots=True)
class ToolCalls:
    """Answers the calls of an agent, each as the principal that the settings name at that moment."""

    backend: Backend
    indexer: Indexer
    caller: McpCaller

    def search(self, body: Mapping[str, Any], *, index: bool) -> SearchAnswer:
        """Answer a search; while its version is being indexed, the answer is empty and says so."""
        principal = self._principal(index)
        reranking = self.backend.settings.reranking
        try:
            if not index:
                return self.backend.search(parse_request(body, reranking=reranking), principal)
            request = parse_request({**body, "wait_ms": INDEX_WAIT_MS}, may_index=True, reranking=reranking)
            answer = search_or_index(self.backend.seen_by(principal), self.indexer, request)
        except VersionMissing as error:
            raise NotIndexed(_advised(error, principal)) from error
        if isinstance(answer, PendingSearch):
            return SearchAnswer(results=(), reason=_still_indexing(answer), suggestion=CALL_AGAIN)
        return answer

    def read(
        self, repo: str, path: str, start_line: int | None, end_line: int, version: VersionQuery, *, index: bool
    ) -> FileText:
        """Return lines of a file; raise NotIndexed while its version is being indexed."""
        principal = self._principal(index)
        try:
            if index:
                selection = Selection(repos=(repo,), version=version)
                wanted = NeededVersions(lambda engine: (locate(engine.catalog, selection),), named=True)
                done = index_first(self.backend.seen_by(principal), self.indexer, wanted, INDEX_WAIT_MS)
                if isinstance(done, PendingSearch):
                    raise NotIndexed(f"{_still_indexing(done)}; {CALL_AGAIN}")
            return read_file(self.backend.seen_by(principal).catalog, repo, path, start_line, end_line, version)
        except VersionMissing as error:
            raise NotIndexed(_advised(error, principal)) from error

    def _principal(self, index: bool) -> Principal:
        principal = self.caller.principal()
        if index:
            principal.require("index")
        return principal


def _still_indexing(pending: PendingSearch) -> str:
    job = pending.jobs[-1]
    shown = f"{job.ref} of {job.repo}" if job.ref else job.repo
    progress = f" ({job.progress.percent} %)" if job.progress else ""
    return f"{shown} is still being indexed{progress}" + (f": {job.error}" if job.error else "")


def _advised(error: VersionMissing, principal: Principal) -> str:
    """Return the problem with what an agent can do about it; a working tree, or a limited key, needs a command."""
    if error.is_workspace or not error.missing or not principal.has("index"):
        return str(error)
    name = "" if error.command else "repo and "
    return f"{error.problem}; to index it, call again with {name}index: true"
