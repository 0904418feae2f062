"""Requests reach the index in one way: other modules must not read head document, catalog, jobs or deliveries."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOM = Path(__file__).parents[3] / "search_api"
# Functions that return data of every repository to any caller.
UNRESTRICTED = {
    "read_head", "list_repositories", "read_repository", "list_jobs", "shown_jobs", "read_job", "list_deliveries",
    "list_ref_heads", "read_progress", "list_keys",
}  # fmt: skip
# Modules that may use them: the catalog, which removes what a reader may not see; keys; probes; metrics, which need a
# key that sees everything; and signed deliveries, which come from code hosts.
MAY = {
    "versions/catalog.py", "access/authentication.py", "http/server.py", "http/catalog_metrics.py",
    "search/backend.py", "webhooks/receiver.py",
}  # fmt: skip
# Routes get the engine of their caller; deliveries act for the owner.
MAY_USE_THE_BACKEND = {"http/routes/webhooks.py"}


def modules() -> Iterator[str]:
    """Yield the modules of the service."""
    return (str(path.relative_to(ROOM)) for path in sorted(ROOM.rglob("*.py")))


def names(module: str) -> set[str]:
    """Return the names that a module imports."""
    tree = ast.parse((ROOM / module).read_text())
    return {alias.name for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) for alias in node.names}


@pytest.mark.parametrize("module", [module for module in modules() if module not in MAY])
def test_no_other_module_reads_unrestricted_data(module: str) -> None:
    assert not names(module) & UNRESTRICTED


@pytest.mark.parametrize(
    "module",
    [module for module in modules() if module.startswith("http/routes/") and module not in MAY_USE_THE_BACKEND],
)
def test_routes_read_the_index_with_the_permissions_of_their_caller(module: str) -> None:
    tree = ast.parse((ROOM / module).read_text())
    called = {ast.unparse(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
    assert not {"backend().engine", "backend.engine"} & called
    assert "EXTENSION" not in names(module)
