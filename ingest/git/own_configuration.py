"""Our user's and the system's git configuration: other code reads only plain values from it, never programs."""

import os
from collections.abc import Mapping
from contextlib import suppress

from codequarry.ingest.git.process import run_git
from codequarry.shared.errors import GitError

# Variables that change where git finds the user's and the system's configuration.
OWN_CONFIGURATION = ("GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM")


def own_values(key: str, environment: Mapping[str, str], *options: str) -> list[str]:
    """Return the values of a key from the system's and then the user's configuration, with the files they include."""
    own = {name: os.environ[name] for name in OWN_CONFIGURATION if name in os.environ}
    unset = (*OWN_CONFIGURATION, "GIT_CONFIG_COUNT")
    # Otherwise git would look for a repository in the current folder and its parents.
    asking = {name: value for name, value in environment.items() if name not in unset} | own | {"GIT_DIR": os.devnull}
    found: list[str] = []
    scopes = ["--global"] if own.get("GIT_CONFIG_NOSYSTEM", "0").lower() in ("1", "true", "yes", "on") else []
    for scope in scopes or ["--system", "--global"]:
        command = ("config", scope, "--includes", "--null", *options, "--get-all", key)
        with suppress(GitError):  # the file does not exist or does not set it
            found += os.fsdecode(run_git(command, asking, what=f"cannot read {key}")).split("\0")[:-1]
    return found
