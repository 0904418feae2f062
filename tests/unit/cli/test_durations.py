from datetime import timedelta

import pytest

from codequarry.cli.durations import read_duration
from codequarry.shared.errors import UsageError


@pytest.mark.parametrize(
    ("text", "expected"),
    [("90d", timedelta(days=90)), ("12 h", timedelta(hours=12)), ("0s", timedelta()), ("2w", timedelta(weeks=2))],
)
def test_lengths_of_time(text, expected):
    assert read_duration(text) == expected


@pytest.mark.parametrize("text", ["", "d", "5", "-1d", "1.5h", "1y", "999999w", "１d"])
def test_anything_else_is_refused(text):
    with pytest.raises(UsageError):
        read_duration(text)
