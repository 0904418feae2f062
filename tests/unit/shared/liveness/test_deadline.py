"""Time limits of servers while a client waits."""

from codequarry.shared.liveness.deadline import Deadline


def test_a_deadline_has_the_remaining_seconds():
    assert Deadline(0.0).left() == 0.0
    assert 999.0 < Deadline(1000.0).left() <= 1000.0


def test_a_deadline_can_be_restarted():
    deadline = Deadline(1000.0)
    deadline._at = 0.0
    assert deadline.left() == 0.0
    deadline.restart()
    assert 999.0 < deadline.left() <= 1000.0
