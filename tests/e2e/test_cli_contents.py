"""Reading an index through the command line: search, files, chunks, repos, status, doctor."""

import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

FILES = {
    "src/retry.py": (
        '"""Retries."""\n\nMAX_ATTEMPTS = 5\n\n\ndef retry_delay(attempt: int) -> float:\n'
        '    """Return the seconds to wait before the next attempt."""\n    return min(2.0**attempt, 60.0)\n'
    ),
    "src/server.go": "package server\n\n// Serve answers requests.\nfunc Serve(port int) error {\n\treturn nil\n}\n",
    "tests/test_retry.py": "def test_retry_delay() -> None:\n    assert retry_delay(1) == 2\n",
    "data.bin": bytes(range(256)),
    "empty.py": "",
    'a "quoted"\nname.py': "def oddly_placed() -> None: ...\n",
}


@pytest.fixture(scope="module")
def indexed(new_workspace: Callable[[], Any]) -> Any:
    """Return a workspace with a small indexed repository, for tests that only read."""
    place = new_workspace()
    place.indexed("project", FILES)
    return place


def test_a_search_as_text_shows_place_and_code(indexed: Any) -> None:
    outcome = indexed.run("search", "retry_delay", "--top-k", 1)
    head, *code = outcome.out.splitlines()
    assert head.startswith("src/retry.py:")
    assert "retry_delay" in head
    assert any("def retry_delay(attempt: int) -> float:" in line for line in code)
    assert "\x1b" not in outcome.out


def test_a_search_as_json_is_the_body_of_the_api(indexed: Any) -> None:
    body = indexed.run("search", "seconds to wait before the next attempt", "--json").json
    assert set(body) >= {"results", "freshness", "degraded", "reason", "suggestion", "next_cursor", "took_ms"}
    hit = body["results"][0]
    commit = indexed.work_tree("project").git("rev-parse", "HEAD")
    assert (hit["repo"], hit["path"], hit["commit"]) == ("project", "src/retry.py", commit)
    lines = indexed.work_tree("project").git("show", "HEAD:src/retry.py").split("\n")
    assert hit["text"].splitlines() == lines[hit["start_line"] - 1 : hit["end_line"]]


@pytest.mark.parametrize(
    ("flags", "paths"),
    [
        (["--language", "go"], {"src/server.go"}),
        (["--lang", "go", "--language", "python", "--path", "src/**"], {"src/server.go", "src/retry.py"}),
        (["--no-tests", "--path", "*retry*"], {"src/retry.py"}),
        (["--filter", "kind_of_file=test"], {"tests/test_retry.py"}),
        (["--path", "!src/**", "--path", "!tests/**"], {'a "quoted"\nname.py'}),
    ],
)
def test_options_filter_the_results(indexed: Any, flags: list[str], paths: set[str]) -> None:
    body = indexed.run("search", "retry serve oddly placed", *flags, "--json").json
    assert {hit["path"] for hit in body["results"]} == paths


def test_a_search_imports_nothing_that_only_servers_need(indexed: Any) -> None:
    """Users wait for a search, so modules that only services, retries and terminals need must not be imported."""
    script = (
        "import sys; from codequarry.cli.main import run; run(['search', 'retry', '--json']);"
        "heavy = {'flask', 'mcp', 'opensearchpy', 'openai', 'stamina', 'structlog', 'rich', 'git', 'gunicorn'};"
        "print(sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", script], env=indexed.environment, capture_output=True, text=True)
    assert done.stdout.splitlines()[-1] == "[]"


def test_top_k_has_several_spellings(indexed: Any) -> None:
    for flag in ("--top-k", "--topk", "-k"):
        assert len(indexed.run("search", "retry", flag, 2, "--json").json["results"]) == 2


def test_an_explanation_is_one_line_for_the_score_and_one_for_the_history(indexed: Any) -> None:
    outcome = indexed.run("search", "retry_delay", "--explain", "-k", 1, "--lines", 0)
    _, score, history = outcome.out.splitlines()
    assert "recalled by" in score and history.startswith("    @ ")


