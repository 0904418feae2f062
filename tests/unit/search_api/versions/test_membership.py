"""Which versions have which files, compared with the store's own answer about each version."""

from dataclasses import replace

import pytest

from codequarry.search_api.versions.membership import records_by_version, versions_by_blob
from codequarry.search_api.versions.views import View
from codequarry.shared.catalog.ledger import read_head
from codequarry.shared.model import FileRecord, PathGlobs
from codequarry.shared.versions.refs import Ref

PATHS = ("a.py", "b.py", "c.py", "none.py")


@pytest.fixture
def core(versioned_index):
    """Return an index, its views, and the hidden numbers: two states of main, and branches on both of them."""
    index = versioned_index
    main = index.add("core")
    first = index.publish(main, "1" * 40, {"a.py": "one", "b.py": "one"})
    dev = index.add("core", "refs/heads/dev")
    index.publish(dev, "2" * 40, {"a.py": "dev", "c.py": "dev"}, base=(main, first), mask=("a.py", "c.py"))
    second = index.publish(main, "3" * 40, {"a.py": "two", "b.py": None})
    fix = index.add("core", "refs/heads/fix")
    index.publish(fix, "4" * 40, {}, base=(main, second), mask=("a.py",))
    head = read_head(index.store)
    views = [
        View("core", Ref("branch", "main"), main, second, "3" * 40),
        View("core", Ref("branch", "main"), main, first, "1" * 40, fixed=True),
        View("core", Ref("branch", "dev"), dev, head.timelines[dev].published, "2" * 40, "refs/heads/dev",
             base=(main, first), mask=frozenset({"a.py", "c.py"})),
        View("core", Ref("branch", "fix"), fix, head.timelines[fix].published, "4" * 40, "refs/heads/fix",
             base=(main, second), mask=frozenset({"a.py"})),
    ]  # fmt: skip
    return index, views, head.hidden


def test_every_version_has_the_files_that_the_store_says_it_has(core):
    index, views, hidden = core
    found = records_by_version(index.store, views, hidden, PATHS)
    for position, view in enumerate(views):
        expected = {file.path: file.blob for file in index.store.files(view.snapshot(hidden), PATHS)}
        assert {path: found[path][position].blob for path in PATHS if found[path][position]} == expected
    assert [record and record.path for record in found["b.py"]] == [None, "b.py", "b.py", None]


def test_versions_are_grouped_by_blob(core):
    index, views, hidden = core
    found = records_by_version(index.store, views, hidden, PATHS)
    assert sorted(versions_by_blob(found["a.py"]).values()) == [[0], [1], [2]]
    assert versions_by_blob(found["none.py"]) == {}


def test_a_version_that_skipped_a_file_does_not_have_its_text(core):
    index, views, hidden = core
    dev = views[2]
    blob = records_by_version(index.store, views, hidden, ["b.py"])["b.py"][1].blob
    skipped = FileRecord("core", "b.py", blob, "too-large", 0, "", dev.timeline, dev.number)
    index.store.create([], [skipped], {})
    records = records_by_version(index.store, views, hidden, ["b.py"])["b.py"]
    assert records[2] == skipped
    assert versions_by_blob(records) == {blob: [1]}


def test_paths_that_the_caller_may_not_see_are_in_no_version(core):
    index, views, hidden = core
    views = [replace(view, allowed=(PathGlobs(("b.py",)),)) for view in views]
    found = records_by_version(index.store, views, hidden, PATHS)
    assert found["a.py"] == [None] * 4 and found["b.py"][1]
