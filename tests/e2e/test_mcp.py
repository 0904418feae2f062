"""The MCP server as an agent starts it: a process that speaks the protocol over stdio, used with the SDK's client."""

import json
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from types import SimpleNamespace
from typing import Any

import pytest
from anyio.from_thread import start_blocking_portal
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client

FILES = {
    "src/retry.py": 'def retry_delay(attempt: int) -> float:\n    """Return seconds."""\n    return 2.0**attempt\n',
    "src/long.py": "".join(f"value_{number} = {number}\n" for number in range(1000)),
    "src/user.py": "from retry import retry_delay\n\n\ndef user(value):\n    return retry_delay(value)\n",
    "data.bin": bytes(range(256)),
}


@pytest.fixture(scope="module")
def indexed(new_workspace: Callable[[], Any]) -> Any:
    """Return a workspace with a small indexed repository."""
    place = new_workspace()
    repository = place.indexed("project", FILES)
    repository.git("checkout", "--quiet", "-b", "dev")
    repository.commit({"src/dev.py": "def only_on_dev() -> None: ...\n"})
    repository.git("checkout", "--quiet", "main")
    assert place.run("index", repository.folder, "--branch", "dev").code == 0
    return place


@asynccontextmanager
async def connected(place: Any, *options: str, **variables: str) -> AsyncIterator[ClientSession]:
    """Start a server and initialize the session as an agent does."""
    command = StdioServerParameters(
        command=sys.executable,
        args=["-m", "codequarry.cli.main", "mcp", *options],
        env=place.environment | variables,
        cwd=place.folder,
    )
    async with stdio_client(command) as streams, ClientSession(*streams) as client:
        await client.initialize()
        yield client


@contextmanager
def asking(place: Any, *options: str, **variables: str) -> Iterator[Any]:
    """Yield a client of a new server whose methods can be called without `await`."""
    server = connected(place, *options, **variables)
    with start_blocking_portal() as portal, portal.wrap_async_context_manager(server) as session:
        yield SimpleNamespace(
            list_tools=lambda: portal.call(session.list_tools),
            call_tool=lambda name, /, **arguments: portal.call(session.call_tool, name, arguments),
        )


@pytest.fixture(scope="module")
def client(indexed: Any) -> Iterator[Any]:
    """Yield a client; all tests share its server."""
    with asking(indexed) as opened:
        yield opened


def test_the_tools_describe_themselves_to_an_agent(client: Any) -> None:
    listed = client.list_tools()
    tools = {tool.name: tool for tool in listed.tools}
    assert set(tools) == {"search_code", "read_file", "find_symbol", "find_references", "symbol_history"}
    assert set(tools["search_code"].input_schema["properties"]) == {
        "query", "repo", "language", "path", "ref", "type", "author", "since", "until", "top_k", "index"
    }  # fmt: skip
    assert tools["search_code"].input_schema["required"] == ["query"]
    assert set(tools["read_file"].input_schema["properties"]) == {
        "repo", "path", "ref", "start_line", "end_line", "index"
    }  # fmt: skip
    assert set(tools["symbol_history"].input_schema["properties"]) == {"name", "repo", "path", "ref", "limit"}
    assert all(tool.description and tool.annotations.read_only_hint for tool in tools.values())
    assert all(tool.output_schema for tool in tools.values())


def test_the_history_of_a_symbol_is_told_as_text_and_as_structure(client: Any, indexed: Any) -> None:
    answer = client.call_tool("symbol_history", name="only_on_dev", ref="dev")
    head, event = answer.content[0].text.splitlines()
    assert head == "project dev src/dev.py  function only_on_dev"
    assert event.split()[0] == "appeared" and event.endswith("..".join(commits(indexed)))
    (item,) = answer.structured_content["declarations"]
    assert item["events"][0]["after"]["path"] == "src/dev.py"
    assert "codequarry log --git" in answer.structured_content["beyond_reason"]
    assert "No indexed commit" in client.call_tool("symbol_history", name="only_on_dev").content[0].text
    assert "read_file" not in client.call_tool("symbol_history", name="retry_delay", limit=1).content[0].text
    refused = client.call_tool("symbol_history", name="x", repo="nope")
    assert refused.is_error and "'nope' is not indexed" in refused.content[0].text


