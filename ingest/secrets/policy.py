"""Combines the settings and a repository's own list: whether secrets are masked, and which are allowed."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Literal, Self

from codequarry.ingest.secrets.allow_list import Allowed, parse_allow_file
from codequarry.shared.glob_patterns import GLOBS_VERSION
from codequarry.shared.globs import globs_of_setting

if TYPE_CHECKING:  # the processes that list and read files load no settings
    from codequarry.shared.settings.secrets import SecretSettings

ALLOW_FILE = ".codequarryallow"
# Part of every rules hash. Increase it when a change to the Python code here changes what is found.
DETECTOR_VERSION = 2
# The order matters: if two rules find the same place, the first names it.
RULE_FILES = ("gitleaks.toml", "own.toml")


@dataclass(frozen=True, slots=True)
class SecretRules:
    """How the secrets in the files of a version are handled."""

    action: Literal["mask", "skip", "off"] = "mask"
    allowed: Allowed = field(default_factory=Allowed)

    @classmethod
    def of(cls, settings: "SecretSettings", allow_lines: Sequence[str] = ()) -> "SecretRules":
        """Return the rules from the settings and, if they permit it, from the lines of the repository's own list."""
        globs_of_setting("secrets.allow_paths", settings.allow_paths)  # rejects a pattern that can match nothing
        allowed = Allowed(settings.allow_paths, frozenset(settings.allow_rules), frozenset(settings.allow_hashes))
        if settings.repository_allow_file:
            allowed = allowed.joined(parse_allow_file(allow_lines))
        return cls(settings.action, allowed)

    def to_json(self) -> dict[str, Any]:
        """Return the rules as JSON for another process."""
        allowed = {"paths": list(self.allowed.paths), "rules": sorted(self.allowed.rules)}
        return {"action": self.action, **allowed, "hashes": sorted(self.allowed.hashes)}

    @classmethod
    def from_json(cls, body: Mapping[str, Any]) -> Self:
        """Parse the JSON of ``to_json``."""
        allowed = Allowed(tuple(body["paths"]), frozenset(body["rules"]), frozenset(body["hashes"]))
        return cls(body["action"], allowed)

    @property
    def is_on(self) -> bool:
        """Whether secrets are searched for."""
        return self.action != "off"

    @property
    def digest(self) -> str:
        """A string of everything that decides what is masked: action, detector, rules, and what is allowed."""
        allowed = (self.allowed.paths, sorted(self.allowed.rules), sorted(self.allowed.hashes))
        patterns = f":{GLOBS_VERSION}" if self.allowed.paths else ""
        return f"{self.action}:{DETECTOR_VERSION}:{_rule_files() if self.is_on else ''}:{allowed}{patterns}"


@lru_cache(maxsize=1)
def _rule_files() -> str:
    """Return the hash of the rule files, without compiling them."""
    texts = (files(__package__).joinpath(name).read_bytes() for name in RULE_FILES)
    return hashlib.sha256(b"".join(texts)).hexdigest()[:16]
