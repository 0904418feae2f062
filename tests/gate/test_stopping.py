"""A run that waits for a silent server, or computes for a long time, ends when it is told to."""

import json
import signal
import socket
import threading
import time

import pytest

from codequarry.shared.embedding.factory import open_embedder
from codequarry.shared.errors import Stopped
from codequarry.shared.settings.config import EmbeddingSettings
from codequarry.shared.stop_request import stoppable
from codequarry.shared.store.embedded.database import Database
from tests.gate.running import STOP_SECONDS, ask, run, served, wait_until


class Silent:
    """A server that accepts connections and never answers."""

    def __init__(self):
        self.listening = socket.create_server(("127.0.0.1", 0))
        self.taken = []
        threading.Thread(target=self._take, daemon=True).start()

    def _take(self):
        while True:
            try:
                self.taken.append(self.listening.accept()[0])
            except OSError:
                return

    @property
    def settings(self):
        url = f"http://127.0.0.1:{self.listening.getsockname()[1]}/v1"
        return {"base_url": url, "model": "silent", "dimensions": 64, "batch_size": 1}

    def close(self):
        self.listening.shutdown(socket.SHUT_RDWR)
        self.listening.close()
        for connection in self.taken:
            connection.close()


@pytest.fixture
def silent():
    server = Silent()
    yield server
    server.close()


def begin(address, origin, silent):
    """Add a repository, and return its job when it waits for the server."""
    before = len(silent.taken)
    job = str(ask(address, "/repos", {"origin": origin})["job_id"])
    wait_until(lambda: len(silent.taken) > before, told=lambda: ask(address, f"/jobs/{job}"))
    return job


def test_a_job_waiting_for_a_silent_embeddings_server_ends_if_it_is_cancelled_or_the_service_stops(
    tmp_path, make_repository, silent
):
    repository = make_repository(files={f"f{number}.py": f"def f{number}():\n    return 1\n" for number in range(9)})
    settings = [f"embedding.{name}={value}" for name, value in silent.settings.items()]
    with served(tmp_path / "home", *settings) as (process, address):
        job = begin(address, repository.origin, silent)
        told = time.monotonic()
        ask(address, f"/jobs/{job}/cancel", {})
        wait_until(lambda: ask(address, f"/jobs/{job}")["state"] == "cancelled")
        assert time.monotonic() - told < STOP_SECONDS
        job = begin(address, repository.origin, silent)
        told = time.monotonic()
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0
        assert time.monotonic() - told < STOP_SECONDS
    left = json.loads(run(tmp_path / "home", "jobs", "show", job, "--json").said)
    assert (left["state"], left["attempts"]) == ("queued", 0)


def test_an_embedder_waiting_for_a_silent_server_is_closed_at_once(silent):
    embedder = open_embedder(EmbeddingSettings(**silent.settings), "models")
    told = threading.Event()

    def check():
        if silent.taken:
            told.set()
            raise Stopped("a test")

    began = time.monotonic()
    with stoppable(check), pytest.raises(Stopped):
        embedder.embed_documents(["one", "two", "three"])
    embedder.close()
    assert time.monotonic() - began < STOP_SECONDS


@pytest.mark.parametrize("statement", ["DELETE FROM big WHERE b IN (SELECT b FROM big ORDER BY b DESC)", "VACUUM"])
def test_a_long_database_statement_is_rolled_back_if_the_run_must_end(tmp_path, statement):
    database = Database(tmp_path / "store", 4)
    with database.writing() as connection:
        connection.execute("CREATE TABLE big (a, b)")
        counted = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 200000)"
        connection.execute(f"{counted} INSERT INTO big SELECT i, hex(randomblob(20)) FROM n")

    def check():
        raise Stopped("a test")

    def act():
        if statement == "VACUUM":
            database.erase_unused()
        else:
            with database.writing() as connection:
                connection.execute(statement)

    with stoppable(check), pytest.raises(Stopped):
        act()
    with database.reading() as connection:
        assert connection.execute("SELECT count(*) FROM big").get == 200_000
    database.close()
