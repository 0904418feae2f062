"""Settings of how git repositories are reached, and of what git may use."""

import ipaddress
from pathlib import Path

from pydantic import Field, SecretStr, field_validator

from codequarry.shared.settings.sources import Section


class GitSettings(Section):
    """How repositories are reached."""

    clone_timeout_seconds: float = Field(default=3600, gt=0)
    proxy: str | None = None
    ca_file: Path | None = None
    token: SecretStr | None = Field(default=None, description="token for https origins; CODEQUARRY_GIT__TOKEN")
    user: str = Field(default="x-access-token", description="user name sent with the token")
    ssh_command: str | None = None
    tokens: dict[str, SecretStr] = Field(default={}, description="tokens by host, before `token`")
    mirror_cache_bytes: int | None = Field(
        default=None, ge=0, description="workers remove the mirrors that were used longest ago beyond so much"
    )
    allowed_schemes: tuple[str, ...] = Field(
        default=("https", "ssh"), description="how repositories may be reached that requests name"
    )
    allowed_hosts: tuple[str, ...] = Field(
        default=(), description="hosts of repositories that requests name, `*` for any characters; all if empty"
    )
    private_networks: tuple[str, ...] = Field(
        default=(), description="private networks (10.0.0.0/8) in which such hosts may be"
    )
    max_repository_bytes: int | None = Field(
        default=None, ge=1, description="a fetch is stopped where the mirror grows larger"
    )
    memory_bytes: int | None = Field(
        default=4_000_000_000,
        ge=100_000_000,
        description="memory of each git process: a pack of 150 KB can hold a file of many gigabytes",
    )
    alternates: tuple[Path, ...] = Field(
        default=(),
        description="folders below which local repositories may borrow objects (git clone --shared)",
    )

    @field_validator("private_networks")
    @classmethod
    def _are_networks(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for network in value:
            ipaddress.ip_network(network)
        return value
