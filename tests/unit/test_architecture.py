"""ARCHITECTURE.md is true: its paths and functions exist, and no room is missing."""

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PARTS = ("cli", "ingest", "opensearch", "search_api", "shared")
PAGES = (*sorted((ROOT / "docs").rglob("*.md")), ROOT / "README.md", ROOT / "CONTRIBUTING.md")
QUOTED = re.findall(r"`([^`\n]+)`", (ROOT / "ARCHITECTURE.md").read_text())
PLACES = sorted({text for text in QUOTED if re.fullmatch(r"[\w./]+/[\w./]*(\.(py|json|md|toml):?[\w.]*)?", text)})
# Tests that tell a story of a whole room, or of several modules.
STORIES = {
    "ingest/chunking/grammars/test_other_languages.py",
    "ingest/files/test_start.py",
    "ingest/run/test_pipeline_metrics.py",
    "ingest/secrets/test_passwords.py",
    "ingest/shared_import/test_shared_import.py",
    "search_api/test_one_way_to_the_index.py",
    "shared/store/embedded/test_processes.py",
    "shared/store/embedded/test_query_plans.py",
    "shared/versions/test_overlay_snapshots.py",
}


# Names of files that help texts and comments use as examples.
EXAMPLES = {"_old.py", "new.py", "old.py", "src/retry.py"}


def rooms() -> Iterator[str]:
    """Yield the folders of code, two and three levels deep."""
    for part in PARTS:
        for path in sorted((ROOT / part).glob("**/__init__.py")):
            room = path.parent.relative_to(ROOT).as_posix()
            if room != part:
                yield room


def names(tree: ast.Module) -> Iterator[str]:
    """Yield the names that a module defines, methods as `Class.method`."""
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            yield node.name
            yield from (f"{node.name}.{part.name}" for part in node.body if isinstance(part, ast.FunctionDef))
        if isinstance(node, ast.FunctionDef):
            yield node.name


def test_the_map_names_many_places():
    assert len(PLACES) > 60


@pytest.mark.parametrize("place", PLACES)
def test_what_the_map_names_exists(place):
    path, _, name = place.partition(":")
    assert (ROOT / path).exists()
    if name:
        assert name in set(names(ast.parse((ROOT / path).read_text())))


def test_every_room_is_on_the_map():
    assert [room for room in rooms() if f"{room}/" not in PLACES] == []


@pytest.mark.parametrize("page", PAGES)
def test_paths_of_code_in_the_docs_exist(page):
    places = re.findall(rf"`((?:{'|'.join(PARTS)}|bench|tests|training)/[\w./]*)`", page.read_text())
    assert [place for place in places if not (ROOT / place).exists()] == []


def prose(path: Path) -> Iterator[str]:
    """Yield the comments and docstrings of a module."""
    source = path.read_text()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield token.string
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
            yield ast.get_docstring(node) or ""


def test_modules_that_comments_and_docstrings_name_exist():
    paths = [path for part in (*PARTS, "bench") for path in (ROOT / part).rglob("*.py")]
    modules = {"/".join(path.relative_to(ROOT).parts[first:]) for path in paths for first in range(len(path.parts))}
    named = {name for path in paths for text in prose(path) for name in re.findall(r"[\w/]+\.py\b", text)}
    assert named - modules - EXAMPLES == set()


def test_unit_tests_lie_where_the_code_lies_that_they_test():
    lost = set()
    for part in PARTS:
        for path in (ROOT / "tests/unit" / part).rglob("test_*.py"):
            place = path.relative_to(ROOT / "tests/unit")
            if not (ROOT / place.parent / place.name.removeprefix("test_")).exists():
                lost.add(place.as_posix())
    assert lost == STORIES
