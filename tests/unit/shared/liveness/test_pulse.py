"""Signs of life: asked for only beside calls that take long, and what becomes of calls when there are none."""

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


def test_a_call_is_given_up_as_soon_as_there_are_no_signs_and_not_before(server):
    made, given_up = Pulse(server), threading.Event()
    with made.watched(given_up.set):
        wait_until(lambda: server.asked > 3)
        assert not given_up.is_set() and made.allows()
        server.lives = False
        assert given_up.wait(SOON)
    assert not made.allows()


def test_a_call_that_has_ended_is_not_given_up(server):
    made, given_up = Pulse(server), []
    with made.watched(lambda: given_up.append("first")):
        pass
    server.lives = False
    with made.watched(lambda: given_up.append("second")):
        wait_until(lambda: given_up)
    assert "first" not in given_up


def test_a_silent_server_is_called_again_when_it_gives_a_sign_or_one_call_after_a_while(server, monkeypatch):
    made = Pulse(server)
    server.lives = False
    made.record_failure()
    wait_until(lambda: not made.allows() and server.asked > 1)
    server.lives = True
    wait_until(made.allows)
    monkeypatch.setattr(pulse, "PAUSE_SECONDS", 0.2)
    deaf = Server()
    deaf.lives = False
    untrusted = Pulse(deaf)
    with untrusted.watched(lambda: None):
        wait_until(lambda: not untrusted.allows())
        # It is asked for signs all the while.
        wait_until(untrusted.allows)


def test_a_server_of_which_nothing_is_wanted_is_not_watched(server, monkeypatch):
    monkeypatch.setattr(pulse, "INTEREST_SECONDS", 0.05)
    made = Pulse(server)
    with made.watched(lambda: None):
        watch = made._thread
    watch.join(SOON)
    assert not watch.is_alive()
    asked = server.asked
    with made.watched(lambda: None):
        wait_until(lambda: server.asked > asked)


def test_the_clients_of_one_server_know_the_same_of_it(server, monkeypatch):
    monkeypatch.setattr(pulse, "_known", {})
    assert pulse_of("http://one", server) is pulse_of("http://one", server)
    assert pulse_of("http://one", server) is not pulse_of("http://other", server)
