"""The command line as a person runs it: a process, a data folder of its own, real git repositories."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

GIT = ("git", "-c", "user.name=Test", "-c", "user.email=test@example.org", "-c", "commit.gpgsign=false")
# A hanging command fails its test instead of the whole run.
TIMEOUT_SECONDS = 120


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a command ended."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """The document that a command printed with --json."""
        assert self.code == 0, self.err
        return json.loads(self.out)

    @property
    def error(self) -> str:
        """The one line that a failed command says."""
        lines = self.err.splitlines()
        assert self.out == ""
        assert len(lines) == 1, self.err
        return lines[0]


Run = Callable[..., Outcome]


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """Give the environment of a user who has configured nothing but where the data lies."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("CODEQUARRY_", "GIT_"))}
    return kept | {"HOME": str(tmp_path), "CODEQUARRY_HOME": str(tmp_path / "home"), "GIT_CONFIG_GLOBAL": os.devnull}


@pytest.fixture
def codequarry(tmp_path: Path, environment: dict[str, str]) -> Run:
    """Give a function that runs the command line in the test's folder."""

    def run(*arguments: str | Path, variables: Mapping[str, str] | None = None, stdin: str = "") -> Outcome:
        done = subprocess.run(
            [sys.executable, "-m", "codequarry.cli.main", *map(str, arguments)],
            cwd=tmp_path,
            env=environment | dict(variables or {}),
            input=stdin,
            capture_output=True,
            text=True,
            timeout=TIMEOUT_SECONDS,
        )
        return Outcome(done.returncode, done.stdout, done.stderr)

    return run


@dataclass(frozen=True, slots=True)
class Repository:
    """A git work tree that commits what it is told."""

    folder: Path

    def commit(self, files: Mapping[str, str | bytes | None], message: str = "change") -> str:
        """Write files (None deletes), commit everything, and return the commit's hash."""
        for name, content in files.items():
            path = self.folder / name
            if content is None:
                path.unlink()
                continue
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content.encode() if isinstance(content, str) else content)
        self.git("add", "--all", "--force")
        self.git("commit", "--quiet", "--allow-empty", "--message", message)
        return self.git("rev-parse", "HEAD")

    def git(self, *arguments: str) -> str:
        """Run git in the work tree and return what it says."""
        environment = os.environ | {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
        return subprocess.run(
            [*GIT, *arguments], cwd=self.folder, check=True, capture_output=True, text=True, env=environment
        ).stdout.strip()


@pytest.fixture
def make_repository(tmp_path: Path) -> Callable[..., Repository]:
    """Give a function that makes a repository below the test's folder, with a first commit where files are given."""

    def make(name: str = "project", files: Mapping[str, str | bytes | None] | None = None) -> Repository:
        folder = tmp_path / name
        folder.mkdir(parents=True)
        repository = Repository(folder)
        repository.git("init", "--quiet", "--initial-branch", "main")
        if files is not None:
            repository.commit(files, "first")
        return repository

    return make
