"""What tests share: git repositories, one real OpenSearch node, and the word about tests that could not have it."""

import os
import subprocess
import uuid
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn

import pytest

from codequarry.ingest.report import Workshop
from codequarry.opensearch.node import ArtifactsUnreachable, Node, NodePlan, names, start, stop
from codequarry.shared.config import EmbeddingSettings, OpenSearchSettings, SettingsModel
from codequarry.shared.embedding.factory import open_embedder
from codequarry.shared.embedding.port import Embedder
from codequarry.shared.store.factory import open_store
from codequarry.shared.store.opensearch.store import OpenSearchStore

NOT_RUN = "can't be reached"
NAME = "test-"


class SharedNode:
    """The running node, and indices to borrow from it.

    To make and delete the four indices of a store takes a second; so emptied ones are given out again.
    """

    def __init__(self, node: Node) -> None:
        self.node = node
        self.url = node.url
        self._free: dict[int, list[OpenSearchSettings]] = defaultdict(list)

    @contextmanager
    def empty_index(self, dimension: int) -> Iterator[OpenSearchSettings]:
        """Give the settings of a store whose indices hold nothing; what a test writes there is removed."""
        free = self._free[dimension]
        settings = free.pop() if free else OpenSearchSettings(urls=(self.url,), index=f"test-{uuid.uuid4().hex[:12]}")
        yield settings
        store = OpenSearchStore(settings, dimension)
        everything = {"query": {"match_all": {}}}
        store.client.indices.refresh(index=f"{settings.index}*")
        store.client.delete_by_query(index=f"{settings.index}*", body=everything, params={"refresh": "true"})
        store.close()
        free.append(settings)


@pytest.fixture(scope="session")
def opensearch_node_folder() -> Path:
    """Return where the node is assembled, so that only a machine's first run downloads it."""
    cache = os.environ.get("XDG_CACHE_HOME")
    return (Path(cache) if cache else Path.home() / ".cache") / "codequarry" / "opensearch-node"


@pytest.fixture(scope="session")
def not_run() -> Callable[[str, Exception], NoReturn]:
    """Give the function for what a test needs and can't have: it is not run and named at the end; in CI it fails."""

    def tell(what: str, error: Exception) -> NoReturn:
        if os.environ.get("CI", "").lower() == "true":
            raise error
        pytest.skip(f"{what} {NOT_RUN}: {error}")

    return tell


def stop_orphans(folder: Path) -> None:
    """Stop nodes of test runs that were killed."""
    for name in names(folder):
        pid = name.removeprefix(NAME)
        if name.startswith(NAME) and pid.isdigit() and not Path(f"/proc/{pid}").exists() and Path("/proc").exists():
            stop(NodePlan(folder, name), remove_data=True)


