"""The paths of logs, and the globs that match them."""

import pytest

from codequarry.shared.filters import path_matches
from codequarry.shared.model import Layer, PathGlobs
from codequarry.shared.versions.commit_log import changed_path, diff_path, log_globs, log_layer, message_path
from codequarry.shared.versions.head import Head
from codequarry.shared.versions.transactions import new_timeline

ID = "0123456789" * 4
PATHS = ["a.py", "src/a.py", "src/deep/b.go", "docs/a.py/x", "x.md", ".git/y.py", "secret/k.py"]


def test_a_path_of_a_log_leads_back_to_the_file():
    assert [changed_path(diff_path(ID, path)) for path in PATHS] == PATHS
    assert changed_path(message_path(ID)) == ""


@pytest.mark.parametrize(
    "globs",
    [
        PathGlobs(),
        PathGlobs(("*.py",)),
        PathGlobs(("src/**",)),
        PathGlobs(("/src/",)),
        PathGlobs(("./src/a.py",)),
        PathGlobs(("src/",), ("*.go",)),
        PathGlobs((), ("secret/",)),
        PathGlobs(("**/a.py", "x.md"), ("docs/**",)),
        PathGlobs((".git/",)),
    ],
)
def test_globs_match_the_changes_of_the_files_that_they_match_and_no_message(globs):
    for path in PATHS:
        assert path_matches(log_globs(globs), diff_path(ID, path)) == path_matches(globs, path), path
    assert not path_matches(log_globs(globs), message_path(ID))


def test_the_layer_of_logs_has_its_own_mask_and_globs():
    layer = Layer((1, 7), 9, frozenset({8}), frozenset({"a.py"}), (PathGlobs((), ("secret/",)),))
    log = log_layer(layer, frozenset({message_path(ID)}))
    assert (log.timelines, log.at, log.hidden) == ((2, 8), 9, frozenset({8}))
    assert log.mask == {message_path(ID)}
    assert log.allowed == (log_globs(layer.allowed[0]),)


def test_no_timeline_has_the_number_of_a_log():
    head, first = new_timeline(Head(), "a")
    head, second = new_timeline(head, "b")
    assert (first, second, head.counter) == (1, 3, 4)
