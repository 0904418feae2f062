"""An index made by the default model of earlier versions, whose package is no longer available."""

import json
from contextlib import closing

import numpy as np
import pytest

from codequarry.ingest.request.index_request import IndexRequest, Workshop
from codequarry.ingest.run.pipeline import index_repository
from codequarry.search_api.http.app import create_app
from codequarry.shared.catalog.ledger import read_head
from codequarry.shared.index.opened_index import open_index
from codequarry.shared.settings.config import SettingsModel
from codequarry.shared.store.factory import editions_of, open_store
from codequarry.shared.store.records import StoredRow
from codequarry.shared.versions.moves import published

FILES = {
    "net/retry.py": "def backoff(attempt):\n    # wait longer after every failed request\n    return 2 ** attempt\n",
    "net/server.py": "def serve(port):\n    return open_socket(port)\n",
}
COMMAND = "codequarry migrate --model codequarry-1"
SAID = "embedding model 'wordllama' was removed: set [embedding] model = \"codequarry-1\""
STILL_NAMED = {"CODEQUARRY_EMBEDDING__MODEL": "wordllama"}


class WordLlama:
    """Has the name of that model, and vectors that differ from those of the current model."""

    name = "wordllama-l2-256-f32d296c"
    dimension = 256
    leaves_machine = False
    max_tokens = None
    preferred_batch = 256

    def __init__(self, embedder):
        self._embedder = embedder

    def windows(self, text):
        return self._embedder.windows(text)

    def embed_documents(self, texts):
        return np.ascontiguousarray(self._embedder.embed_documents(texts)[:, ::-1])

    def embed_query(self, text):
        return self.embed_documents([text])[0]

    def close(self):
        pass


@pytest.fixture
def old(workspace, embedder):
    """Return a workspace with an index made by that model."""
    repository = workspace.repository("project", FILES)
    settings = SettingsModel(home=workspace.folder / "home", embedding={"model": "wordllama"})
    model = WordLlama(embedder)
    with closing(open_store(settings, model.dimension)) as store:
        index_repository(IndexRequest(str(repository.folder)), Workshop(store, model, settings))
    return workspace


def stored_vectors(home):
    """Return the vector of every chunk by path, and the name of the model that searches use."""
    settings = SettingsModel(home=home)
    with closing(editions_of(settings)) as editions, closing(open_index(settings, editions)) as index:
        (timeline,) = published(read_head(index.store))
        rows = [stored.row for stored in index.store.history(timeline) if isinstance(stored, StoredRow)]
        vectors = index.store.cached_vectors(row.vector_key for row in rows)
        return {row.chunk.path: vectors[row.vector_key] for row in rows}, index.embedder.name


@pytest.mark.parametrize("variables", [{}, STILL_NAMED], ids=["the default model", "wordllama"])
def test_it_answers_by_words_and_names_migrate_whatever_the_settings(old, variables):
    answer = old.run("search", "backoff attempt", "--json", variables=variables).json
    assert answer["results"][0]["path"] == "net/retry.py"
    (warning,) = answer["degraded"]
    assert warning.startswith(
        f"embedding: answers use words only, because the model of this index can't be used ({SAID}"
    )
    assert warning.endswith(f"run `{COMMAND}`")
    assert COMMAND in old.run("search", "backoff attempt", variables=variables).err
    status = old.run("status", "--json", variables=variables).json
    assert (status["model"]["name"], status["degraded"]) == (WordLlama.name, [warning])
    assert COMMAND in old.run("status", variables=variables).out
    doctor = json.loads(old.run("doctor", "--json", variables=variables).out)
    assert COMMAND in {check["name"]: check for check in doctor["checks"]}["model"]["message"]
    embedding = {"model": variables.get("CODEQUARRY_EMBEDDING__MODEL", "codequarry-1")}
    trusting = SettingsModel(home=old.folder / "home", embedding=embedding, api={"trust_loopback": True})
    client = create_app(trusting).test_client()
    assert client.post("/search-code", json={"query": "backoff attempt"}).get_json()["degraded"] == [warning]


def test_migrate_makes_it_an_index_of_the_current_model(old, embedder):
    before, _ = stored_vectors(old.folder / "home")
    report = old.run("migrate", "--json").json
    assert (report["moved"], report["previous"], report["name"]) == (True, WordLlama.name, embedder.name)
    answer = old.run("search", "backoff attempt", "--json").json
    assert (answer["results"][0]["path"], answer["degraded"]) == ("net/retry.py", [])
    after, name = stored_vectors(old.folder / "home")
    assert name == embedder.name
    assert after.keys() == before.keys()
    for path, vector in after.items():
        np.testing.assert_allclose(vector, before[path][::-1], atol=1e-6)
    assert old.run("status", "--json").json["degraded"] == []
    unchanged = old.run("index", old.folder / "project", "--json").json
    assert (unchanged["changed"], unchanged["embedded"]) == (False, 0)


def test_settings_that_still_name_the_old_model_are_refused_in_one_line(old):
    for command in (("index", old.folder / "project"), ("migrate",)):
        refused = old.run(*command, variables=STILL_NAMED)
        assert (refused.code, refused.error.startswith(f"error: {SAID}")) == (2, True), refused.error
        assert refused.error.endswith(f"`{COMMAND}`")
    assert old.run("migrate", "--model", "codequarry-1", variables=STILL_NAMED).code == 0
    assert old.run("search", "backoff attempt", "--json", variables=STILL_NAMED).json["degraded"] == []
    assert old.run("index", old.folder / "project").code == 0


def test_settings_with_a_dimension_of_that_model_are_refused_in_one_line(old):
    refused = old.run("index", old.folder / "project", variables={"CODEQUARRY_EMBEDDING__DIMENSIONS": "64"})
    assert refused.error == "error: [embedding] dimensions = 64: 'codequarry-1' has 256; unset it"
