"""The environment in which git runs: nothing of the machine or of the person's configuration can run code or ask.

Secrets travel in the environment of the one git process that needs them: not in arguments, which every user of the
machine sees, and not in files.
"""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from codequarry.ingest.git.origins import Credentials, Origin
from codequarry.shared.repositories.origin_rules import host_matches
from codequarry.shared.settings.git import GitSettings

# What a person may have set to reach a server; every other GIT_ variable (GIT_DIR of a hook…) is left out.
KEPT_VARIABLES = frozenset(
    {"GIT_SSH", "GIT_SSH_COMMAND", "GIT_SSH_VARIANT", "GIT_SSL_CAINFO", "GIT_SSL_CAPATH", "GIT_EXEC_PATH"}
)
PROTOCOLS = "file:git:http:https:ssh"
# Instead of the system's and the person's configuration. `safe.directory` has to be in a file: git does not hand the
# variables on to the process that serves a local repository, which may belong to somebody else. Nothing is pruned: a
# commit that was indexed is asked for again long after its branch went elsewhere.
CONFIGURATION = """\
[safe]
\tdirectory = *
[core]
\thooksPath = /dev/null
\tfsmonitor = false
\taskPass =
[fetch]
	writeCommitGraph = true
[gc]
\tautoDetach = false
[http]
\tfollowRedirects = false
\tlowSpeedLimit = 100
\tlowSpeedTime = 60
[credential]
\thelper =
"""
# Answers git's question for the account; only for the host that the setting names, and only when it asks.
CREDENTIAL_HELPER = (
    '!f() { test "$1" = get && '
    'printf "username=%s\\npassword=%s\\n" "$CODEQUARRY_ORIGIN_USER" "$CODEQUARRY_ORIGIN_SECRET"; }; f'
)
SSH_WITHOUT_QUESTIONS = "ssh -oBatchMode=yes -oConnectTimeout=30"


def git_environment(
    settings: GitSettings, configuration: Path, origin: Origin | None = None, bound: Mapping[str, str] | None = None
) -> dict[str, str]:
    """Return the environment for a git process; with the account for ``origin`` where it is given and has one.

    ``bound`` is more configuration for this origin alone, which a request named (``guard.py``) unless it is None.
    """
    environment = _inherited() | {
        "LC_ALL": "C",
        "GIT_CONFIG_GLOBAL": str(configuration),
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_ALLOW_PROTOCOL": PROTOCOLS,
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_ASKPASS": "",
        "GIT_LFS_SKIP_SMUDGE": "1",
        # From git 2.44 on; of an older one the views (view.py) have no remote to fetch from.
        "GIT_NO_LAZY_FETCH": "1",
    }
    if settings.memory_bytes:
        environment["GIT_DATA_KILOBYTES"] = str(settings.memory_bytes // 1024)
    if settings.ssh_command:
        environment["GIT_SSH_COMMAND"] = settings.ssh_command
    elif not {"GIT_SSH", "GIT_SSH_COMMAND"} & environment.keys():
        environment["GIT_SSH_COMMAND"] = SSH_WITHOUT_QUESTIONS
    if settings.ca_file:
        environment["GIT_SSL_CAINFO"] = str(settings.ca_file)
    configured: list[tuple[str, str]] = list((bound or {}).items())
    if settings.proxy:
        configured.append(("http.proxy", settings.proxy))
    account = origin and account_of(origin, settings, guarded=bound is not None)
    if origin and account:
        configured.append((f"credential.{origin.scheme}://{origin.host}.helper", CREDENTIAL_HELPER))
        environment |= {"CODEQUARRY_ORIGIN_USER": account.user, "CODEQUARRY_ORIGIN_SECRET": account.secret}
    return environment | _configuration_variables(configured)


def _inherited() -> dict[str, str]:
    """Return the variables that git gets from us: none that redirect it, none that may hold our own secrets."""
    left_out = ("GIT_", "CODEQUARRY_", "SSH_ASKPASS")
    return {
        name: value for name, value in os.environ.items() if not name.startswith(left_out) or name in KEPT_VARIABLES
    }


def account_of(origin: Origin, settings: GitSettings, *, guarded: bool = False) -> Credentials | None:
    """Return the account for an origin: the URL's own, its host's token, the common token. Tokens need https.

    One that a request named, and so is ``guarded``, gets the common token only where the settings list its host: else
    anybody who may add repositories could have it sent to a host of their own.
    """
    given = origin.credentials
    if given and given.secret:
        return given
    if origin.scheme != "https":
        return given
    common = settings.token if not guarded or is_listed(origin.host, settings) else None
    token = settings.tokens.get(origin.host) or common
    if token is None:
        return given
    return Credentials(given.user if given else settings.user, token.get_secret_value())


def is_listed(host: str, settings: GitSettings) -> bool:
    """Tell whether a host, perhaps with its port, is among those that the settings allow by name."""
    name = host.partition("]")[0].removeprefix("[") if host.startswith("[") else host.partition(":")[0]
    # A pattern of any host names none.
    return host_matches(name, filter(lambda pattern: pattern.strip("*."), settings.allowed_hosts))


def _configuration_variables(configured: Sequence[tuple[str, str]]) -> dict[str, str]:
    variables = {"GIT_CONFIG_COUNT": str(len(configured))}
    for index, (key, value) in enumerate(configured):
        variables |= {f"GIT_CONFIG_KEY_{index}": key, f"GIT_CONFIG_VALUE_{index}": value}
    return variables
