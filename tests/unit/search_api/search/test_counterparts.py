"""Finding the counterpart of a chunk in another version."""

import pytest

from codequarry.search_api.query.version_query import VersionQuery, VersionSpecifier
from codequarry.search_api.search.counterparts import Side, is_unchanged, same_place
from codequarry.search_api.versions.catalog import Catalog
from codequarry.search_api.versions.resolution import one_version

OLD = {
    "kept.py": "def kept():\n    return 1\n\n\ndef edited():\n    return 1\n\n\ndef dropped():\n    return 'gone'",
    "notes.md": "A heading\nOne line\nAnother line\nA third line",
}
NEW = {
    "kept.py": "def before():\n    return 0\n\n\ndef kept():\n    return 1\n\n\ndef edited():\n    return 2",
    "notes.md": "A heading\nOne line\nAnother line\nA new third line",
}


@pytest.fixture
def sides(versioned_index):
    """Return the same repository before and after a commit."""
    index = versioned_index
    timeline = index.add("core")
    old = index.publish(timeline, "a" * 40, OLD)
    index.publish(timeline, "b" * 40, NEW)

    def side(commit):
        seen = one_version(Catalog(index.store), "core", VersionQuery((), (VersionSpecifier("commit", commit),)))
        return Side(index.store, seen.view, frozenset())

    assert old
    return side("a" * 40), side("b" * 40)


def chunk(side, path, name=None):
    return next(chunk for chunk in side.chunks(path) if name in (None, chunk.qualified_name))


def test_equal_text_on_other_lines_is_unchanged(sides):
    old, new = sides
    assert is_unchanged(chunk(old, "kept.py", "kept"), new)
    assert not is_unchanged(chunk(old, "kept.py", "edited"), new)


def test_an_edited_declaration_is_found_by_its_name(sides):
    old, new = sides
    assert same_place(chunk(old, "kept.py", "edited"), new).text.endswith("2")
    assert same_place(chunk(old, "kept.py", "dropped"), new) is None


def test_text_without_a_name_is_found_by_similarity(sides):
    old, new = sides
    assert same_place(chunk(old, "notes.md"), new).path == "notes.md"
