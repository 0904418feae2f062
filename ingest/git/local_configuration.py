"""The values that we use from a local repository's configuration: plain values, never programs or files.

git parses the text without the repository; included files are not read.
"""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from codequarry.ingest.git.own_configuration import own_values
from codequarry.ingest.git.plain_files import read_plain
from codequarry.ingest.git.process import run_git
from codequarry.shared.errors import GitError

# Settings that change which files git lists or considers unchanged, but not which programs it runs.
SWITCHES = (
    "core.filemode",
    "core.ignorecase",
    "core.precomposeunicode",
    "core.sparsecheckout",
    "core.sparsecheckoutcone",
    "core.trustctime",
)
# Settings for line ends, and their values; any other value is a boolean.
LINE_ENDS = {"core.autocrlf": frozenset({"input"}), "core.eol": frozenset({"lf", "crlf", "native"})}
# Settings that hide refs from clients that fetch.
HIDDEN = ("transfer.hiderefs", "uploadpack.hiderefs")
TRUE = frozenset({"true", "yes", "on", "1", ""})
# Extensions that do not affect what we read. A partial clone is read without the objects that it lacks.
HARMLESS = frozenset(
    {"noop", "partialclone", "preciousobjects", "worktreeconfig", "relativeworktrees", "compatobjectformat"}
)
CARRIED = {"objectformat": frozenset({"sha1", "sha256"}), "refstorage": frozenset({"files", "reftable"})}
EXTENSION = "extensions."
READING_SECONDS = 60.0
_WORD = re.compile(r"[a-z0-9]+")


@dataclass(frozen=True, slots=True)
class Configuration:
    """The values of a repository's configuration, in order; a key without a value has an empty value."""

    values: Mapping[str, tuple[str, ...]]

    def text(self, key: str) -> str | None:
        """Return the last value of a key."""
        found = self.values.get(key)
        return found[-1] if found else None

    def is_on(self, key: str) -> bool:
        """Return whether a switch is on; an unset switch is off."""
        value = self.text(key)
        return value is not None and value.lower() in TRUE

    def extension(self, name: str) -> str | None:
        """Return the value of an extension of the repository's format."""
        return self.text(EXTENSION + name)

    def is_partial_clone(self) -> bool:
        """Return whether objects may be missing that git would fetch when needed."""
        promised = any(key.startswith("remote.") and key.endswith(".promisor") for key in self.values)
        return promised or self.extension("partialclone") is not None

    def remotes(self) -> list[tuple[str, str]]:
        """Return every remote with each of its URLs, `origin` first."""
        keys = [key for key in self.values if key.startswith("remote.") and key.endswith(".url")]
        keys.sort(key=lambda key: key != "remote.origin.url")
        return [(key[len("remote.") : -len(".url")], url) for key in keys for url in self.values[key]]

    def line_ends(self, environment: Mapping[str, str]) -> str:
        """Return configuration text with the line ends of a working tree; our user's and the system's are defaults."""
        lines = ["[core]", "\tsafecrlf = false"]
        for key, words in LINE_ENDS.items():
            values = (*own_values(key, environment), *self.values.get(key, ()))
            value = values[-1].lower() if values else None
            if value is not None:
                lines.append(f"\t{key.partition('.')[2]} = {value if value in words else str(value in TRUE).lower()}")
        return "\n".join(lines) + "\n"

    def carried(self) -> str:
        """Return our configuration text for a view of the repository, with the repository's validated values."""
        # A commit is indexed as its id says, not as `git replace` shows it.
        lines = ["[core]", "\trepositoryformatversion = 1", "\tbare = false", "\tuntrackedCache = false"]
        lines.append("\tuseReplaceRefs = false")
        for key in SWITCHES:
            if key in self.values:
                lines.append(f"\t{key.partition('.')[2]} = {str(self.is_on(key)).lower()}")
        lines.append("[extensions]")
        for name, allowed in CARRIED.items():
            value = self.extension(name)
            if value in allowed:
                lines.append(f"\t{name} = {value}")
        for key in HIDDEN:
            section, _, name = key.partition(".")
            lines += [f"[{section}]\n\t{name} = {_quoted(value)}" for value in self.values.get(key, ())]
        return "\n".join(lines) + "\n"


def read_configuration(folder: Path, common: Path, environment: Mapping[str, str]) -> Configuration:
    """Return the configuration of a repository, including its working tree's own configuration."""
    found = _read(common / "config", environment)
    if found.is_on("extensions.worktreeconfig"):
        own = _read(folder / "config.worktree", environment)
        found = Configuration(_joined(found.values, own.values))
    if folder != common:
        # These two keys belong to the main working tree.
        shared = {key: values for key, values in found.values.items() if key not in ("core.worktree", "core.bare")}
        found = Configuration(shared)
    _check_format(found, common)
    return found


def _joined(first: Mapping[str, tuple[str, ...]], then: Mapping[str, tuple[str, ...]]) -> dict[str, tuple[str, ...]]:
    return {key: (*first.get(key, ()), *then.get(key, ())) for key in (*first, *then)}


def _read(path: Path, environment: Mapping[str, str]) -> Configuration:
    text = read_plain(path)
    if not text:
        return Configuration({})
    command = ("config", "--file", "-", "--no-includes", "--null", "--list")
    # Otherwise git would look for a repository in the current folder and its parents.
    outside = {**environment, "GIT_DIR": os.devnull}
    listed = run_git(command, outside, READING_SECONDS, data=text, what=f"{path} can't be read")
    values: dict[str, tuple[str, ...]] = {}
    for entry in os.fsdecode(listed).split("\0")[:-1]:
        key, _, value = entry.partition("\n")
        values[key] = (*values.get(key, ()), value)
    return Configuration(values)


def _check_format(configuration: Configuration, common: Path) -> None:
    version = configuration.text("core.repositoryformatversion") or "0"
    if version not in ("0", "1"):
        raise GitError(f"{common} has repository format {version}, which is too new for Codequarry: index its origin")
    if version == "0":
        return
    for key in configuration.values:
        name = key.removeprefix(EXTENSION)
        value = configuration.text(key)
        if key != name and name not in HARMLESS and value not in CARRIED.get(name, ()):
            raise GitError(f"{common} uses the extension {name} = {value}, which is not supported: index its origin")


def _quoted(value: str) -> str:
    escaped = value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'