def test_definitions_and_references_are_told_as_text_and_as_structure(client: Any) -> None:
    answer = client.call_tool("find_symbol", name="retry_delay")
    assert answer.content[0].text.startswith("project src/retry.py:1-3  function retry_delay")
    assert answer.structured_content["definitions"][0]["signature"].startswith("def retry_delay(attempt: int)")
    answer = client.call_tool("find_references", name="retry_delay", kinds=["call"])
    assert answer.content[0].text == "project src/user.py:5  user  call -> src/retry.py:1 retry_delay  (0.92)"
    (edge,) = answer.structured_content["edges"]
    assert (edge["from"]["symbol"], edge["to"]["symbol"], edge["found_by"]) == ("user", "retry_delay", "import")
    assert "No reference" in client.call_tool("find_references", name="user").content[0].text
    refused = client.call_tool("find_references", name="user", kinds=["calls"])
    assert refused.is_error and "calls" in refused.content[0].text


def commits(place: Any) -> list[str]:
    """Return the first digits of the two indexed commits."""
    return [place.work_tree("project").git("rev-parse", name)[:12] for name in ("main", "dev")]


def test_a_search_returns_places_with_code_as_text_and_as_structure(client: Any, indexed: Any) -> None:
    answer = client.call_tool("search_code", **{"query": "how long to wait before a retry"})
    assert not answer.is_error
    text = answer.content[0].text
    assert text.startswith("project src/retry.py:1-3  ")
    assert "    return 2.0**attempt" in text
    assert text.endswith(f"Indexed: project main at {indexed.work_tree('project').git('rev-parse', 'HEAD')[:12]}")
    hit = answer.structured_content["results"][0]
    assert (hit["path"], hit["start_line"], hit["symbol"]) == ("src/retry.py", 1, "retry_delay")


def test_filters_and_top_k_are_applied(client: Any) -> None:
    arguments = {"query": "value", "path": "src/l*", "repo": "project", "language": "python", "top_k": 1}
    answer = client.call_tool("search_code", **arguments)
    assert [hit["path"] for hit in answer.structured_content["results"]] == ["src/long.py"]


def test_both_tools_use_the_named_version(client: Any, indexed: Any) -> None:
    commit = indexed.work_tree("project").git("rev-parse", "dev")
    for ref in ("dev", "refs/heads/dev", commit[:10]):
        found = client.call_tool("search_code", query="only_on_dev", ref=ref).structured_content
        assert (found["results"][0]["path"], found["results"][0]["commit"]) == ("src/dev.py", commit)
        assert [(version["ref"], version["indexed_commit"]) for version in found["freshness"]] == [("dev", commit)]
        read = client.call_tool("read_file", repo="project", path="src/dev.py", ref=ref).structured_content
        assert (read["ref"], read["commit"], read["freshness"]["state"]) == ("dev", commit, "ready")
    assert client.call_tool("read_file", repo="project", path="src/dev.py").is_error
    refused = client.call_tool("search_code", query="x", ref="nope")
    assert refused.is_error and "branches main, dev" in refused.content[0].text


