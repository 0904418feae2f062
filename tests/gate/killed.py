"""Commands in separate processes that are killed or complete, on the folder of one index."""

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from codequarry.shared.settings.config import SettingsModel

PROGRAM = Path(__file__).with_name("mortal.py")
KILLED = -9


@dataclass(frozen=True, slots=True)
class Ended:
    """The end of a process: its exit code, negative for a signal, and the number of writes that it began."""

    code: int
    writes: int
    output: str


class Commands:
    """Runs commands one after another, each in a new process; their temporary files are in ``scratch``."""

    def __init__(self, folder: Path) -> None:
        self.scratch = folder / "scratch"
        self.scratch.mkdir()
        self._output = folder / "output"
        self._program = subprocess.Popen(
            [sys.executable, str(PROGRAM)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=os.environ | {"XDG_CONFIG_HOME": str(folder), "TMPDIR": str(self.scratch)},
        )

    def run(self, settings: SettingsModel, *arguments: str, at: int = 0, after: bool = False) -> Ended:
        """Run a command, which dies right before (or after) the write number ``at``, and wait for its end."""
        program = self._program
        assert program.stdin
        assert program.stdout
        self._output.unlink(missing_ok=True)
        order = {"arguments": [*_assignments(settings), *arguments], "output": str(self._output)}
        program.stdin.write(json.dumps(order | {"at": at, "after": after}) + "\n")
        program.stdin.flush()
        answer = json.loads(program.stdout.readline())
        return Ended(**answer, output=self._output.read_text())

    def must(self, settings: SettingsModel, *arguments: str) -> Ended:
        """Run a command that must succeed."""
        ended = self.run(settings, *arguments)
        assert ended.code == 0, f"codequarry {' '.join(arguments)}: {ended.output}"
        return ended

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._program.communicate()


def _assignments(settings: SettingsModel) -> list[str]:
    """Return the options that give a command the settings of a workshop."""
    options = []
    for section, value in settings.model_dump(mode="json", exclude_unset=True).items():
        for name, setting in value.items() if isinstance(value, dict) else [("", value)]:
            key = f"{section}.{name}" if name else section
            options += ["--set", f"{key}={setting if isinstance(setting, str) else json.dumps(setting)}"]
    return options
