"""Settings for the queue that wakes workers, and for metrics."""

from pathlib import Path
from typing import Self

from pydantic import Field, SecretStr, field_validator, model_validator

from codequarry.shared.settings.sources import Section


class QueueSettings(Section):
    """The queue that wakes workers; without a URL, the service runs the jobs itself."""

    url: SecretStr | None = Field(default=None, description="redis:// or rediss:// URL, with credentials if needed")
    ca_file: Path | None = Field(default=None, description="PEM file of the CA that signed the server's certificate")
    verify_certificates: bool = True
    concurrency: int = Field(default=1, ge=1, le=256, description="jobs and batches that one worker runs at once")
    soft_limit_seconds: float = Field(default=21_600, gt=0, description="a job that takes longer is retried")
    hard_limit_seconds: float = Field(default=22_200, gt=0, description="a process that takes longer is killed")
    visibility_seconds: float = Field(default=25_200, gt=0, description="time until a message is redelivered")
    share_files: int = Field(default=1_000, ge=0, description="share imports larger than this many average files")
    max_waiting: int = Field(default=1_000, ge=1, description="when this many jobs wait, requests must retry later")

    @field_validator("url")
    @classmethod
    def _is_redis(cls, value: SecretStr | None) -> SecretStr | None:
        if value is not None and not value.get_secret_value().startswith(("redis://", "rediss://")):
            raise ValueError("it must begin with redis:// or rediss://")
        return value

    @model_validator(mode="after")
    def _limits_fit(self) -> Self:
        if not self.soft_limit_seconds < self.hard_limit_seconds < self.visibility_seconds:
            raise ValueError("hard_limit_seconds must be between soft_limit_seconds and visibility_seconds")
        return self


class MetricsSettings(Section):
    """Where metrics are served, and which repositories they name."""

    port: int | None = Field(default=None, ge=1, le=65535, description="separate port for /metrics, without a key")
    host: str = "127.0.0.1"
    worst_repositories: int = Field(default=0, ge=0, le=100, description="how many to name, furthest behind first")
