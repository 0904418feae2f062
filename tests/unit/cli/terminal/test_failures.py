import errno

import pytest
import typer

from codequarry.cli.terminal.failures import report
from codequarry.shared.errors import GitError, NotIndexed, UnknownName, UsageError


@pytest.mark.parametrize(
    ("error", "code", "line"),
    [
        (NotIndexed("nothing\nhere"), 1, "error: nothing here"),
        (GitError("cannot read it"), 1, "error: cannot read it"),
        (UsageError("empty"), 2, "error: empty"),
        (UnknownName("filter", "knd", ["kind"]), 2, "error: unknown filter 'knd'; known: kind"),
        (typer.BadParameter("no"), 2, "error: Invalid value: no"),
        (PermissionError(errno.EACCES, "Permission denied", "/x"), 1, "error: Permission denied: /x"),
        (OSError(errno.ENOSPC, "No space left on device"), 1, "error: No space left on device; free some space"),
        (ValueError("odd"), 1, "error: unexpected ValueError: odd (CODEQUARRY_DEBUG=1 shows the traceback)"),
        (KeyboardInterrupt(), 130, "stopped"),
        (typer.Abort(), 130, "stopped"),
    ],
)
def test_every_failure_is_one_line_and_an_exit_code(
    error: BaseException, code: int, line: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert report(error) == code
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith(line)
    assert captured.err.count("\n") == 1
