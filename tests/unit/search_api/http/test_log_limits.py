"""Lines that anybody can cause: the first of a minute pass, and the rest are counted and told."""

from collections import Counter

import pytest

from codequarry.search_api.http.log_limits import ALL_PER_MINUTE, EACH_PER_MINUTE, MOST_KINDS, BoundedLog


@pytest.fixture
def told():
    """Give what was told of lines that were withheld."""
    return Counter()


@pytest.fixture
def clock():
    """Give a clock that a test moves."""
    return {"now": 0.0}


@pytest.fixture
def bounded(told, clock):
    """Give what bounds lines, by that clock."""
    return BoundedLog(lambda kind, times: told.update({kind: times}), "others", lambda: clock["now"])


def test_the_first_of_an_address_pass_and_the_rest_are_told_when_the_minute_is_over(bounded, told, clock):
    assert sum(bounded.allows("one", "401") for _ in range(1000)) == EACH_PER_MINUTE
    assert bounded.allows("two", "401")
    assert not told
    clock["now"] = 60.0
    assert bounded.allows("one", "401")
    assert told == {"401": 1000 - EACH_PER_MINUTE}


def test_many_addresses_together_have_a_bound_too_and_none_is_lost(bounded, told):
    passed = sum(bounded.allows(str(number), str(number)) for number in range(5000))
    assert passed == ALL_PER_MINUTE
    bounded.flush()
    assert len(told) == MOST_KINDS + 1
    assert told.total() == 5000 - passed


def test_what_can_not_be_told_is_kept(clock):
    said = Counter()
    full = {"disk": True}

    def tell(kind, times):
        if full["disk"] and kind == "b":
            raise OSError("no space left")
        said.update({kind: times})

    bounded = BoundedLog(tell, "others", lambda: clock["now"])
    for _ in range(EACH_PER_MINUTE + 3):
        bounded.allows("one", "a")
    for _ in range(4):
        bounded.allows("one", "b")
    bounded.flush()
    full["disk"] = False
    bounded.flush()
    assert said == {"a": 3, "b": 4}
