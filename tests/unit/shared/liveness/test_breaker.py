"""What was gone a moment ago is asked by one at a time until it is back."""

from codequarry.shared.liveness.breaker import Breaker


def test_what_was_gone_is_left_alone_and_then_asked_by_one_at_a_time():
    now = [0.0]
    breaker = Breaker(left_alone=1.0, longest=3.0, clock=lambda: now[0])
    assert [breaker.allows() for _ in range(3)] == [True] * 3
    breaker.record_failure()
    assert not breaker.allows()
    now[0] += 1.0
    assert [breaker.allows() for _ in range(3)] == [True, False, False]
    now[0] += 3.0
    assert breaker.allows(), "who asked has not come back"
    breaker.record_success()
    assert [breaker.allows() for _ in range(3)] == [True] * 3
