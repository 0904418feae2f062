"""The second stage at the command line, before its model is installed and after."""

import shutil
from pathlib import Path
from typing import Any

FILES = {
    "read.py": "def read_lines(path):\n    with open(path, encoding='utf-8') as file:\n        return list(file)\n",
    "wait.py": "def backoff(attempt):\n    # wait longer after every failed request\n    time.sleep(2**attempt)\n",
}
QUESTION = "how long is the pause before trying again"


def test_a_search_and_the_doctor_say_what_is_missing_and_then_use_it(workspace: Any, models_folder: Path) -> None:
    workspace.indexed("core", FILES)
    without = workspace.run("search", "--rerank", QUESTION)
    assert (without.code, without.err.count("models install")) == (0, 1), "said once, not logged besides"
    assert "answered without reranking: " in without.err
    (told,) = workspace.run("search", "--rerank", "--json", QUESTION).json["degraded"]
    assert "is not installed" in told
    assert "run `codequarry models install minilm`" in without.err
    switched_on = {"CODEQUARRY_RERANKING__ENABLED": "true", "CODEQUARRY_RERANKING__TIMEOUT_SECONDS": "30"}
    assert "is not installed" in workspace.run("doctor", variables=switched_on).out

    shutil.copytree(models_folder, workspace.folder / "home" / "models")
    answer = workspace.run("search", QUESTION, "--explain", "--json", variables=switched_on).json
    assert answer["degraded"] == []
    assert answer["results"][0]["path"] == "wait.py"
    assert answer["results"][0]["explain"]["reranking"]["rerank_score"] == answer["results"][0]["rerank_score"]
    assert "model 0." in workspace.run("search", QUESTION, "--explain", variables=switched_on).out
    checks = {one["name"]: one for one in workspace.run("doctor", "--json", variables=switched_on).json["checks"]}
    assert checks["reranking"]["state"] == "ok"
    in_haste = switched_on | {"CODEQUARRY_RERANKING__TIMEOUT_SECONDS": "0.001"}
    checks = {one["name"]: one for one in workspace.run("doctor", "--json", variables=in_haste).json["checks"]}
    assert checks["reranking"]["state"] == "warn", "a score that did not come is none"
    assert "no score within 0.001 s" in checks["reranking"]["message"]
    plain = workspace.run("search", QUESTION, "--no-rerank", "--json", variables=switched_on).json
    assert not any("rerank_score" in hit for hit in plain["results"])