@pytest.fixture(scope="session")
def opensearch_node(
    opensearch_node_folder: Path, not_run: Callable[[str, Exception], NoReturn]
) -> Iterator[SharedNode]:
    """Start a real node when the first test asks for it; without its parts, those tests are not run (in CI: fail).

    CODEQUARRY_TEST_OPENSEARCH names a running server to be used instead, of another version or with another engine.
    """
    if url := os.environ.get("CODEQUARRY_TEST_OPENSEARCH"):
        yield SharedNode(Node(url, version="", pid=0, started=0, folder="", log=""))
        return
    plan = NodePlan(opensearch_node_folder, f"{NAME}{os.getpid()}", port=0)
    stop_orphans(plan.folder)
    try:
        node = start(plan, lambda _: None)
    except ArtifactsUnreachable as error:
        not_run("the real OpenSearch node's parts", error)
    yield SharedNode(node)
    stop(plan, remove_data=True)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Name in one line each the tests that were not run, by what could not be had."""
    files: dict[str, list[str]] = defaultdict(list)
    for report in terminalreporter.stats.get("skipped", []):
        if isinstance(report.longrepr, tuple) and NOT_RUN in report.longrepr[2]:
            what = report.longrepr[2].partition(f" {NOT_RUN}")[0].removeprefix("Skipped: ")
            files[what].append(report.nodeid.partition("::")[0])
    for what, names_of_files in files.items():
        line = f"NOT RUN ({what} {NOT_RUN}): {len(names_of_files)} tests in {', '.join(sorted(set(names_of_files)))}"
        terminalreporter.write_line(line, yellow=True)


class GitRepository:
    """A real git repository with a working tree; every commit has the same author and date."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True)
        self.git("init", "--quiet", "--initial-branch=main", "--template=")

    @property
    def origin(self) -> str:
        """What a person would give to index it."""
        return str(self.folder)

    def git(self, *arguments: str, data: bytes | None = None) -> bytes:
        """Run git in the working tree, untouched by the configuration of the machine."""
        environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith("GIT_")},
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_AUTHOR_NAME": "A",
            "GIT_AUTHOR_EMAIL": "a@example.org",
            "GIT_AUTHOR_DATE": "2024-01-01T00:00:00Z",
            "GIT_COMMITTER_NAME": "A",
            "GIT_COMMITTER_EMAIL": "a@example.org",
            "GIT_COMMITTER_DATE": "2024-01-01T00:00:00Z",
        }
        command = ["git", *arguments]
        return subprocess.run(
            command, cwd=self.folder, env=environment, input=data, capture_output=True, check=True
        ).stdout

    def write(self, path: str | bytes, content: str | bytes) -> None:
        """Write a file of the working tree."""
        target = os.path.join(os.fsencode(self.folder), os.fsencode(path))
        os.makedirs(os.path.dirname(target), exist_ok=True)
        with open(target, "wb") as file:
            file.write(content.encode() if isinstance(content, str) else content)

    def remove(self, path: str) -> None:
        """Remove a file of the working tree."""
        (self.folder / path).unlink()

    def commit(self, message: str = "a change") -> str:
        """Commit the whole working tree, changed or not, and return the commit."""
        self.git("add", "--all")
        self.git("commit", "--quiet", "--allow-empty", "--message", message)
        return self.git("rev-parse", "HEAD").decode().strip()

    def listing(self, commit: str = "HEAD") -> dict[str, str]:
        """Return the regular files of a commit: path to blob."""
        lines = self.git("ls-tree", "-r", "-z", "--full-tree", commit).split(b"\0")
        facts = [line.partition(b"\t") for line in lines if line.startswith(b"100")]
        return {path.decode(): fact.split()[2].decode() for fact, _, path in facts}


@pytest.fixture
def make_repository(tmp_path: Path) -> Callable[..., GitRepository]:
    """Return a function that makes a git repository in a scratch folder, with files committed where given."""

    def make(name: str = "project", files: dict[str, str | bytes] | None = None) -> GitRepository:
        repository = GitRepository(tmp_path / "origins" / name)
        for path, content in (files or {}).items():
            repository.write(path, content)
        if files:
            repository.commit("first")
        return repository

    return make


@pytest.fixture(scope="session")
def embedder() -> Iterator[Embedder]:
    """Return the built-in model: real vectors without a network."""
    model = open_embedder(EmbeddingSettings(), Path("models"))
    yield model
    model.close()


@pytest.fixture
def make_workshop(tmp_path: Path, embedder: Embedder) -> Iterator[Callable[..., Workshop]]:
    """Return a function that opens the embedded store of a scratch home and what else a run works with.

    Files are read in the test's own process unless ``processes`` says otherwise; keywords are sections of settings.
    """
    opened: list[Workshop] = []

    def make(home: str = "home", processes: int = 0, **sections: object) -> Workshop:
        indexing = {"processes": processes, "grace_seconds": 0, **sections.pop("indexing", {})}
        settings = SettingsModel(home=tmp_path / home, indexing=indexing, **sections)
        workshop = Workshop(open_store(settings, embedder.dimension), embedder, settings)
        opened.append(workshop)
        return workshop

    yield make
    for workshop in opened:
        workshop.store.close()
