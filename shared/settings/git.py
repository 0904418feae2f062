"""Settings for git: access to repositories and limits of its processes."""

import ipaddress
from pathlib import Path

from pydantic import Field, SecretStr, field_validator

from codequarry.shared.settings.sources import Section


class GitSettings(Section):
    """Access to repositories, and limits."""

    clone_timeout_seconds: float = Field(default=3600, gt=0)
    proxy: str | None = None
    ca_file: Path | None = None
    token: SecretStr | None = Field(default=None, description="token for https origins; CODEQUARRY_GIT__TOKEN")
    user: str = Field(default="x-access-token", description="user name sent with the token")
    ssh_command: str | None = None
    tokens: dict[str, SecretStr] = Field(default={}, description="tokens by host; they take precedence over `token`")
    mirror_cache_bytes: int | None = Field(
        default=None, ge=0, description="workers remove the least recently used mirrors beyond this total size"
    )
    allowed_schemes: tuple[str, ...] = Field(
        default=("https", "ssh"), description="URL schemes allowed for repositories named in requests"
    )
    allowed_hosts: tuple[str, ...] = Field(
        default=(), description="hosts allowed in requests, `*` for any characters; any public host if empty"
    )
    private_networks: tuple[str, ...] = Field(
        default=(), description="private networks (10.0.0.0/8) in which those hosts may be"
    )
    max_repository_bytes: int | None = Field(
        default=None, ge=1, description="a fetch is stopped when the mirror grows beyond this size"
    )
    memory_bytes: int | None = Field(
        default=4_000_000_000,
        ge=100_000_000,
        description="memory limit of each git process: a pack of 150 KB can hold a file of many gigabytes",
    )
    alternates: tuple[Path, ...] = Field(
        default=(),
        description="folders from which local repositories may borrow objects (git clone --shared)",
    )

    @field_validator("private_networks")
    @classmethod
    def _are_networks(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for network in value:
            ipaddress.ip_network(network)
        return value