def test_an_empty_result_is_not_a_failure_and_says_why(indexed: Any) -> None:
    outcome = indexed.run("search", "retry", "--language", "rust")
    assert (outcome.code, outcome.out) == (0, "")
    assert outcome.err.startswith("no results: filter leaves nothing: language = rust")


def test_an_empty_index_says_how_to_fill_it(workspace: Any) -> None:
    outcome = workspace.run("search", "anything")
    assert outcome.code == 0
    assert outcome.err == "no results: not indexed yet\ntry: index a repository: codequarry index PATH_OR_URL\n"


@pytest.mark.parametrize("arguments", [["search", "x"], ["files", "x"], ["repos", "list"], ["status"]])
def test_reading_commands_make_no_data_folder(workspace: Any, arguments: list[str]) -> None:
    workspace.run(*arguments)
    assert not (workspace.folder / "home").exists()


def test_an_unknown_repository_is_answered_with_the_indexed_ones(indexed: Any) -> None:
    for arguments in (["search", "x", "--repo", "projct"], ["files", "projct"], ["chunks", "projct", "x"]):
        outcome = indexed.run(*arguments)
        assert outcome.error == "error: repository 'projct' is not indexed; indexed: project"
        assert outcome.code == 1


def test_every_file_is_listed_as_indexed_or_with_a_reason(indexed: Any) -> None:
    body = indexed.run("files", "project", "--json").json
    listed = [*body["files"], *body["skipped"]]
    tree = indexed.work_tree("project").git("ls-tree", "-r", "-z", "HEAD").split("\0")
    assert {(file["blob"], file["path"]) for file in listed} == {
        (entry.split()[2], entry.partition("\t")[2]) for entry in tree if entry
    }
    assert [(file["path"], file["reason"]) for file in body["skipped"]] == [("data.bin", "binary")]


def test_the_list_of_files_as_text_has_one_line_per_file(indexed: Any) -> None:
    outcome = indexed.run("files", "project")
    assert r'a "quoted"\nname.py' in outcome.out
    assert "data.bin" in outcome.out.partition("skipped:\n")[2]
    commit = indexed.work_tree("project").git("rev-parse", "--short=12", "HEAD")
    assert outcome.err == f"project main at {commit}: 5 files indexed, 1 skipped\n"


def test_chunks_cover_the_file(indexed: Any) -> None:
    body = indexed.run("chunks", "project", "src/retry.py", "--json").json
    covered = {line for chunk in body["chunks"] for line in range(chunk["start_line"], chunk["end_line"] + 1)}
    assert covered == set(range(1, 9))
    assert any("retry_delay" in chunk["defines"] for chunk in body["chunks"])
    assert indexed.run("chunks", "project", "src/retry.py").err.startswith(
        "3 chunks in src/retry.py of project main at "
    )


def test_an_empty_file_has_no_chunks(indexed: Any) -> None:
    assert indexed.run("chunks", "project", "empty.py", "--json").json["chunks"] == []


@pytest.mark.parametrize(
    ("path", "message"),
    [("data.bin", "skipped (binary"), ("src/retri.py", "did you mean src/retry.py"), ("nothing", "is not in project")],
)
def test_a_file_without_chunks_says_why(indexed: Any, path: str, message: str) -> None:
    outcome = indexed.run("chunks", "project", path)
    assert message in outcome.error
    assert outcome.code == 1


def test_repositories_are_listed(indexed: Any) -> None:
    (repository,) = indexed.run("repos", "list", "--json").json["repos"]
    assert (repository["name"], repository["branch"], repository["state"], repository["files"]) == (
        "project",
        "main",
        "ready",
        5,
    )
    assert repository["skipped"] == {"binary": 1}
    assert indexed.run("repos", "list").out.startswith("project  main  ")


def test_a_removed_repository_leaves_nothing(workspace: Any) -> None:
    workspace.indexed("project", FILES)
    assert workspace.run("repos", "rm", "project", "--yes").code == 0
    assert workspace.run("repos", "list", "--json").json == {"repos": []}
    assert workspace.run("search", "retry", "--json").json["results"] == []
    assert workspace.run("repos", "rm", "project", "--yes").code == 1


