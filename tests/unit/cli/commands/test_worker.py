"""Workers and beat that can't begin say why in one line."""

import pytest

from codequarry.cli.main import run


@pytest.fixture(autouse=True)
def own_home(tmp_path, monkeypatch):
    monkeypatch.setenv("CODEQUARRY_HOME", str(tmp_path))
    monkeypatch.delenv("CODEQUARRY_QUEUE__URL", raising=False)


@pytest.mark.parametrize("command", ["worker", "beat"])
def test_without_a_queue_it_is_said_what_to_set(command, capsys):
    assert run([command]) == 2
    assert "no queue is configured: set [queue] url" in capsys.readouterr().err


def test_an_unknown_queue_is_named_with_those_there_are(capsys):
    assert run(["worker", "--queues", "scan,scans"]) == 2
    assert "unknown queue 'scans'; known: control, scan, index, embed" in capsys.readouterr().err


@pytest.mark.parametrize("url", ["http://secret@host", "secret"])
def test_an_address_that_is_none_of_a_queue_is_refused_without_being_shown(url, capsys, monkeypatch):
    monkeypatch.setenv("CODEQUARRY_QUEUE__URL", url)
    assert run(["worker"]) == 2
    said = capsys.readouterr().err
    assert "it must begin with redis:// or rediss://" in said
    assert "secret" not in said


def test_limits_that_do_not_fit_are_refused(capsys):
    assert run(["--set", "queue.hard_limit_seconds=10", "worker"]) == 2
    assert "soft_limit_seconds must be below hard_limit_seconds" in capsys.readouterr().err
