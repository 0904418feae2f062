"""Whose a repository is: its owner's configuration would run with our rights, so another owner's is refused, as in git.

Who trusts such a repository says so to git itself: ``safe.directory`` in the person's or the system's configuration.
"""

import os
import shlex
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from codequarry.ingest.git.process import run_git
from codequarry.shared.errors import GitError

# Where a person's own configuration may be instead of its usual place.
OWN_CONFIGURATION = ("GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM")
ANY = "*"


def check_owner(paths: Iterable[Path], names: Sequence[Path], environment: Mapping[str, str]) -> None:
    """Raise GitError if one of ``paths`` belongs to somebody else and the person's git was not told to trust it.

    ``names`` are the folders by which ``safe.directory`` may name the repository, the one to show first.
    """
    ours = _our_users()
    if all(path.lstat().st_uid in ours for path in paths) or _is_trusted(names, environment):
        return
    shown = names[0]
    raise GitError(
        f"detected dubious ownership in repository at '{shown}', which belongs to another user; to add an exception: "
        f"git config --global --add safe.directory {shlex.quote(str(shown))}"
    )


def _our_users() -> frozenset[int]:
    """Return our user's number; of root also that of the user who called it by sudo."""
    own = os.geteuid()
    caller = os.environ.get("SUDO_UID", "")
    return frozenset({own, int(caller)} if own == 0 and caller.isdecimal() else {own})


def _is_trusted(names: Sequence[Path], environment: Mapping[str, str]) -> bool:
    known = {os.path.realpath(name) for name in names}
    trusted = False
    for value in _safe_directories(environment):
        if not value:
            trusted = False
        elif value == ANY:
            trusted = True
        elif value.endswith("/*"):
            above = os.path.realpath(value[:-2])
            trusted |= any(name.startswith(f"{above.rstrip('/')}/") for name in known)
        else:
            trusted |= os.path.realpath(value) in known
    return trusted


def _safe_directories(environment: Mapping[str, str]) -> list[str]:
    """Return what the system's and then the person's configuration say, an empty text for what resets the list."""
    own = {name: os.environ[name] for name in OWN_CONFIGURATION if name in os.environ}
    unset = (*OWN_CONFIGURATION, "GIT_CONFIG_COUNT")
    asking = {name: value for name, value in environment.items() if name not in unset} | own
    found: list[str] = []
    scopes = ["--global"] if own.get("GIT_CONFIG_NOSYSTEM", "0").lower() in ("1", "true", "yes", "on") else []
    for scope in scopes or ["--system", "--global"]:
        command = ("config", scope, "--includes", "--null", "--type=path", "--get-all", "safe.directory")
        with suppress(GitError):  # there is no such file, or it says nothing of this
            found += os.fsdecode(run_git(command, asking, what="cannot ask for safe.directory")).split("\0")[:-1]
    return found
