"""`codequarry doctor`: checks the installation and shows how to fix problems."""

import sys

import typer

from codequarry.cli.session.session import Json, load
from codequarry.cli.terminal.console import safe_line, write, write_json
from codequarry.cli.terminal.failures import FAILED

COLOURS = {"ok": "\x1b[32m", "warn": "\x1b[33m", "fail": "\x1b[31m"}
PLAIN = "\x1b[0m"


def doctor(context: typer.Context, as_json: Json = False) -> None:
    """Check the data folder, disk, git, model and store, and show how to fix problems. Exit 1 if a check fails."""
    from codequarry.cli.session.doctor_checks import Check, run_checks, worst

    loaded = load(context)
    done: list[Check] = []
    for check in run_checks(loaded):
        done.append(check)
        if not as_json:
            _show(check.name, check.state, check.message, check.remedy if check.state != "ok" else "")
    if as_json:
        write_json(
            {
                "state": worst(done),
                "checks": [
                    {"name": check.name, "state": check.state, "message": check.message, "remedy": check.remedy}
                    for check in done
                ],
            }
        )
    if worst(done) == "fail":
        raise typer.Exit(FAILED)


def _show(name: str, state: str, message: str, remedy: str) -> None:
    colour, plain = (COLOURS[state], PLAIN) if sys.stdout.isatty() else ("", "")
    write(f"  {name}: {safe_line(message)}", before=f"{colour}{state:<4}{plain}")
    if remedy:
        write(f"      → {remedy}")
