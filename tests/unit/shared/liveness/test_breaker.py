"""After a failure the breaker admits one call at a time until the service recovers."""

from codequarry.shared.liveness.breaker import Breaker


def test_a_failed_service_gets_a_pause_and_then_one_call_at_a_time():
    now = [0.0]
    breaker = Breaker(left_alone=1.0, longest=3.0, clock=lambda: now[0])
    assert [breaker.allows() for _ in range(3)] == [True] * 3
    breaker.record_failure()
    assert not breaker.allows()
    now[0] += 1.0
    assert [breaker.allows() for _ in range(3)] == [True, False, False]
    now[0] += 3.0
    assert breaker.allows(), "the previous call has not returned"
    breaker.record_success()
    assert [breaker.allows() for _ in range(3)] == [True] * 3
