"""Signs of life are requested only during long calls, and calls are aborted without them."""

import threading
import time

import pytest

from codequarry.shared.liveness import pulse
from codequarry.shared.liveness.pulse import Pulse, pulse_of

SOON = 60


class Server:
    def __init__(self):
        self.asked = 0
        self.lives = True

    def __call__(self, seconds):
        self.asked += 1
        return self.lives


@pytest.fixture
def server(monkeypatch):
    monkeypatch.setattr(pulse, "PATIENCE_SECONDS", 0.01)
    monkeypatch.setattr(pulse, "AGAIN_SECONDS", 0.01)
    return Server()


def wait_until(holds):
    deadline = time.monotonic() + SOON
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.005)


def test_a_call_is_aborted_only_when_signs_of_life_stop(server):
    made, aborted = Pulse(server), threading.Event()
    with made.watched(aborted.set):
        wait_until(lambda: server.asked > 3)
        assert not aborted.is_set() and made.allows()
        server.lives = False
        assert aborted.wait(SOON)
    assert not made.allows()


def test_an_ended_call_is_not_aborted(server):
    made, aborted = Pulse(server), []
    with made.watched(lambda: aborted.append("first")):
        pass
    server.lives = False
    with made.watched(lambda: aborted.append("second")):
        wait_until(lambda: aborted)
    assert "first" not in aborted


def test_a_silent_server_is_called_again_after_a_sign_or_a_pause(server, monkeypatch):
    made = Pulse(server)
    server.lives = False
    made.record_failure()
    wait_until(lambda: not made.allows() and server.asked > 1)
    server.lives = True
    wait_until(made.allows)
    monkeypatch.setattr(pulse, "RETRY_SECONDS", 0.2)
    deaf = Server()
    deaf.lives = False
    untrusted = Pulse(deaf)
    with untrusted.watched(lambda: None):
        wait_until(lambda: not untrusted.allows())
        # It is asked for signs all the time.
        wait_until(untrusted.allows)


def test_an_unused_server_is_not_watched(server, monkeypatch):
    monkeypatch.setattr(pulse, "INTEREST_SECONDS", 0.05)
    made = Pulse(server)
    with made.watched(lambda: None):
        watch = made._thread
    watch.join(SOON)
    assert not watch.is_alive()
    asked = server.asked
    with made.watched(lambda: None):
        wait_until(lambda: server.asked > asked)


def test_clients_of_one_server_share_its_pulse(server, monkeypatch):
    monkeypatch.setattr(pulse, "_known", {})
    assert pulse_of("http://one", server) is pulse_of("http://one", server)
    assert pulse_of("http://one", server) is not pulse_of("http://other", server)
