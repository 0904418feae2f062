"""Settings of the queue that wakes workers, and of what is counted."""

from pathlib import Path
from typing import Self

from pydantic import Field, SecretStr, field_validator, model_validator

from codequarry.shared.settings.sources import Section


class QueueSettings(Section):
    """The queue that wakes workers; without its URL the service does the jobs itself."""

    url: SecretStr | None = Field(default=None, description="redis:// or rediss://, with an account if it needs one")
    ca_file: Path | None = Field(default=None, description="PEM file of the CA that signed the server's certificate")
    verify_certificates: bool = True
    concurrency: int = Field(default=1, ge=1, le=256, description="jobs and batches at once in one worker")
    soft_limit_seconds: float = Field(default=21_600, gt=0, description="a job that takes longer is tried again")
    hard_limit_seconds: float = Field(default=22_200, gt=0, description="a process that takes longer is ended")
    visibility_seconds: float = Field(
        default=25_200, gt=0, description="a message that nobody acknowledged for so long is delivered again"
    )
    share_files: int = Field(
        default=1_000, ge=0, description="imports that take longer than so many usual files are shared among workers"
    )
    max_waiting: int = Field(
        default=1_000, ge=1, description="beyond so many waiting jobs as urgent requests come again later"
    )

    @field_validator("url")
    @classmethod
    def _is_redis(cls, value: SecretStr | None) -> SecretStr | None:
        if value is not None and not value.get_secret_value().startswith(("redis://", "rediss://")):
            raise ValueError("it begins with redis:// or rediss://")
        return value

    @model_validator(mode="after")
    def _limits_fit(self) -> Self:
        if not self.soft_limit_seconds < self.hard_limit_seconds < self.visibility_seconds:
            raise ValueError("soft_limit_seconds must be below hard_limit_seconds, and that below visibility_seconds")
        return self


class MetricsSettings(Section):
    """Where metrics are served, and how much they name."""

    port: int | None = Field(default=None, ge=1, le=65535, description="/metrics on a port of its own, without a key")
    host: str = "127.0.0.1"
    worst_repositories: int = Field(
        default=0, ge=0, le=100, description="so many repositories are named, those furthest behind"
    )
