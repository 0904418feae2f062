"""Whether somebody waits, and how long servers may take then."""

from concurrent.futures import ThreadPoolExecutor

from codequarry.shared import haste
from codequarry.shared.haste import hurried, is_hurried, rest, seconds_left


def test_haste_is_of_one_thread_and_ends_with_its_block():
    with hurried(), ThreadPoolExecutor(1) as pool:
        assert is_hurried()
        assert not pool.submit(is_hurried).result()
    assert not is_hurried()
    assert seconds_left() == float("inf")


def test_the_time_of_a_request_runs_out_and_begins_anew_after_a_wait_for_something_else(monkeypatch):
    monkeypatch.setattr(haste, "REQUEST_SECONDS", 0.0)
    with hurried():
        assert seconds_left() == 0.0
        monkeypatch.setattr(haste, "REQUEST_SECONDS", 1000.0)
        rest(0.0)
        assert 0.0 < seconds_left() <= 1000.0
    rest(0.0)
    assert not is_hurried()
