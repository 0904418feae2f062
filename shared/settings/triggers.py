"""Settings of what is indexed and what sets that off: repositories, groups of them, webhooks, polling."""

from pathlib import Path
from typing import Annotated, Self
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field, SecretStr, field_validator, model_validator

from codequarry.shared.origins import NAME, origin_identity
from codequarry.shared.settings.sources import Section

# A shorter secret can be guessed from one delivery that somebody has seen.
MIN_SECRET_CHARACTERS = 8


class TokenReference(Section):
    """Where a token is, instead of the token itself; without either, that of ``[git]`` for the host is sent."""

    token_variable: str | None = Field(default=None, min_length=1, description="environment variable that holds it")
    token_file: Path | None = Field(default=None, description="file that holds it, as an absolute path")

    @model_validator(mode="after")
    def _one_place(self) -> Self:
        if self.token_variable and self.token_file:
            raise ValueError("give token_variable or token_file, not both")
        if self.token_file and not self.token_file.is_absolute():
            raise ValueError("token_file must be an absolute path")
        return self


class RepositoryRules(TokenReference):
    """What holds for one repository, or for each one of a group."""

    refs: tuple[str, ...] = Field(
        default=(), description="patterns of branches and tags that are indexed beside the default branch"
    )
    pulls: bool = Field(default=False, description="index pull requests that webhooks tell of")
    external_models: bool = Field(default=True, description="false: its code is embedded on this machine or not at all")


class RepositorySettings(RepositoryRules):
    """One repository that `codequarry sync` keeps in the index."""

    origin: str = Field(min_length=1, description="path or URL")
    name: str | None = Field(default=None, description="name in the index; the origin's if unset")
    include: tuple[str, ...] | None = Field(default=None, description="instead of [scan] include")
    exclude: tuple[str, ...] = Field(default=(), description="besides [scan] exclude")
    poll_seconds: float | None = Field(default=None, ge=0, description="instead of [polling] interval_seconds")

    @field_validator("name")
    @classmethod
    def _is_a_name(cls, value: str | None) -> str | None:
        if value is not None and not NAME.fullmatch(value):
            raise ValueError("it must be of letters, digits, '.', '_' and '-', 100 at most")
        return value

    @field_validator("origin")
    @classmethod
    def _has_no_password(cls, value: str) -> str:
        try:
            holds_one = "://" in value and urlsplit(value).password is not None
        except ValueError:
            raise ValueError("it can't be read: its host or port is malformed") from None
        if holds_one:
            raise ValueError("leave the password out, and say with token_variable or token_file where it is")
        return value

    @property
    def identity(self) -> str:
        """What is equal for two spellings of its origin."""
        return identity_of_setting(self.origin)


def identity_of_setting(origin: str) -> str:
    """Return what is equal for two spellings of an origin in the settings, which may be a relative path."""
    identity = origin_identity(origin)
    return origin_identity(str(Path(origin).expanduser().resolve())) if identity.startswith("file:") else identity


def _distinct(repositories: tuple[RepositorySettings, ...]) -> tuple[RepositorySettings, ...]:
    seen: set[str] = set()
    for one in repositories:
        for value in (one.identity, *([f"name {one.name}"] if one.name else [])):
            if value in seen:
                raise ValueError(f"{value} is there twice")
            seen.add(value)
    return repositories


DistinctRepositories = Annotated[tuple[RepositorySettings, ...], AfterValidator(_distinct)]


class RepositoryGroup(RepositoryRules):
    """All repositories of a GitHub organisation or GitLab group."""

    github_org: str | None = Field(default=None, min_length=1)
    gitlab_group: str | None = Field(default=None, min_length=1)
    api_url: str | None = Field(default=None, pattern=r"^https?://", description="of a server of one's own")
    include: tuple[str, ...] = Field(default=(), description="patterns of names that are taken; all if unset")
    exclude: tuple[str, ...] = Field(default=(), description="patterns of names that are left out")
    archived: bool = False
    forks: bool = False

    @model_validator(mode="after")
    def _one_host(self) -> Self:
        if (self.github_org is None) == (self.gitlab_group is None):
            raise ValueError("give github_org or gitlab_group")
        return self


class WebhookSettings(Section):
    """Who may tell the service of pushes; without a secret a provider's endpoint refuses everything."""

    github_secrets: tuple[SecretStr, ...] = ()
    gitlab_secrets: tuple[SecretStr, ...] = ()
    gitea_secrets: tuple[SecretStr, ...] = ()
    generic_secrets: tuple[SecretStr, ...] = ()
    add_unknown: bool = Field(default=False, description="index repositories that a signed delivery names first")
    tolerance_seconds: float = Field(default=300, gt=0, description="how far a signed time may be from ours")
    max_body_bytes: int = Field(default=25_000_000, ge=1)
    keep_deliveries: int = Field(default=1_000, ge=1, le=100_000, description="newest deliveries in the log")
    keep_days: float = Field(default=7, gt=0, description="a delivery is known as a repetition for so long")

    @field_validator("github_secrets", "gitlab_secrets", "gitea_secrets", "generic_secrets")
    @classmethod
    def _are_long_enough(cls, value: tuple[SecretStr, ...]) -> tuple[SecretStr, ...]:
        if any(len(secret.get_secret_value()) < MIN_SECRET_CHARACTERS for secret in value):
            raise ValueError(f"a secret has {MIN_SECRET_CHARACTERS} characters or more")
        return value


class PollingSettings(Section):
    """How often origins are asked whether anything has changed."""

    interval_seconds: float = Field(default=300, ge=0, description="0 asks none")
    with_webhooks_seconds: float = Field(
        default=3600, ge=0, description="the same for a repository whose webhook was heard of"
    )
    timeout_seconds: float = Field(default=60, gt=0)
