"""The settings of how secrets in repositories are treated."""

import re
from typing import Literal

from pydantic import Field, field_validator

from codequarry.shared.settings.sources import Section

_SHA256 = re.compile(r"[0-9a-f]{64}")


class SecretSettings(Section):
    """What happens to secrets that a repository holds, and what is none."""

    action: Literal["mask", "skip", "off"] = Field(
        default="mask", description="`mask` writes `*` over each character, `skip` leaves the whole file out"
    )
    allow_paths: tuple[str, ...] = Field(default=(), description="files that are left as they are, as in .gitignore")
    allow_rules: tuple[str, ...] = Field(default=(), description="rules that are not applied")
    allow_hashes: tuple[str, ...] = Field(default=(), description="SHA-256 of values that are no secrets")
    repository_allow_file: bool = Field(default=False, description="obey a repository's own .codequarryallow")

    @field_validator("allow_hashes")
    @classmethod
    def _are_hashes(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        lowered = tuple(one.lower() for one in value)
        for one in lowered:
            if not _SHA256.fullmatch(one):
                raise ValueError("64 hexadecimal digits: printf %s VALUE | sha256sum")
        return lowered