def test_a_missing_or_outdated_version_is_indexed_first(new_workspace: Callable[[], Any]) -> None:
    place = new_workspace()
    repository = place.indexed("moving", FILES)
    with asking(place) as client:
        repository.git("checkout", "--quiet", "-b", "dev")
        first = repository.commit({"src/one.py": "def only_on_dev() -> None: ...\n"})
        refused = client.call_tool("search_code", query="only_on_dev", repo="moving", ref="dev")
        assert refused.is_error and refused.content[0].text.endswith("to index it, call again with index: true")
        answer = client.call_tool("search_code", query="only_on_dev", repo="moving", ref="dev", index=True)
        assert answer.structured_content["results"][0]["commit"] == first
        second = repository.commit({"src/two.py": "def later_on_dev() -> None: ...\n"})
        lag = f"moving dev at {first[:12]}, behind commit {second[:12]}"
        deadline = time.monotonic() + 60
        while not client.call_tool("search_code", query="only_on_dev", ref="dev").content[0].text.endswith(lag):
            assert time.monotonic() < deadline, "the new commit is not seen"
        read = client.call_tool("read_file", repo="moving", path="src/two.py", ref="dev", index=True)
        assert read.structured_content["commit"] == second
        refused = client.call_tool("search_code", query="x", repo="moving", ref="nope", index=True)
        assert refused.is_error and "indexing it failed" in refused.content[0].text
        tree = client.call_tool("search_code", query="x", ref=f"workspace:{place.folder}", index=True)
        assert tree.is_error and f"codequarry index --workspace {place.folder}" in tree.content[0].text


def test_a_key_without_the_scope_may_not_index(new_workspace: Callable[[], Any]) -> None:
    place = new_workspace()
    repository = place.indexed("limited", FILES)
    repository.git("tag", "v1")
    assert place.run("keys", "create", "agent", "--repo", "*").code == 0
    with asking(place, "--key", "agent") as client:
        refused = client.call_tool("search_code", query="x", ref="v1", repo="limited", index=True)
        assert refused.is_error and "scope 'index'" in refused.content[0].text
        refused = client.call_tool("search_code", query="x", ref="v1", repo="limited")
        assert "index: true" not in refused.content[0].text


def test_an_empty_result_says_why(client: Any) -> None:
    answer = client.call_tool("search_code", **{"query": "retry", "language": "rust"})
    assert answer.content[0].text.startswith("No results: filter leaves nothing: language = rust")
    assert answer.structured_content["results"] == []


def test_lines_are_returned_with_their_numbers(client: Any) -> None:
    arguments = {"repo": "project", "path": "src/long.py", "start_line": 10, "end_line": 11}
    answer = client.call_tool("read_file", **arguments)
    head, *lines = answer.content[0].text.splitlines()
    assert head.startswith("project src/long.py:10-11 of 1000 at ")
    assert lines == ["10  value_9 = 9", "11  value_10 = 10"]
    assert answer.structured_content["text"] == "value_9 = 9\nvalue_10 = 10\n"


def test_a_long_file_is_returned_in_parts(client: Any) -> None:
    answer = client.call_tool("read_file", **{"repo": "project", "path": "src/long.py"})
    assert (answer.structured_content["end_line"], answer.structured_content["total_lines"]) == (400, 1000)


@pytest.mark.parametrize(
    ("tool", "arguments", "message"),
    [
        ("search_code", {"query": "x", "repo": "projct"}, "repository 'projct' is not indexed; indexed: project"),
        ("search_code", {"query": " "}, "the query is empty"),
        ("search_code", {"query": "x", "top_k": 0}, "top_k"),
        ("read_file", {"repo": "project", "path": "src/retri.py"}, "did you mean src/retry.py"),
        ("read_file", {"repo": "project", "path": "data.bin"}, "it was skipped (binary"),
        ("read_file", {"repo": "project", "path": "src/retry.py", "start_line": 9}, "has lines 1 to 3"),
    ],
)
def test_errors_say_what_to_do(client: Any, tool: str, arguments: dict[str, Any], message: str) -> None:
    answer = client.call_tool(tool, **arguments)
    assert answer.is_error
    assert message in answer.content[0].text


@pytest.fixture(scope="module")
def shared(new_workspace: Callable[[], Any]) -> Any:
    """Return a workspace with content that an agent may see, and content that it may not see."""
    place = new_workspace()
    place.indexed("open", {"docs/plan.md": "# Plan\n\nxylophone retries\n", "src/hidden.py": "xylophone = 'inside'\n"})
    place.indexed("vault", {"vault.py": "xylophone = 'vault'\n"})
    return place


