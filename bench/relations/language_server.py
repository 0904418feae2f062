"""A client of a language server that speaks over standard input and output."""

import json
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any
from urllib.parse import unquote, urlparse

BATCH = 200


@dataclass(frozen=True, slots=True)
class Target:
    """Where a definition stands: an absolute path, a line from 1 and a column from 0 in UTF-16 units."""

    path: Path
    line: int
    column: int


class LanguageServer:
    """A running language server with one folder open."""

    def __init__(self, reader: IO[bytes], writer: IO[bytes], settings: Mapping[str, Any]) -> None:
        self._reader, self._writer, self._settings = reader, writer, settings
        self._last = 0

    def initialize(self, root: Path) -> None:
        """Open a folder."""
        uri = root.as_uri()
        folders = [{"uri": uri, "name": root.name}]
        capabilities = {"workspace": {"configuration": True, "workspaceFolders": True}}
        request = {"processId": None, "rootUri": uri, "workspaceFolders": folders, "capabilities": capabilities}
        self._answers([self._request("initialize", request)])
        self._notify("initialized", {})

    def definitions(
        self, path: Path, text: str, language: str, places: Sequence[tuple[int, int]]
    ) -> list[tuple[Target, ...]]:
        """Return the definitions of the names at the given lines (from 1) and columns (from 0, in characters)."""
        uri, lines = path.as_uri(), text.split("\n")
        document = {"uri": uri, "languageId": language, "version": 1, "text": text}
        self._notify("textDocument/didOpen", {"textDocument": document})
        found: list[tuple[Target, ...]] = []
        for start in range(0, len(places), BATCH):
            requests = [self._ask(uri, lines, *place) for place in places[start : start + BATCH]]
            answers = self._answers(requests)
            found += [_targets(answers[request]) for request in requests]
        self._notify("textDocument/didClose", {"textDocument": {"uri": uri}})
        return found

    def _ask(self, uri: str, lines: Sequence[str], line: int, column: int) -> int:
        units = len(lines[line - 1][:column].encode("utf-16-le")) // 2
        position = {"line": line - 1, "character": units}
        return self._request("textDocument/definition", {"textDocument": {"uri": uri}, "position": position})

    def _request(self, method: str, params: Mapping[str, Any]) -> int:
        self._last += 1
        self._send({"id": self._last, "method": method, "params": params})
        return self._last

    def _notify(self, method: str, params: Mapping[str, Any]) -> None:
        self._send({"method": method, "params": params})

    def _send(self, message: Mapping[str, Any]) -> None:
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        self._writer.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
        self._writer.flush()

    def _answers(self, requests: Sequence[int]) -> dict[int, Any]:
        """Read messages until every request has its answer; answer what the server asks in between."""
        answers: dict[int, Any] = {}
        while not answers.keys() >= set(requests):
            message = self._receive()
            if "method" not in message:
                answers[message["id"]] = message.get("result")
            elif "id" in message:
                self._send({"id": message["id"], "result": self._reply(message)})
        return answers

    def _reply(self, message: Mapping[str, Any]) -> Any:  # noqa: ANN401
        if message["method"] == "workspace/configuration":
            return [self._settings.get(item.get("section")) for item in message["params"]["items"]]
        return None

    def _receive(self) -> dict[str, Any]:
        length = 0
        while line := self._reader.readline().strip():
            name, _, value = line.partition(b":")
            if name.lower() == b"content-length":
                length = int(value)
        if not length:
            raise ConnectionError("The language server has stopped; run it by hand to see its error.")
        message: dict[str, Any] = json.loads(self._reader.read(length))
        return message


@contextmanager
def language_server(command: Sequence[str], root: Path, settings: Mapping[str, Any]) -> Iterator[LanguageServer]:
    """Run a language server on a folder and end it afterwards."""
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=root) as process:
        assert process.stdin and process.stdout
        try:
            server = LanguageServer(process.stdout, process.stdin, settings)
            server.initialize(root)
            yield server
        finally:
            process.kill()


def _targets(result: Any) -> tuple[Target, ...]:  # noqa: ANN401
    """Read the answer, which is one location, a list of locations or a list of links."""
    found = result if isinstance(result, list) else [result] if result else []
    return tuple(_target(location) for location in found)


def _target(location: Mapping[str, Any]) -> Target:
    uri = location.get("targetUri") or location["uri"]
    start = (location.get("targetSelectionRange") or location["range"])["start"]
    return Target(Path(unquote(urlparse(uri).path)), start["line"] + 1, start["character"])
