"""Limits of one key and of all together: what is running, and how many in a minute."""

import threading

import pytest

from codequarry.search_api.http.rate_limits import MAX_BUCKETS, RateLimits, RefusalLimits
from codequarry.shared.errors import TooManyRequests
from codequarry.shared.settings.service import LimitSettings


@pytest.fixture
def clock():
    """Give a clock that a test moves."""
    return {"now": 100.0}


@pytest.fixture
def limited(clock):
    """Give a function that makes limits."""
    return lambda **settings: RateLimits(LimitSettings(**settings), lambda: clock["now"])


def pass_through(limits, name="ci"):
    limits.enter(name)
    limits.leave(name)


def refusal(limits, name="ci"):
    with pytest.raises(TooManyRequests) as refused:
        limits.enter(name)
    return refused.value


def test_without_limits_everything_passes(limited):
    limits = limited()
    for _ in range(1000):
        limits.enter("ci")


def test_a_burst_passes_and_then_as_many_as_the_rate_allows(limited, clock):
    limits = limited(requests_per_minute=60, burst=3)
    for _ in range(3):
        pass_through(limits)
    error = refusal(limits)
    assert error.retry_after == pytest.approx(1)
    assert "60 requests a minute with this key" in str(error)
    clock["now"] += 1
    pass_through(limits)
    refusal(limits)
    clock["now"] += 3600
    for _ in range(3):
        pass_through(limits)
    refusal(limits)


def test_one_key_does_not_use_up_what_is_another_ones(limited):
    limits = limited(requests_per_minute=60, burst=1)
    pass_through(limits, "one")
    refusal(limits, "one")
    pass_through(limits, "two")


def test_all_together_have_a_limit_too_and_who_is_refused_uses_nothing_up(limited, clock):
    limits = limited(requests_per_minute=60, burst=5, total_requests_per_minute=60, total_burst=2)
    pass_through(limits, "one")
    pass_through(limits, "two")
    for _ in range(10):
        assert "in this service" in str(refusal(limits, "three"))
    clock["now"] += 5
    for name in ("three", "three"):
        pass_through(limits, name)


def test_only_so_many_run_at_once(limited):
    limits = limited(concurrent=2, total_concurrent=3)
    for name in ("one", "one", "two"):
        limits.enter(name)
    assert "with this key" in str(refusal(limits, "one"))
    assert "in this service" in str(refusal(limits, "two"))
    limits.leave("one")
    limits.enter("two")


def test_buckets_of_keys_that_are_quiet_are_forgotten(limited):
    limits = limited(concurrent=1)
    limits.enter("runs")
    for number in range(MAX_BUCKETS + 5):
        pass_through(limits, f"key {number}")
    refusal(limits, "runs")


def test_threads_are_counted_once_each(limited):
    limits = limited(concurrent=5)
    barrier, admitted = threading.Barrier(20), []

    def ask():
        barrier.wait()
        try:
            limits.enter("ci")
            admitted.append(1)
        except TooManyRequests:
            pass

    threads = [threading.Thread(target=ask) for _ in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(admitted) == 5


@pytest.fixture
def strangers(clock):
    """Give limits by address that let three requests a minute be refused."""
    return RefusalLimits(LimitSettings(refused_per_minute=3), lambda: clock["now"])


def refuse(strangers, address, times, token=None):
    for _ in range(times):
        strangers.check(address, token)
        strangers.note_refused(address, token)


def test_an_address_that_was_refused_too_often_is_sent_away_for_a_while(strangers, clock):
    refuse(strangers, "192.0.2.1", 3, "a guess")
    with pytest.raises(TooManyRequests, match="from this address") as refused:
        strangers.check("192.0.2.1", "another guess")
    assert refused.value.retry_after == 20
    strangers.check("192.0.2.2", "another guess")
    clock["now"] += 20
    strangers.check("192.0.2.1", "another guess")


def test_who_shares_an_address_with_somebody_that_tries_keys_goes_on(strangers):
    strangers.note_admitted("a good key")
    refuse(strangers, "192.0.2.1", 3, "a guess")
    strangers.check("192.0.2.1", "a good key")
    strangers.note_refused("192.0.2.1", "a good key")
    with pytest.raises(TooManyRequests):
        strangers.check("192.0.2.1", "a good key")


def test_addresses_and_keys_are_not_kept_for_ever(strangers):
    for number in range(MAX_BUCKETS + 10):
        strangers.note_refused(str(number), None)
        strangers.note_admitted(str(number))
    assert (len(strangers._by_address), len(strangers._welcome)) == (MAX_BUCKETS, MAX_BUCKETS)


def test_without_a_limit_nobody_is_sent_away():
    strangers = RefusalLimits(LimitSettings(refused_per_minute=None))
    refuse(strangers, "192.0.2.1", 1000)
