"""Settings for secrets found in repositories."""

import re
from typing import Literal

from pydantic import Field, field_validator

from codequarry.shared.settings.sources import Section

_SHA256 = re.compile(r"[0-9a-f]{64}")


class SecretSettings(Section):
    """What happens to secrets found in a repository, and which findings are ignored."""

    action: Literal["mask", "skip", "off"] = Field(
        default="mask", description="`mask` replaces each character with `*`, `skip` skips the whole file"
    )
    allow_paths: tuple[str, ...] = Field(default=(), description="files that are not masked; patterns as in .gitignore")
    allow_rules: tuple[str, ...] = Field(default=(), description="rules that are disabled")
    allow_hashes: tuple[str, ...] = Field(default=(), description="SHA-256 of values that are not secrets")
    repository_allow_file: bool = Field(default=False, description="obey a repository's own .codequarryallow")

    @field_validator("allow_hashes")
    @classmethod
    def _are_hashes(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        lowered = tuple(digest.lower() for digest in value)
        for digest in lowered:
            if not _SHA256.fullmatch(digest):
                raise ValueError("it must be 64 hexadecimal digits; get them with: printf %s VALUE | sha256sum")
        return lowered
