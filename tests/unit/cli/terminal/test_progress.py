from dataclasses import replace
from datetime import timedelta

import pytest

from codequarry.cli.terminal.progress import Pace, ProgressLines, describe, read_duration
from codequarry.shared.catalog.repositories import Progress
from codequarry.shared.errors import UsageError

START = Progress("flask", "indexing", "c0ffee", 100, 1100, 0, "2026-01-01T00:00:00+00:00", "2026-01-01T00:00:00+00:00")


class Clock:
    """A clock that is set by hand."""

    now = 50.0

    def __call__(self) -> float:
        return self.now


def test_the_rate_counts_only_files_of_this_run() -> None:
    clock = Clock()
    pace = Pace(clock)
    assert pace.measure(START) == (None, None)
    clock.now += 2
    assert pace.measure(replace(START, files_done=300)) == (100.0, 8.0)


def test_no_rate_is_shown_in_the_first_second() -> None:
    clock = Clock()
    pace = Pace(clock)
    pace.measure(START)
    clock.now += 0.5
    assert pace.measure(replace(START, files_done=300)) == (None, None)


def test_a_line_shows_phase_files_chunks_rate_and_time_left() -> None:
    assert describe(replace(START, chunks_done=2400), 100.0, 8.0) == (
        "flask: indexing, 100 of 1,100 files, 2,400 chunks, 100 files/s, 8.0 s left"
    )
    assert describe(replace(START, phase="fetching", files_total=0), None, None) == "flask: fetching"


def test_without_a_terminal_each_phase_and_every_five_seconds_get_a_line(
    capsys: pytest.CaptureFixture[str],
) -> None:
    clock = Clock()
    show = ProgressLines(clock)
    show(replace(START, phase="fetching", files_total=0))
    show(START)
    clock.now += 1
    show(replace(START, files_done=200))
    clock.now += 4
    show(replace(START, files_done=600))
    assert capsys.readouterr().err.splitlines() == [
        "flask: fetching",
        "flask: indexing, 100 of 1,100 files, 0 chunks",
        "flask: indexing, 600 of 1,100 files, 0 chunks, 100 files/s, 5.0 s left",
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [("90d", timedelta(days=90)), ("12 h", timedelta(hours=12)), ("0s", timedelta()), ("2w", timedelta(weeks=2))],
)
def test_durations_are_read_with_their_unit(text, expected):
    assert read_duration(text) == expected


@pytest.mark.parametrize("text", ["", "d", "5", "-1d", "1.5h", "1y", "999999w", "１d"])
def test_other_durations_are_refused(text):
    with pytest.raises(UsageError):
        read_duration(text)