def test_with_a_key_both_tools_see_only_its_grants_and_nothing_after_its_revocation(shared: Any) -> None:
    made = shared.run("keys", "create", "agent", "--repo", "open", "--path", "docs/", "--json").json
    with asking(shared, "--key", "agent") as client:
        for query in ("xylophone", "vault", "hidden inside"):
            found = client.call_tool("search_code", query=query)
            assert not found.is_error
            assert {hit["path"] for hit in found.structured_content["results"]} <= {"docs/plan.md"}
            assert "vault" not in str(found.structured_content["freshness"])
        assert not client.call_tool("read_file", repo="open", path="docs/plan.md").is_error
        for repo, path in (("open", "src/hidden.py"), ("vault", "vault.py")):
            refused = client.call_tool("read_file", repo=repo, path=path)
            assert refused.is_error and "inside" not in refused.content[0].text
        assert "indexed: open" in client.call_tool("search_code", query="x", repo="vault").content[0].text
        assert shared.run("keys", "revoke", made["id"]).code == 0
        for tool, arguments in (
            ("search_code", {"query": "x"}),
            ("read_file", {"repo": "open", "path": "docs/plan.md"}),
        ):
            refused = client.call_tool(tool, **arguments)
            assert refused.is_error and "no key in use has that id or name" in refused.content[0].text
    with asking(shared, "--key", made["id"]) as client:
        refused = client.call_tool("search_code", query="x")
        assert refused.is_error and "revoked" in refused.content[0].text


def test_a_whole_key_is_read_from_the_environment_and_its_secret_is_checked(shared: Any) -> None:
    made = shared.run("keys", "create", "other", "--repo", "vault", "--json").json
    with asking(shared, CODEQUARRY_MCP__KEY=made["key"]) as client:
        found = client.call_tool("search_code", query="xylophone").structured_content
        assert {hit["repo"] for hit in found["results"]} == {"vault"}
    with asking(shared, CODEQUARRY_MCP__KEY=made["key"] + "x") as client:
        assert "not valid" in client.call_tool("search_code", query="xylophone").content[0].text


def test_a_key_that_may_not_search_or_is_empty_is_refused(shared: Any) -> None:
    assert shared.run("keys", "create", "indexer", "--repo", "*", "--scope", "index").code == 0
    with asking(shared, "--key", "indexer") as client:
        assert "scope 'search'" in client.call_tool("search_code", query="x").content[0].text
    outcome = shared.run("mcp", variables={"CODEQUARRY_MCP__KEY": ""})
    assert outcome.code == 2
    assert "CODEQUARRY_MCP__KEY is empty" in outcome.error
    assert shared.run("mcp", "--key", "").code == 2


def test_only_protocol_messages_are_on_stdout(indexed: Any) -> None:
    """A wrong message, an unknown tool and a failing search must not print anything else there."""
    messages = [
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
            "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {
            "name": "search_code", "arguments": {"query": "x"}}},
        {"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": {"name": "nothing", "arguments": {}}},
    ]  # fmt: skip
    with subprocess.Popen(
        [sys.executable, "-m", "codequarry.cli.main", "mcp"], env=indexed.environment, text=True,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
    ) as process:  # fmt: skip
        answers = _answers(process, "".join(json.dumps(message) + "\n" for message in messages), until=3)
    assert {message["jsonrpc"] for message in answers} == {"2.0"}
    assert {message["id"] for message in answers if "id" in message} == {1, 2, 3}
    assert process.returncode == 0


def _answers(process: subprocess.Popen[str], messages: str, until: int) -> list[Any]:
    """Return all JSON lines that a server prints until it has answered ``until`` requests and ended."""
    assert process.stdin and process.stdout
    process.stdin.write(messages)
    process.stdin.flush()
    answers: list[Any] = []
    while sum("id" in message for message in answers) < until:
        answers.append(json.loads(process.stdout.readline()))
    process.stdin.close()
    return [*answers, *(json.loads(line) for line in process.stdout)]