def test_status_shows_store_model_disk_and_repositories(indexed: Any) -> None:
    body = indexed.run("status", "--json").json
    assert body["home"] == str(indexed.folder / "home")
    assert (body["store"]["kind"], body["model"]["dimension"], body["files"]) == ("embedded", 256, 5)
    assert body["disk"]["used"] > 0
    assert body["imports"] == []
    assert indexed.run("status").out.startswith("store         embedded, ")


def test_doctor_finds_nothing_wrong(indexed: Any) -> None:
    body = indexed.run("doctor", "--json").json
    states = {check["name"]: check["state"] for check in body["checks"]}
    assert {name for name, state in states.items() if state == "fail"} == set()
    assert set(states) >= {"settings", "home", "disk", "git", "model", "store", "identity", "imports", "grants"}


def test_doctor_fails_with_a_remedy(workspace: Any) -> None:
    (workspace.folder / "file").write_text("")
    outcome = workspace.run("doctor", "--json", variables={"CODEQUARRY_HOME": "file"})
    assert outcome.code == 1
    checks = {check["name"]: check for check in json.loads(outcome.out)["checks"]}
    assert checks["home"]["state"] == "fail"
    assert checks["home"]["remedy"].startswith("set CODEQUARRY_HOME")


def test_doctor_reports_an_unreachable_store_only_once(workspace: Any) -> None:
    variables = {"CODEQUARRY_STORE": "opensearch", "CODEQUARRY_OPENSEARCH__URLS": "http://127.0.0.1:1"}
    variables |= {"CODEQUARRY_OPENSEARCH__MAX_RETRIES": "0"}
    outcome = workspace.run("doctor", variables=variables)
    assert outcome.code == 1
    (failed,) = [line for line in outcome.out.splitlines() if line.startswith("fail")]
    assert failed.startswith("fail  store: OpenSearch at http://127.0.0.1:1 does not answer")
    assert "Traceback" not in outcome.err


def test_another_model_is_refused_with_the_command_to_run(indexed: Any, place_table: Any) -> None:
    place_table(indexed.folder / "home" / "models" / "small", 64)
    variables = {"CODEQUARRY_EMBEDDING__MODEL": "small"}
    outcome = indexed.run("index", "project", variables=variables)
    assert outcome.code == 1
    assert outcome.error.startswith("error: ")
    assert "model" in outcome.error
    checks = json.loads(indexed.run("doctor", "--json", variables=variables).out)["checks"]
    assert [(check["name"], check["state"]) for check in checks if check["state"] != "ok"] == [("identity", "warn")]


def test_a_search_on_a_terminal_has_colours(indexed: Any) -> None:
    script = (
        "import pty, sys; "
        "sys.exit(pty.spawn([sys.executable, '-m', 'codequarry.cli.main', 'search', 'retry_delay', '-k', '1']) >> 8)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], env=indexed.environment | {"TERM": "xterm-256color"}, stdin=subprocess.DEVNULL,
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert "\x1b[" in done.stdout
    assert "retry_delay" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "section"),
    [
        (["index", "project"], "codequarry index"),
        (["index", "project", "--dry-run", "--full"], "codequarry index"),
        (["files", "project"], "codequarry files"),
        (["chunks", "project", "src/retry.py"], "codequarry chunks"),
        (["repos", "list"], "codequarry repos list"),
        (["status"], "codequarry status"),
        (["doctor"], "codequarry doctor"),
        (["config"], "codequarry config"),
        (["models"], "codequarry models"),
    ],
)
def test_every_field_of_every_document_is_described(indexed: Any, arguments: list[str], section: str) -> None:
    page = (Path(__file__).parents[2] / "docs" / "cli.md").read_text()
    described = next(part for part in page.split("\n## ") if part.startswith(section))
    named = set(re.findall(r"`(\w+)(?:\[\])?`", described))
    body = indexed.run(*arguments, "--json").json
    lists = {name: value for name, value in body.items() if isinstance(value, list) and name not in ("chunks", "repos")}
    inner = {field for value in lists.values() for entry in value if isinstance(entry, dict) for field in entry}
    assert (set(body) | inner) - named == set()
