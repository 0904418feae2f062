"""The report of a failure: one line on stderr and an exit code."""

import errno
import os
import sys
import traceback

import typer

from codequarry.cli.terminal.console import ReaderGone, note
from codequarry.shared.errors import CodequarryError, UsageError

FAILED, WRONG_USE = 1, 2
# 128 + SIGINT, as shells report it.
INTERRUPTED = 130


def report(error: BaseException) -> int:
    """Print an error as one line and return the exit code; ``CODEQUARRY_DEBUG=1`` adds the traceback."""
    if isinstance(error, BrokenPipeError | ReaderGone):
        return _discard_output()
    if os.environ.get("CODEQUARRY_DEBUG"):
        traceback.print_exception(error)
    if isinstance(error, KeyboardInterrupt | typer.Abort):
        note("stopped")
        return INTERRUPTED
    if type(error).__name__ == "NoArgsIsHelpError":
        # A command group was called without a command: the message is its help. Typer does not export the class.
        note(str(error))
        return WRONG_USE
    message, code = _explain(error)
    note(f"error: {' '.join(message.split())}")
    return code


def _explain(error: BaseException) -> tuple[str, int]:
    if isinstance(error, typer.TyperException):
        return _wrong_use(error), WRONG_USE
    if isinstance(error, CodequarryError):
        return str(error) or type(error).__name__, WRONG_USE if isinstance(error, UsageError) else FAILED
    if isinstance(error, OSError) and error.strerror:
        place = f": {error.filename}" if error.filename else ""
        hint = "; free some space and run the command again" if error.errno == errno.ENOSPC else ""
        return f"{error.strerror}{place}{hint}", FAILED
    return f"unexpected {type(error).__name__}: {error} (CODEQUARRY_DEBUG=1 shows the traceback)", FAILED


def _wrong_use(error: typer.TyperException) -> str:
    context: typer.Context | None = getattr(error, "ctx", None)
    hint = f" (see {context.command_path} --help)" if context else ""
    return error.format_message().rstrip(".") + hint


def _discard_output() -> int:
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0
