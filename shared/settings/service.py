"""Settings for the HTTP service: address, keys, limits and audit log."""

from ipaddress import IPv4Network, IPv6Network
from pathlib import Path

from pydantic import Field, SecretStr

from codequarry.shared.settings.sources import Section


class ApiSettings(Section):
    """The Flask service."""

    host: str = "127.0.0.1"
    port: int = Field(default=8080, ge=0, le=65535)
    max_body_bytes: int = Field(default=1_000_000, ge=1)
    threads: int = Field(default=8, ge=1, le=256)
    workers: int = Field(default=1, ge=1, le=64)
    longest_wait_seconds: float = Field(default=10, gt=0, description="longest wait for a thread before a 503")
    read_seconds: float = Field(default=20, gt=0, description="time in which a request must arrive in full")
    open_to_network: bool = Field(default=False, description="listen beyond loopback although no key is configured")
    trusted_proxies: tuple[IPv4Network | IPv6Network, ...] = Field(default=(), description="X-Forwarded-For is trusted")
    socket: Path | None = Field(default=None, description="Unix socket to listen on, for its owner only")
    trust_loopback: bool = Field(default=False, description="without keys, trust every local program as the owner")
    local_roots: tuple[Path, ...] = Field(default=(), description="folders in which requests may name local paths")


class McpSettings(Section):
    """The MCP server over stdio."""

    key: SecretStr | None = Field(default=None, min_length=1, description="key, or its id or name, that limits answers")


class AuthSettings(Section):
    """A key that is accepted in addition to the keys in the catalog."""

    admin_key: SecretStr | None = Field(default=None, description="a key with all permissions (24 characters or more)")


class LimitSettings(Section):
    """Request limits, counted by each API process separately; unset means unlimited."""

    requests_per_minute: int | None = Field(default=None, ge=1, description="requests with one key")
    burst: int = Field(default=60, ge=1, description="requests with one key at once")
    concurrent: int | None = Field(default=None, ge=1, description="requests with one key in progress")
    total_requests_per_minute: int | None = Field(default=None, ge=1, description="requests from all clients")
    total_burst: int = Field(default=240, ge=1, description="requests from all clients at once")
    total_concurrent: int | None = Field(default=None, ge=1, description="requests from all clients in progress")
    connections_per_address: int | None = Field(default=256, ge=1, description="open connections from one address")
    refused_per_minute: int | None = Field(default=120, ge=1, description="requests per address without a valid key")
    jobs_waiting_per_key: int | None = Field(default=50, ge=1, description="waiting jobs requested with one key")


class AuditSettings(Section):
    """The audit log of reads and changes."""

    file: Path | None = Field(default=None, description="audit log, one JSON object per line; no log if unset")
    queries: bool = Field(default=False, description="also log the text of queries")
