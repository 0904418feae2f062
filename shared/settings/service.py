"""The settings of the HTTP service: where it listens, whom it answers, how much, and what it writes down."""

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
    longest_wait_seconds: float = Field(
        default=10, gt=0, description="a request that waited longer for a thread is told to come again later"
    )
    read_seconds: float = Field(default=20, gt=0, description="a request that has not come in full by then is given up")
    open_to_network: bool = Field(default=False, description="listen beyond loopback although no key is configured")
    trusted_proxies: tuple[IPv4Network | IPv6Network, ...] = Field(
        default=(), description="addresses or networks of proxies whose X-Forwarded-For says who the client is"
    )
    socket: Path | None = Field(
        default=None, description="listen on this Unix socket, which only its owner can open, instead of an address"
    )
    trust_loopback: bool = Field(
        default=False, description="where no key is configured, take every program of this machine for the owner"
    )
    local_roots: tuple[Path, ...] = Field(
        default=(), description="folders below which requests may name repositories by their local path"
    )


class McpSettings(Section):
    """The MCP server over stdio."""

    key: SecretStr | None = Field(
        default=None,
        min_length=1,
        description="answer as this key may see the index: its id, its name or the key itself",
    )


class AuthSettings(Section):
    """Keys beside those of the catalog."""

    admin_key: SecretStr | None = Field(
        default=None, description="a key that may do and see everything; CODEQUARRY_AUTH__ADMIN_KEY_FILE names its file"
    )


class LimitSettings(Section):
    """How much is answered; each API process counts by itself. Unset is without limit."""

    requests_per_minute: int | None = Field(default=None, ge=1, description="of one key")
    burst: int = Field(default=60, ge=1, description="of one key, at once")
    concurrent: int | None = Field(default=None, ge=1, description="of one key, running at the same time")
    total_requests_per_minute: int | None = Field(default=None, ge=1, description="of all together")
    total_burst: int = Field(default=240, ge=1, description="of all together, at once")
    total_concurrent: int | None = Field(default=None, ge=1, description="of all together, running at the same time")
    connections_per_address: int | None = Field(
        default=256, ge=1, description="connections of one address at the same time"
    )
    refused_per_minute: int | None = Field(
        default=120, ge=1, description="requests of one address that bring no valid key"
    )
    jobs_waiting_per_key: int | None = Field(default=50, ge=1, description="jobs that wait because of one key")


class AuditSettings(Section):
    """What is written down of who read or changed what."""

    file: Path | None = Field(default=None, description="one JSON object a line is added to it; unset, none is kept")
    queries: bool = Field(default=False, description="keep the text of questions too")
