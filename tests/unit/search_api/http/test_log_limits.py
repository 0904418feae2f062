"""Limits of log lines that clients can cause: the first of each minute are written, the rest counted and reported."""

from collections import Counter

import pytest

from codequarry.search_api.http.log_limits import ALL_PER_MINUTE, EACH_PER_MINUTE, MOST_KINDS, BoundedLog


@pytest.fixture
def reported():
    """Return the reported counts of withheld lines."""
    return Counter()


@pytest.fixture
def clock():
    """Return a clock that the test advances."""
    return {"now": 0.0}


@pytest.fixture
def bounded(reported, clock):
    """Return the limiter, using that clock."""
    return BoundedLog(lambda kind, times: reported.update({kind: times}), "others", lambda: clock["now"])


def test_the_first_lines_of_an_address_pass_and_the_rest_are_reported_after_a_minute(bounded, reported, clock):
    assert sum(bounded.allows("one", "401") for _ in range(1000)) == EACH_PER_MINUTE
    assert bounded.allows("two", "401")
    assert not reported
    clock["now"] = 60.0
    assert bounded.allows("one", "401")
    assert reported == {"401": 1000 - EACH_PER_MINUTE}


def test_all_addresses_share_a_limit_and_every_withheld_line_is_counted(bounded, reported):
    passed = sum(bounded.allows(str(number), str(number)) for number in range(5000))
    assert passed == ALL_PER_MINUTE
    bounded.flush()
    assert len(reported) == MOST_KINDS + 1
    assert reported.total() == 5000 - passed


def test_counts_that_cannot_be_reported_are_kept(clock):
    reported = Counter()
    full = {"disk": True}

    def tell(kind, times):
        if full["disk"] and kind == "b":
            raise OSError("no space left")
        reported.update({kind: times})

    bounded = BoundedLog(tell, "others", lambda: clock["now"])
    for _ in range(EACH_PER_MINUTE + 3):
        bounded.allows("one", "a")
    for _ in range(4):
        bounded.allows("one", "b")
    bounded.flush()
    full["disk"] = False
    bounded.flush()
    assert reported == {"a": 3, "b": 4}
