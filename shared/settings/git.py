"""Settings for git: access to repositories and limits on git processes."""

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
    mirror_cache_bytes: int | None = Field(default=None, ge=0, description="total size of the mirrors kept by workers")
    allowed_schemes: tuple[str, ...] = Field(default=("https", "ssh"), description="schemes allowed in requests")
    allowed_hosts: tuple[str, ...] = Field(default=(), description="hosts allowed in requests; empty: any public host")
    private_networks: tuple[str, ...] = Field(default=(), description="private networks for those hosts (10.0.0.0/8)")
    max_repository_bytes: int | None = Field(default=None, ge=1, description="mirror size at which a fetch is stopped")
    memory_bytes: int | None = Field(default=4_000_000_000, ge=100_000_000, description="memory limit of a git process")
    alternates: tuple[Path, ...] = Field(default=(), description="object folders for git clone --shared")

    @field_validator("private_networks")
    @classmethod
    def _are_networks(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for network in value:
            ipaddress.ip_network(network)
        return value
