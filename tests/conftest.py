"""The one real OpenSearch node that all tests share, and the word about tests that could not have it."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from codequarry.opensearch.node import ArtifactsUnreachable, Node, NodePlan, names, start, stop

NOT_RUN = "the real OpenSearch node's parts can't be reached"
NAME = "test-"


@pytest.fixture(scope="session")
def opensearch_node_folder() -> Path:
    """Return where the node is assembled, so that only a machine's first run downloads it."""
    cache = os.environ.get("XDG_CACHE_HOME")
    return (Path(cache) if cache else Path.home() / ".cache") / "codequarry" / "opensearch-node"


def stop_orphans(folder: Path) -> None:
    """Stop nodes of test runs that were killed."""
    for name in names(folder):
        pid = name.removeprefix(NAME)
        if name.startswith(NAME) and pid.isdigit() and not Path(f"/proc/{pid}").exists() and Path("/proc").exists():
            stop(NodePlan(folder, name), remove_data=True)


@pytest.fixture(scope="session")
def opensearch_node(opensearch_node_folder: Path) -> Iterator[Node]:
    """Start a real node when the first test asks for it; without its parts, those tests are not run (in CI: fail)."""
    plan = NodePlan(opensearch_node_folder, f"{NAME}{os.getpid()}", port=0)
    stop_orphans(plan.folder)
    try:
        node = start(plan, lambda _: None)
    except ArtifactsUnreachable as error:
        if os.environ.get("CI", "").lower() == "true":
            raise
        pytest.skip(f"{NOT_RUN}: {error}")
    yield node
    stop(plan, remove_data=True)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Name in one line the tests that were not run because there was no node."""
    reports = [
        report
        for report in terminalreporter.stats.get("skipped", [])
        if isinstance(report.longrepr, tuple) and NOT_RUN in report.longrepr[2]
    ]
    if reports:
        files = sorted({report.nodeid.partition("::")[0] for report in reports})
        terminalreporter.write_line(f"NOT RUN ({NOT_RUN}): {len(reports)} tests in {', '.join(files)}", yellow=True)
