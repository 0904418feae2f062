"""Text arguments of the command line: literal, from a file, or from stdin."""

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
    """A text argument; ``path`` is the file that it was read from, "" for stdin, or None for a literal text."""

    text: str
    path: str | None = None

    @property
    def source(self) -> str:
        """Where the text came from: ``text``, ``file`` or ``stdin``."""
        return "text" if self.path is None else "file" if self.path else "stdin"


def read_text(argument: str, role: str, reading: ArgumentReading, most_bytes: int) -> TextArgument:
    """Return the text that an argument stands for: itself, the file of ``PATH`` or ``@PATH``, or stdin for ``-``.

    Raise UsageError if a file is missing, too large or not text, or if the text is empty. ``role`` names the argument
    in messages; ``reading`` decides between text and file if the argument could be either.
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
    """Return whether the text after an @ is meant as a path; a decorator or annotation followed by code is not."""
    return _is_file(rest) or not any(char.isspace() for char in rest)


def _is_file(name: str) -> bool:
    """Return whether a path can be read; a pipe from a shell's process substitution counts."""
    try:
        place = Path(_resolved(name))
        return place.exists() and not place.is_dir()
    except (OSError, ValueError):
        return False  # not a valid file name: too long, or with a null byte


def _resolved(name: str) -> str:
    """Return a path with ``~`` expanded, which no shell does after an @; the ``~`` of an unknown user stays."""
    return os.path.expanduser(name)  # noqa: PTH111 - pathlib raises RuntimeError for an unknown user


def _read_file(name: str, most_bytes: int) -> TextArgument:
    path = _resolved(name)
    try:
        with Path(path).open("rb") as file:
            return TextArgument(_decoded(file, name, most_bytes), path)
    except FileNotFoundError:
        raise UsageError(f"there is no file '{name}'; use --text to take the argument as text") from None
    except IsADirectoryError:
        raise UsageError(f"'{name}' is a folder; name a file") from None


def _decoded(file: BinaryIO, name: str, most_bytes: int) -> str:
    from codequarry.ingest.files.content import NotText, decode

    data = file.read(most_bytes + 1)
    if len(data) > most_bytes:
        raise UsageError(f"'{name}' has more than {most_bytes:,} bytes (scan.max_file_bytes), too many to embed")
    text = decode(data)
    if isinstance(text, NotText):
        detail = f" ({text.detail})" if text.detail else ""
        raise UsageError(f"'{name}' is not text that can be embedded: {text.reason}{detail}")
    return text.text
