"""Where the mirrors of a data folder are."""

from hashlib import sha256
from pathlib import Path

from codequarry.shared.origins import Origin


def mirror_folder(origin: Origin, home: Path) -> Path:
    """Return the folder of an origin's mirror; its name is readable and different for every origin."""
    return mirrors_folder(home) / f"{origin.name}-{sha256(origin.identity.encode()).hexdigest()[:12]}.git"


def mirrors_folder(home: Path) -> Path:
    """Return the folder of all mirrors, absolute because git processes run in other folders."""
    return home.expanduser().absolute() / "mirrors"
