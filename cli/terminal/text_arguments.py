"""Texts on the command line: as they stand, from a file, or from stdin."""

import os.path
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Literal

from codequarry.cli.terminal.console import safe_line
from codequarry.shared.errors import UsageError

ArgumentReading = Literal["either", "text", "file"]
STDIN, FILE_SIGN = "-", "@"


@dataclass(frozen=True, slots=True)
class TextArgument:
    """A text that was given; ``path`` is the file that it was read from, "" where that is stdin, None where none."""

    text: str
    path: str | None = None

    @property
    def source(self) -> str:
        """What it was taken for: ``text``, ``file`` or ``stdin``."""
        return "text" if self.path is None else "file" if self.path else "stdin"


def read_text(argument: str, role: str, reading: ArgumentReading, most_bytes: int) -> TextArgument:
    """Return what an argument means: a text, ``@PATH`` or the path of a file, ``-`` for stdin.

    UsageError for a file that is not there, is no text or too large, and for what is empty. ``role`` names the argument
    in messages; ``reading`` says what it is where it might be either.
    """
    given = _read(argument, reading, most_bytes)
    if not given.text.strip():
        what = {"text": f"the {role}", "stdin": f"the {role} from stdin", "file": safe_line(given.path or "")}
        raise UsageError(f"{what[given.source]} is empty; there is nothing to compare")
    return given


def _read(argument: str, reading: ArgumentReading, most_bytes: int) -> TextArgument:
    if reading == "text":
        return TextArgument(argument)
    if argument == STDIN:
        return TextArgument(_decoded(sys.stdin.buffer, "stdin", most_bytes), "")
    if reading == "either" and _is_file(argument):
        return _read_file(argument, most_bytes)
    if argument.startswith(FILE_SIGN) and (reading == "file" or _names_file(argument[1:])):
        return _read_file(argument[1:], most_bytes)
    return _read_file(argument, most_bytes) if reading == "file" else TextArgument(argument)


def _names_file(rest: str) -> bool:
    """Tell whether what stands behind an @ is meant as a path: a decorator or annotation with code behind it is not."""
    return _is_file(rest) or not any(char.isspace() for char in rest)


def _is_file(name: str) -> bool:
    """Tell whether there is something to read, be it the pipe of a shell's process substitution."""
    try:
        place = Path(_resolved(name))
        return place.exists() and not place.is_dir()
    except (OSError, ValueError):
        return False  # no name of a file: too long, or with a zero byte


def _resolved(name: str) -> str:
    """Return the path that a name means: behind an @ no shell resolves a tilde. One of an unknown user stays."""
    return os.path.expanduser(name)  # noqa: PTH111 - that of pathlib raises RuntimeError for an unknown user


def _read_file(name: str, most_bytes: int) -> TextArgument:
    path = _resolved(name)
    try:
        with Path(path).open("rb") as file:
            return TextArgument(_decoded(file, name, most_bytes), path)
    except FileNotFoundError:
        raise UsageError(f"there is no file '{name}'; --text takes what is given as it stands") from None
    except IsADirectoryError:
        raise UsageError(f"'{name}' is a folder: give a file") from None


def _decoded(file: BinaryIO, name: str, most_bytes: int) -> str:
    from codequarry.ingest.files.content import NotText, decode

    data = file.read(most_bytes + 1)
    if len(data) > most_bytes:
        raise UsageError(f"'{name}' has more than {most_bytes:,} bytes (scan.max_file_bytes): no such file is embedded")
    text = decode(data)
    if isinstance(text, NotText):
        detail = f" ({text.detail})" if text.detail else ""
        raise UsageError(f"'{name}' is no text that could be embedded: {text.reason}{detail}")
    return text.text
