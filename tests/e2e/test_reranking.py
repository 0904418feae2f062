"""The second stage on the command line, before and after its model is installed."""

import shutil
from pathlib import Path
from typing import Any

FILES = {
    "read.py": "def read_lines(path):\n    with open(path, encoding='utf-8') as file:\n        return list(file)\n",
    "wait.py": "def backoff(attempt):\n    # wait longer after every failed request\n    time.sleep(2**attempt)\n",
}
QUESTION = "how long is the pause before trying again"


def test_search_and_doctor_report_a_missing_model_and_then_use_it(workspace: Any, models_folder: Path) -> None:
    workspace.indexed("core", FILES)
    without = workspace.run("search", "--rerank", QUESTION)
    assert (without.code, without.err.count("models install")) == (0, 1), "reported once, and not logged as well"
    assert "answered without reranking: " in without.err
    (warning,) = workspace.run("search", "--rerank", "--json", QUESTION).json["degraded"]
    assert "is not installed" in warning
    assert "run `codequarry models install minilm`" in without.err
    switched_on = {"CODEQUARRY_RERANKING__ENABLED": "true", "CODEQUARRY_RERANKING__TIMEOUT_SECONDS": "30"}
    assert "is not installed" in workspace.run("doctor", variables=switched_on).out

    shutil.copytree(models_folder, workspace.folder / "home" / "models")
    answer = workspace.run("search", QUESTION, "--explain", "--json", variables=switched_on).json
    assert answer["degraded"] == []
    assert answer["results"][0]["path"] == "wait.py"
    assert answer["results"][0]["explain"]["reranking"]["rerank_score"] == answer["results"][0]["rerank_score"]
    assert "model 0." in workspace.run("search", QUESTION, "--explain", variables=switched_on).out
    checks = {check["name"]: check for check in workspace.run("doctor", "--json", variables=switched_on).json["checks"]}
    assert checks["reranking"]["state"] == "ok"
    in_haste = switched_on | {"CODEQUARRY_RERANKING__TIMEOUT_SECONDS": "0.001"}
    checks = {check["name"]: check for check in workspace.run("doctor", "--json", variables=in_haste).json["checks"]}
    assert checks["reranking"]["state"] == "warn", "a missing score is a warning"
    assert "no score within 0.001 s" in checks["reranking"]["message"]
    plain = workspace.run("search", QUESTION, "--no-rerank", "--json", variables=switched_on).json
    assert not any("rerank_score" in hit for hit in plain["results"])
