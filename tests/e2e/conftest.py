"""The command line as users run it: a process, a separate data folder, real git repositories."""

import base64
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
# Secrets that every user of these tests has configured. They share a prefix, so that any leak is found.
PLANTED = "planted-secret"
# The prefix as it is sent in the account of a user "someone": in whole groups of three bytes.
ENCODED = base64.b64encode(f"someone:{PLANTED}"[:21].encode()).decode()
SECRETS = {
    "CODEQUARRY_GIT__TOKEN": f"{PLANTED}-of-git",
    "CODEQUARRY_EMBEDDING__API_KEY": f"{PLANTED}-of-the-model",
    "CODEQUARRY_OPENSEARCH__PASSWORD": f"{PLANTED}-of-the-cluster",
}
# A hanging command fails its test instead of the whole run.
TIMEOUT_SECONDS = 120


def says_a_secret(text: str) -> bool:
    """Return whether a text contains a planted secret."""
    return PLANTED in text or ENCODED in text


@dataclass(frozen=True, slots=True)
class Outcome:
    """The exit code and the output of a command."""

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
        """The single line that a failed command prints."""
        lines = self.err.splitlines()
        assert self.out == ""
        assert len(lines) == 1, self.err
        return lines[0]


@dataclass(frozen=True, slots=True)
class Repository:
    """A git work tree to commit files in."""

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
        """Run git in the work tree and return its output."""
        environment = os.environ | {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
        return subprocess.run(
            [*GIT, *arguments], cwd=self.folder, check=True, capture_output=True, text=True, env=environment
        ).stdout.strip()


@dataclass(frozen=True, slots=True)
class Workspace:
    """A folder of repositories and a data folder, of a user who has configured only secrets."""

    folder: Path

    @property
    def environment(self) -> dict[str, str]:
        """The environment of that user."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("CODEQUARRY_", "GIT_"))}
        own = {"HOME": str(self.folder), "CODEQUARRY_HOME": str(self.folder / "home"), "GIT_CONFIG_GLOBAL": os.devnull}
        return kept | own | SECRETS

    def run(self, *arguments: object, variables: Mapping[str, str] | None = None) -> Outcome:
        """Run the command line in the folder; its output must not contain a secret."""
        done = subprocess.run(
            [sys.executable, "-m", "codequarry.cli.main", *map(str, arguments)],
            cwd=self.folder,
            env=self.environment | dict(variables or {}),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=TIMEOUT_SECONDS,
        )
        assert not says_a_secret(done.stdout + done.stderr)
        return Outcome(done.returncode, done.stdout, done.stderr)

    def work_tree(self, name: str) -> Repository:
        """Return a repository that was made before."""
        return Repository(self.folder / name)

    def repository(self, name: str, files: Mapping[str, str | bytes | None] | None = None) -> Repository:
        """Make a repository, with a first commit if files are given."""
        repository = self.work_tree(name)
        repository.folder.mkdir(parents=True)
        repository.git("init", "--quiet", "--initial-branch", "main")
        if files is not None:
            repository.commit(files, "first")
        return repository

    def indexed(self, name: str, files: Mapping[str, str | bytes | None]) -> Repository:
        """Make a repository and index it."""
        repository = self.repository(name, files)
        outcome = self.run("index", repository.folder)
        assert outcome.code == 0, outcome.err
        return repository


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    """Return a workspace that a test may change."""
    return Workspace(tmp_path)


@pytest.fixture(scope="session")
def new_workspace(tmp_path_factory: pytest.TempPathFactory) -> Callable[[], Workspace]:
    """Return a function that makes a workspace for several tests, none of which changes it."""
    return lambda: Workspace(tmp_path_factory.mktemp("workspace"))
