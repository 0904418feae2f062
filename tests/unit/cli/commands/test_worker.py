"""If a worker or beat cannot start, it explains why in one line."""

import pytest

from codequarry.cli.main import run


@pytest.fixture(autouse=True)
def own_home(tmp_path, monkeypatch):
    monkeypatch.setenv("CODEQUARRY_HOME", str(tmp_path))
    monkeypatch.delenv("CODEQUARRY_QUEUE__URL", raising=False)


@pytest.mark.parametrize("command", ["worker", "beat"])
def test_a_missing_queue_names_the_setting(command, capsys):
    assert run([command]) == 2
    assert "no queue is configured: set [queue] url" in capsys.readouterr().err


def test_an_unknown_queue_is_named_with_the_known_queues(capsys):
    assert run(["worker", "--queues", "scan,scans"]) == 2
    assert "unknown queue 'scans'; known: control, scan, index, embed" in capsys.readouterr().err


@pytest.mark.parametrize("url", ["http://secret@host", "secret"])
def test_an_invalid_queue_address_is_refused_without_being_shown(url, capsys, monkeypatch):
    monkeypatch.setenv("CODEQUARRY_QUEUE__URL", url)
    assert run(["worker"]) == 2
    error = capsys.readouterr().err
    assert "it must begin with redis:// or rediss://" in error
    assert "secret" not in error


def test_a_soft_limit_above_the_hard_limit_is_refused(capsys):
    assert run(["--set", "queue.hard_limit_seconds=10", "worker"]) == 2
    assert "hard_limit_seconds must be between soft_limit_seconds and" in capsys.readouterr().err
