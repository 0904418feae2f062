"""Settings for what is indexed and what triggers indexing: repositories, groups, webhooks, polling."""

from pathlib import Path
from typing import Annotated, Self
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field, SecretStr, field_validator, model_validator

from codequarry.shared.origins import NAME, origin_identity
from codequarry.shared.settings.sources import Section

# A shorter secret can be guessed offline from a single delivery.
MIN_SECRET_CHARACTERS = 8


class TokenReference(Section):
    """Where to read a token; if neither field is set, ``[git]``'s token for the host is used."""

    token_variable: str | None = Field(default=None, min_length=1, description="environment variable with the token")
    token_file: Path | None = Field(default=None, description="absolute path of a file with the token")

    @model_validator(mode="after")
    def _one_place(self) -> Self:
        if self.token_variable and self.token_file:
            raise ValueError("set token_variable or token_file, not both")
        if self.token_file and not self.token_file.is_absolute():
            raise ValueError("token_file must be an absolute path")
        return self


class RepositoryRules(TokenReference):
    """Rules for one repository, or for each repository of a group."""

    refs: tuple[str, ...] = Field(default=(), description="patterns of additional branches and tags to index")
    pulls: bool = Field(default=False, description="index pull requests reported by webhooks")
    external_models: bool = Field(default=True, description="false: only a model on this machine may embed its code")


class RepositorySettings(RepositoryRules):
    """A repository that `codequarry sync` keeps in the index."""

    origin: str = Field(min_length=1, description="path or URL")
    name: str | None = Field(default=None, description="name in the index; taken from the origin if unset")
    include: tuple[str, ...] | None = Field(default=None, description="replaces [scan] include")
    exclude: tuple[str, ...] = Field(default=(), description="added to [scan] exclude")
    poll_seconds: float | None = Field(default=None, ge=0, description="replaces [polling] interval_seconds")

    @field_validator("name")
    @classmethod
    def _is_a_name(cls, value: str | None) -> str | None:
        if value is not None and not NAME.fullmatch(value):
            raise ValueError("it must consist of at most 100 letters, digits, '.', '_' and '-'")
        return value

    @field_validator("origin")
    @classmethod
    def _has_no_password(cls, value: str) -> str:
        try:
            has_password = "://" in value and urlsplit(value).password is not None
        except ValueError:
            raise ValueError("its host or port is malformed") from None
        if has_password:
            raise ValueError("remove the password, and set token_variable or token_file instead")
        return value

    @property
    def identity(self) -> str:
        """A text that is equal for all spellings of the same origin."""
        return identity_of_setting(self.origin)


def identity_of_setting(origin: str) -> str:
    """Return the ``origin_identity`` of an origin in the settings, which may be a relative path."""
    identity = origin_identity(origin)
    return origin_identity(str(Path(origin).expanduser().resolve())) if identity.startswith("file:") else identity


def _distinct(repositories: tuple[RepositorySettings, ...]) -> tuple[RepositorySettings, ...]:
    seen: set[str] = set()
    for repository in repositories:
        for value in (repository.identity, *([f"name {repository.name}"] if repository.name else [])):
            if value in seen:
                raise ValueError(f"{value} is listed twice")
            seen.add(value)
    return repositories


DistinctRepositories = Annotated[tuple[RepositorySettings, ...], AfterValidator(_distinct)]


class RepositoryGroup(RepositoryRules):
    """The repositories of a GitHub organisation or GitLab group."""

    github_org: str | None = Field(default=None, min_length=1)
    gitlab_group: str | None = Field(default=None, min_length=1)
    api_url: str | None = Field(default=None, pattern=r"^https?://", description="API of a self-hosted server")
    include: tuple[str, ...] = Field(default=(), description="patterns of names to include; all if unset")
    exclude: tuple[str, ...] = Field(default=(), description="patterns of names to exclude")
    archived: bool = False
    forks: bool = False

    @model_validator(mode="after")
    def _one_host(self) -> Self:
        if (self.github_org is None) == (self.gitlab_group is None):
            raise ValueError("set either github_org or gitlab_group")
        return self


class WebhookSettings(Section):
    """Webhook secrets and limits; without a secret, a provider's endpoint refuses every delivery."""

    github_secrets: tuple[SecretStr, ...] = ()
    gitlab_secrets: tuple[SecretStr, ...] = ()
    gitea_secrets: tuple[SecretStr, ...] = ()
    generic_secrets: tuple[SecretStr, ...] = ()
    add_unknown: bool = Field(default=False, description="index new repositories that a signed delivery names")
    tolerance_seconds: float = Field(default=300, gt=0, description="allowed clock skew of a signed timestamp")
    max_body_bytes: int = Field(default=25_000_000, ge=1)
    keep_deliveries: int = Field(default=1_000, ge=1, le=100_000, description="deliveries kept in the log")
    keep_days: float = Field(default=7, gt=0, description="how long a repeated delivery is recognised")

    @field_validator("github_secrets", "gitlab_secrets", "gitea_secrets", "generic_secrets")
    @classmethod
    def _are_long_enough(cls, value: tuple[SecretStr, ...]) -> tuple[SecretStr, ...]:
        if any(len(secret.get_secret_value()) < MIN_SECRET_CHARACTERS for secret in value):
            raise ValueError(f"a secret must have at least {MIN_SECRET_CHARACTERS} characters")
        return value


class PollingSettings(Section):
    """How often origins are polled for changes."""

    interval_seconds: float = Field(default=300, ge=0, description="0 disables polling")
    with_webhooks_seconds: float = Field(default=3600, ge=0, description="interval with a live webhook")
    timeout_seconds: float = Field(default=60, gt=0)
