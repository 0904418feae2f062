"""Reading files back from the index."""

import pytest

from codequarry.search_api.search.files import near_paths, read_file
from codequarry.search_api.versions.catalog import Catalog
from codequarry.shared.errors import NotIndexed, UsageError

pytestmark = pytest.mark.usefixtures("indexed")


@pytest.mark.parametrize("path", ["src/retry.py", "src/pages.go", "README.md", "many.py", "settings.yaml"])
def test_a_file_is_returned_byte_for_byte(store, indexed, path):
    read = read_file(Catalog(store), "core", path)
    assert read.text == (indexed["core"].folder / path).read_text()
    assert (read.start_line, read.end_line) == (1, read.total_lines)
    assert read.commit == indexed["core"].git("rev-parse", "HEAD")
    assert read.branch == "main"


def test_a_range_of_lines_is_returned(store, indexed):
    lines = (indexed["core"].folder / "many.py").read_text().splitlines(keepends=True)
    read = read_file(Catalog(store), "core", "many.py", 41, 60)
    assert read.text == "".join(lines[40:60])
    assert read_file(Catalog(store), "core", "many.py", 150, 10_000).end_line == len(lines)


@pytest.mark.parametrize(("start", "end"), [(0, 5), (10_000, None), (9, 3)])
def test_lines_that_do_not_exist_are_refused(store, start, end):
    with pytest.raises(UsageError, match="has lines 1 to"):
        read_file(Catalog(store), "core", "many.py", start, end)


def test_an_unknown_path_is_answered_with_similar_paths(store):
    with pytest.raises(NotIndexed, match=r"did you mean src/retry\.py"):
        read_file(Catalog(store), "core", "lib/retry.py")


def test_a_skipped_file_is_answered_with_its_reason(store):
    with pytest.raises(NotIndexed, match=r"skipped.*binary"):
        read_file(Catalog(store), "core", "logo.png")


def test_an_unknown_repository_is_answered_with_the_known_repositories(store):
    with pytest.raises(NotIndexed, match="indexed: core, site"):
        read_file(Catalog(store), "nope", "x")


def test_similar_paths_start_with_the_same_file_name():
    known = ["a/port.py", "b/c/port.py", "a/sport.py", "z.md"]
    assert near_paths("x/port.py", known)[:2] == ["a/port.py", "b/c/port.py"]
    assert "z.md" not in near_paths("x/port.py", known)
