"""How long servers may take while a client waits."""

from codequarry.shared.liveness.deadline import Deadline


def test_the_time_of_a_request_runs_out():
    assert Deadline(0.0).left() == 0.0
    assert 999.0 < Deadline(1000.0).left() <= 1000.0


def test_it_begins_anew_after_a_wait_for_something_else():
    deadline = Deadline(1000.0)
    deadline._at = 0.0
    assert deadline.left() == 0.0
    deadline.restart()
    assert 999.0 < deadline.left() <= 1000.0
