from collections.abc import Callable
from pathlib import Path

import pytest

from codequarry.cli.session import doctor_checks


@pytest.fixture
def fake_git(tmp_path: Path) -> Callable[[str], str]:
    """Return a function that makes a fake git with the given answer."""

    def make(answer: str) -> str:
        program = tmp_path / "git"
        program.write_text(f"#!/bin/sh\n{answer}\n")
        program.chmod(0o755)
        return str(program)

    return make


@pytest.mark.parametrize(
    ("answer", "state"),
    [
        ("echo git version 2.32.0", "ok"),
        ("echo 'git version 2.39.5 (Apple Git-154)'", "ok"),
        ("echo git version 3.0.1", "ok"),
        ("echo git version 2.31.9", "fail"),
        ("echo nonsense", "fail"),
        ("exit 1", "fail"),
    ],
)
def test_git_must_be_new_enough(fake_git: Callable[[str], str], answer: str, state: str) -> None:
    check = doctor_checks.check_git(fake_git(answer))
    assert check.state == state
    assert (check.remedy == "install git 2.32 or newer") == (state == "fail")


def test_a_missing_git_is_named() -> None:
    assert doctor_checks.check_git("/nowhere/git").message.startswith("git does not run")


def test_the_data_folder_is_created_and_left_empty(tmp_path: Path) -> None:
    home = tmp_path / "new" / "home"
    assert doctor_checks.check_home(home).state == "ok"
    assert list(home.iterdir()) == []


def test_a_data_folder_that_is_a_file_fails(tmp_path: Path) -> None:
    (tmp_path / "home").write_text("")
    check = doctor_checks.check_home(tmp_path / "home")
    assert (check.state, check.remedy) == ("fail", "set CODEQUARRY_HOME to a folder you can write to")


def test_free_space_is_measured_for_a_folder_that_does_not_exist_yet(tmp_path: Path) -> None:
    assert doctor_checks.check_disk(tmp_path / "not" / "yet").message.endswith(" free")


@pytest.mark.parametrize(
    ("states", "worst"), [([], "ok"), (["ok", "ok"], "ok"), (["ok", "warn"], "warn"), (["warn", "fail", "ok"], "fail")]
)
def test_the_worst_state_counts(states: list[doctor_checks.CheckState], worst: str) -> None:
    assert doctor_checks.worst([doctor_checks.Check("x", state, "") for state in states]) == worst
