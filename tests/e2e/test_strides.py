"""Chunks longer than the model's window, through a whole index run and a search."""

from contextlib import closing
from itertools import pairwise
from typing import Any

import pytest

from codequarry.shared.model import ChunkRow
from codequarry.shared.settings.config import SettingsModel
from codequarry.shared.store.factory import editions_of
from codequarry.shared.store.records import StoredRow

LINES = [f"    value_{line} = compute_something({line})" for line in range(1, 60)]
LONG = "\n".join(["def long():", *LINES, "    return launch_the_balloon_over_the_harbour()", ""])
FILES = {"long.py": LONG, "short.py": "def short():\n    return 1\n"}
NARROW = ("--context-window", "64", "--stride-window", "48", "--stride-overlap", "8")
SAME = tuple(
    f"--set=embedding.{name}={value}"
    for name, value in (("context_window", 64), ("stride_window", 48), ("stride_overlap", 8))
)


@pytest.fixture
def project(workspace: Any) -> Any:
    """Return a repository that was indexed with a narrow window."""
    repository = workspace.repository("project", FILES)
    assert workspace.run("index", repository.folder, *NARROW).code == 0
    return repository


def rows_of(workspace: Any, path: str, edition: int = 1) -> list[ChunkRow]:
    """Return the rows of a file's long chunk, by stride."""
    with closing(editions_of(SettingsModel(home=workspace.folder / "home"))) as editions:
        store = editions.open(edition, editions.dimension(edition) or 0)
        with closing(store):
            stored = [
                item.row for timeline in range(3) for item in store.history(timeline) if isinstance(item, StoredRow)
            ]
    rows = [row for row in stored if row.chunk.path == path and row.chunk.stride_info]
    return sorted(rows, key=lambda row: row.chunk.stride_info.stride_index if row.chunk.stride_info else 0)


def test_a_long_chunk_is_found_by_its_best_stride_and_says_which_lines_that_is(workspace: Any, project: Any) -> None:
    answer = workspace.run(*SAME, "search", "launch balloon over harbour", "--json").json
    hit = answer["results"][0]
    stride = hit["stride_info"]
    assert (hit["path"], hit["is_stride"], hit["text"]) == ("long.py", True, LONG)
    assert stride["original_chunk_id"] == hit["id"]
    assert stride["stride_index"] == stride["total_strides"] - 1 > 3
    assert stride["start_line"] > 50
    assert stride["end_line"] == hit["end_line"] == 61
    shown = workspace.run(*SAME, "search", "launch balloon over harbour").out
    assert f"best part: lines {stride['start_line']}-61" in shown
    assert "launch_the_balloon_over_the_harbour" in shown


def test_no_token_and_no_line_of_a_long_chunk_is_in_no_stride(workspace: Any, project: Any) -> None:
    strides = [row.chunk.stride_info for row in rows_of(workspace, "long.py")]
    assert len(strides) > 4
    assert [stride.stride_index for stride in strides] == list(range(strides[0].total_strides))
    assert strides[0].overlap_start == 0
    assert all(later.overlap_start <= earlier.overlap_end for earlier, later in pairwise(strides))
    assert all(stride.overlap_end - stride.overlap_start <= 64 for stride in strides)
    lines = {line for stride in strides for line in range(stride.start_line, stride.end_line + 1)}
    assert lines == set(range(1, 62))
    assert all(earlier.end_line + 1 >= later.start_line for earlier, later in pairwise(strides))


def test_other_strides_are_refused_and_the_error_says_what_to_do(workspace: Any, project: Any) -> None:
    refused = workspace.run("index", project.folder, "--context-window", "128")
    assert refused.code == 1
    assert "made with strides of 48 tokens that overlap by 8 in a window of 64" in refused.error
    assert "run `codequarry migrate --model codequarry-1`, which embeds only the long chunks again" in refused.error
    assert workspace.run("search", "short", "--json").json["results"], "searches need no setting"


def test_a_migration_to_other_strides_embeds_only_the_long_chunks_again(workspace: Any, project: Any) -> None:
    project.commit({"new.py": "def new():\n    return 2\n"})
    wider = ("--context-window", "128", "--set=embedding.on_model_change=migrate")
    estimate = workspace.run("--set=embedding.context_window=128", "migrate", "--dry-run", "--json").json
    assert 0 < estimate["texts"] < estimate["chunks"]
    moved = workspace.run("--set=embedding.context_window=128", "migrate", "--json").json
    assert moved["moved"] is True
    assert 0 < moved["embedded"] < 10
    assert moved["reused_embeddings"] >= 2
    assert workspace.run("--set=embedding.on_model_change=migrate", "index", project.folder, *wider[:2]).code == 0
    assert len(rows_of(workspace, "long.py", moved["edition"])) < 10
    again = workspace.run("--set=embedding.context_window=128", "migrate", "--json").json
    assert again["moved"] is False


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (("--stride-window", "48"), "stride_window and stride_overlap need context_window"),
        (
            ("--context-window", "64", "--stride-window", "65"),
            "stride_window = 65 is more than the model's window of 64",
        ),
        (
            ("--context-window", "64", "--stride-overlap", "60"),
            "stride_overlap = 60 must be smaller than stride_window",
        ),
    ],
)
def test_impossible_strides_are_wrong_use(workspace: Any, flags: tuple[str, ...], message: str) -> None:
    repository = workspace.repository("project", FILES)
    outcome = workspace.run("index", repository.folder, *flags)
    assert outcome.code == 2
    assert message in outcome.error
