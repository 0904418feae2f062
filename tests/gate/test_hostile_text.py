"""A repository whose names, code and messages contain terminal sequences: no output may pass them on."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

# ESC and C1 sequences, a title, a cursor that moves back, and characters that change the text direction.
HOSTILE = "\x1b[31m\x1b]0;owned\x07\x9b2J\u202e\u2066\u200f\u061c[red]"
OBEYED = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
PATH = f"src/{HOSTILE}.py"
CODE = f'def retry_later():\n    """Retry {HOSTILE} later."""\n    return "{HOSTILE}\rgone"\n'
SECRET_FREE = {name: value for name, value in os.environ.items() if not name.startswith(("CODEQUARRY_", "GIT_"))}


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., subprocess.CompletedProcess[bytes]]:
    """Return a function that runs the command line on an index of that repository."""
    folder = tmp_path_factory.mktemp("hostile")
    repository = folder / "hostile"
    (repository / "src").mkdir(parents=True)
    (repository / PATH).write_text(CODE, newline="")
    account = ("-c", "user.name=Test", "-c", "user.email=test@example.org", "-c", "commit.gpgsign=false")
    environment = SECRET_FREE | {"CODEQUARRY_HOME": str(folder / "home"), "GIT_CONFIG_GLOBAL": os.devnull}
    branch = ("init", "--quiet", "--initial-branch", "odd\u202ename")
    for arguments in (branch, ("add", "."), ("commit", "--quiet", "-m", HOSTILE)):
        subprocess.run(["git", *account, *arguments], cwd=repository, check=True, env=environment)

    def run(*arguments: str | Path, **streams: int) -> subprocess.CompletedProcess[bytes]:
        command = [sys.executable, "-m", "codequarry.cli.main", *map(str, arguments)]
        given = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | streams
        return subprocess.run(command, cwd=folder, env=environment, timeout=120, check=False, **given)

    done = run("index", repository)
    assert done.returncode == 0, done.stderr
    assert not OBEYED.search((done.stdout + done.stderr).decode())
    return run


def listed(run: Callable[..., subprocess.CompletedProcess[bytes]]) -> str:
    return json.loads(run("repos", "list", "--json").stdout)["repos"][0]["name"]


COMMANDS = {
    "search": ("search", "retry later"),
    "search by name": ("search", "retry_later", "--explain"),
    "no such repository": ("search", f"repo:{HOSTILE} x"),
    "no such version": ("search", "x", "--branch", HOSTILE),
    "no such option": (f"--{HOSTILE}",),
    "no such command": (HOSTILE,),
    "no such file": ("index", f"/nowhere/{HOSTILE}"),
    "repos": ("repos", "list"),
    "jobs": ("jobs", "list", "--repo", HOSTILE),
    "status": ("status",),
    "files": ("files", "hostile"),
    "chunks": ("chunks", "hostile", PATH),
    "doctor": ("doctor",),
}


@pytest.mark.parametrize("kind", COMMANDS)
def test_no_output_controls_the_terminal(run, kind: str) -> None:
    done = run(*COMMANDS[kind])
    assert not OBEYED.search(done.stdout.decode())
    assert not OBEYED.search(done.stderr.decode())


def test_json_has_the_exact_text_escaped(run) -> None:
    done = run("search", "retry later", "--json")
    assert not OBEYED.search(done.stdout.decode())
    hit = json.loads(done.stdout)["results"][0]
    assert hit["path"] == PATH
    assert HOSTILE in hit["text"]


def test_a_terminal_gets_only_our_own_colours(run) -> None:
    reader, terminal = os.openpty()
    done = run("search", "retry later", stdout=terminal)
    os.close(terminal)
    shown = b""
    try:
        while data := os.read(reader, 65_536):
            shown += data
    except OSError:
        pass  #  how the closed end of a terminal reports itself
    finally:
        os.close(reader)
    assert done.returncode == 0
    text = re.sub(r"\x1b\[[0-9;]*m|\r\n", "", shown.decode())
    assert "retry_later" in text
    assert "[red]" in text
    assert not OBEYED.search(text)
