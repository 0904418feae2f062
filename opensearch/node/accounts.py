"""The account that the server runs as, and the folder where that account can reach its files.

OpenSearch refuses to run as root. If root starts a node (in a container, on a CI machine), the server runs as
``nobody``, and files in a folder that only root can enter are placed elsewhere.
"""

import hashlib
import os
import pwd
import stat
from dataclasses import dataclass
from pathlib import Path

from codequarry.shared.errors import StoreUnavailable

UNPRIVILEGED_ACCOUNT = "nobody"
# The folder for root's node if other users cannot enter the requested folder, such as /root.
SYSTEM_FOLDER = Path("/var/lib/codequarry")


@dataclass(frozen=True, slots=True)
class Account:
    """A user and group to run as."""

    name: str
    uid: int
    gid: int


def server_account() -> Account | None:
    """Return the account that the server must run as, or None for the caller's; raise StoreUnavailable if missing."""
    if os.geteuid() != 0:
        return None
    try:
        entry = pwd.getpwnam(UNPRIVILEGED_ACCOUNT)
    except KeyError:
        raise StoreUnavailable(
            f"OpenSearch refuses to run as root and there is no account '{UNPRIVILEGED_ACCOUNT}'; run as another user"
        ) from None
    return Account(entry.pw_name, entry.pw_uid, entry.pw_gid)


def reachable_folder(folder: Path, account: Account | None) -> Path:
    """Return ``folder``, or a replacement if ``account`` cannot enter it."""
    if account is None or is_open_to_others(folder):
        return folder
    return SYSTEM_FOLDER / hashlib.sha256(str(folder).encode()).hexdigest()[:12]


def is_open_to_others(path: Path) -> bool:
    """Return whether every user can reach ``path``; folders that do not exist yet will be created that way."""
    existing = [part for part in (path, *path.parents) if part.exists()]
    return all(part.stat().st_mode & stat.S_IXOTH for part in existing)


def make_folder(path: Path, account: Account | None) -> None:
    """Create a folder that ``account`` can enter, whatever the umask."""
    missing = [part for part in (path, *path.parents) if not part.exists()]
    path.mkdir(parents=True, exist_ok=True)
    if account is not None:
        for part in missing:
            part.chmod(0o755)


def give_to(path: Path, account: Account | None) -> None:
    """Make ``account`` the owner of a folder and everything in it."""
    if account is None:
        return
    for entry in (path, *path.rglob("*")):
        os.chown(entry, account.uid, account.gid, follow_symlinks=False)
