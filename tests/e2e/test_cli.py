"""Properties of the whole command line: help, exit codes, one-line errors, settings."""

import re
import subprocess
import sys
from typing import Any

import pytest

COMMANDS = (
    "index", "search", "serve", "mcp", "files", "chunks", "repos", "repos list", "repos rm", "status", "doctor",
    "config", "opensearch", "models", "embed-check",
)  # fmt: skip


def test_the_version_is_printed(workspace: Any) -> None:
    assert workspace.run("--version").out.startswith("codequarry 0.")


def test_the_help_names_every_command(workspace: Any) -> None:
    text = workspace.run("--help").out
    for command in COMMANDS:
        assert f"\n  {command.split()[0]} " in text


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help(workspace: Any, command: str) -> None:
    outcome = workspace.run(*command.split(), "--help")
    assert outcome.code == 0
    assert outcome.out.startswith(f"Usage: codequarry {command} ")


@pytest.mark.parametrize("command", [name for name in COMMANDS if name not in ("repos", "opensearch", "models")])
def test_the_help_of_every_command_has_examples(workspace: Any, command: str) -> None:
    assert f"\n    codequarry {command}" in workspace.run(*command.split(), "--help").out


def test_the_help_imports_nothing_slow() -> None:
    """Slow imports must not delay the help."""
    script = (
        "import sys; from codequarry.cli.main import run; run(['--help']);"
        "heavy = {'numpy', 'pydantic', 'flask', 'mcp', 'opensearchpy', 'rich', 'apsw', 'openai', 'tokenizers'};"
        "print(sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["confg"], "error: No such command 'confg'. Did you mean 'config'? (see codequarry --help)"),
        (["config", "--jsn"], "error: No such option: --jsn (Possible options: --json) (see codequarry config --help)"),
        (["search"], "error: Missing argument 'QUERY' (see codequarry search --help)"),
        (["search", "x", "--lines", "many"], "error: Invalid value for '--lines': "),
        (["search", "x", "--filter", "kind"], "error: --filter 'kind': write FIELD=VALUE"),
        (["search", "x", "--filter", "knd=a"], "error: unknown filter 'knd'; known: "),
        (["search", " "], "error: the query is empty"),
        (
            ["--set", "api.prt=1", "config"],
            "error: unknown setting 'api.prt' in the command line; did you mean api.po",
        ),
        (
            ["--set", "api.port=x", "config"],
            "error: setting api.port = 'x' (command line) is invalid: it should be",
        ),
        (["repos", "rm", "x"], "error: removing x cannot be undone; use --yes"),
    ],
)
def test_wrong_usage_is_one_line_and_exit_code_2(workspace: Any, arguments: list[str], message: str) -> None:
    outcome = workspace.run(*arguments)
    assert outcome.error.startswith(message)
    assert outcome.code == 2


def test_a_failure_is_one_line_and_exit_code_1(workspace: Any) -> None:
    outcome = workspace.run("files", "nothing")
    assert outcome.error == "error: repository 'nothing' is not indexed; indexed: none"
    assert outcome.code == 1


def test_the_traceback_is_shown_on_request(workspace: Any) -> None:
    outcome = workspace.run("files", "nothing", variables={"CODEQUARRY_DEBUG": "1"})
    assert "Traceback (most recent call last)" in outcome.err
    assert outcome.err.splitlines()[-1].startswith("error: repository 'nothing'")


def test_without_a_command_the_help_goes_to_stderr(workspace: Any) -> None:
    outcome = workspace.run()
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err.startswith("Usage: codequarry")


def test_config_shows_the_source_of_each_value(workspace: Any) -> None:
    (workspace.folder / "codequarry.toml").write_text('[embedding]\nmodel = "minilm"\n')
    body = workspace.run(
        "--set", "api.threads=2", "config", "--json", variables={"CODEQUARRY_GIT__TOKEN": "s3cret"}
    ).json
    assert body["file"] == str(workspace.folder / "codequarry.toml")
    settings = body["settings"]
    assert settings["embedding.model"] == {"value": "minilm", "source": body["file"]}
    assert settings["git.token"] == {"value": "********", "source": "CODEQUARRY_GIT__TOKEN"}
    assert settings["api.threads"] == {"value": 2, "source": "command line"}
    assert settings["api.port"] == {"value": 8080, "source": "default"}
    assert settings["home"]["source"] == "CODEQUARRY_HOME"


def test_config_as_text_shows_the_same_without_secrets(workspace: Any) -> None:
    outcome = workspace.run("config", variables={"CODEQUARRY_OPENSEARCH__URLS": "https://me:s3cret@host:9200"})
    assert re.search(r"^opensearch.urls +https://\*{8}@host:9200 +CODEQUARRY_OPENSEARCH__URLS$", outcome.out, re.M)
    assert "s3cret" not in outcome.out


def test_a_reader_that_stops_early_is_not_an_error(workspace: Any) -> None:
    command = f"{sys.executable} -m codequarry.cli.main config --json | true"
    done = subprocess.run(
        ["bash", "-c", f"{command}; echo ${{PIPESTATUS[0]}}"],
        env=workspace.environment,
        capture_output=True,
        text=True,
        check=True,
    )
    assert (done.stdout, done.stderr) == ("0\n", "")
