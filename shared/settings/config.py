"""Settings from one TOML file and environment variables, which override the file; only this module validates them.

``CODEQUARRY_EMBEDDING__MODEL=minilm`` sets ``[embedding] model``. ``CODEQUARRY_CONFIG`` names the file; if unset, it is
``codequarry.toml`` in the current folder, or else ``config.toml`` in ``CODEQUARRY_HOME``.
"""

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Self

from pydantic import Field, SecretStr, ValidationError, model_validator

from codequarry.shared.errors import UnknownName, UsageError
from codequarry.shared.known_models import resolve_model_folder
from codequarry.shared.settings.commentary import CommentarySettings
from codequarry.shared.settings.git import GitSettings
from codequarry.shared.settings.index import HistorySettings, IndexingSettings, RetentionSettings
from codequarry.shared.settings.queue import MetricsSettings, QueueSettings
from codequarry.shared.settings.reranking import RerankingSettings
from codequarry.shared.settings.secrets import SecretSettings
from codequarry.shared.settings.service import ApiSettings, AuditSettings, AuthSettings, LimitSettings, McpSettings
from codequarry.shared.settings.sources import (
    GivenValue,
    Section,
    from_environment,
    from_file,
    from_pairs,
    is_secret,
    leaves_of,
    nested,
    without_accounts,
)
from codequarry.shared.settings.triggers import DistinctRepositories, PollingSettings, RepositoryGroup, WebhookSettings


class OpenSearchSettings(Section):
    """Connection, credentials, index names and HNSW parameters."""

    urls: tuple[str, ...] = ("http://127.0.0.1:9200",)
    user: str | None = None
    password: SecretStr | None = None
    ca_file: Path | None = Field(default=None, description="PEM file of the CA that signed the server's certificate")
    verify_certificates: bool = True
    index: str = Field(default="code_chunks", description="alias of the chunk index and prefix of the others")
    engine: Literal["lucene", "faiss"] = "lucene"
    m: int = Field(default=16, ge=2, le=100)
    ef_construction: int = Field(default=128, ge=2, le=4096)
    ef_search: int = Field(default=256, ge=2, le=10_000)
    shards: int = Field(default=1, ge=1, le=1024)
    replicas: int = Field(default=0, ge=0, le=10)
    timeout_seconds: float = Field(default=30, gt=0)
    bulk_bytes: int = Field(default=8_000_000, ge=10_000, description="maximum size of a bulk request")
    max_retries: int = Field(default=5, ge=0, le=20)


class EmbeddingSettings(Section):
    """The embedding model, where it runs, and the size of its batches."""

    model: str = "codequarry-1"
    base_url: str | None = Field(default=None, description="OpenAI-compatible server")
    api_key: SecretStr | None = None
    dimensions: int | None = Field(default=None, ge=1, le=16_000)
    context_window: int | None = Field(default=None, ge=16, description="tokens of a text that the model reads at once")
    stride_window: int | None = Field(default=None, ge=16, description="tokens per stride; 7/8 of the window if unset")
    stride_overlap: int | None = Field(default=None, ge=0, description="overlap of strides; 1/8 of the window if unset")
    batch_size: int = Field(default=256, ge=1, le=4096)
    batch_tokens: int = Field(default=100_000, ge=100, description="maximum tokens in one request to a server")
    concurrency: int = Field(default=4, ge=1, le=64)
    timeout_seconds: float = Field(default=60, gt=0)
    max_retries: int = Field(default=6, ge=0, le=20)
    query_prefix: str | None = None
    document_prefix: str | None = None
    query_input_type: str | None = None
    document_input_type: str | None = None
    price_per_million_tokens: float | None = Field(default=None, ge=0, description="price for --dry-run's estimate")
    on_model_change: Literal["refuse", "migrate"] = "refuse"


class ChunkingSettings(Section):
    """Chunk sizes, in tokens that are counted in the same way for every model."""

    target_tokens: int = Field(default=350, ge=20)
    max_tokens: int = Field(default=800, ge=40)
    overlap_tokens: int = Field(default=80, ge=0)

    @model_validator(mode="after")
    def _sizes_fit(self) -> Self:
        if not self.overlap_tokens < self.target_tokens <= self.max_tokens:
            raise ValueError("overlap_tokens must be below target_tokens, which must not exceed max_tokens")
        return self


class LanguageSettings(Section):
    """``map`` assigns an extension (with its dot) or a file name to a language; ``only`` disables all others."""

    map: dict[str, str] = Field(default={})
    only: tuple[str, ...] = ()


class ScanSettings(Section):
    """Which files are indexed; patterns as in .gitignore."""

    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    max_file_bytes: int = Field(default=1_000_000, ge=1)
    skip_generated: bool = False
    skip_vendored: bool = False
    skip_minified: bool = False
    skip_lock_files: bool = True
    skip_installed: bool = True


class PathRule(Section):
    """Metadata for files by path: every matching rule adds its tags; for other fields, the last rule to set it wins."""

    glob: str
    microservice: str | None = None
    aggregate: str | None = None
    tags: tuple[str, ...] = ()


class SettingsModel(Section):
    """All settings and their defaults."""

    home: Path = Field(default=Path("~/.codequarry"), description="data folder: embedded store, mirrors, models")
    store: Literal["embedded", "opensearch"] = "embedded"
    opensearch: OpenSearchSettings = OpenSearchSettings()
    embedding: EmbeddingSettings = EmbeddingSettings()
    reranking: RerankingSettings = RerankingSettings()
    commentary: CommentarySettings = CommentarySettings()
    chunking: ChunkingSettings = ChunkingSettings()
    languages: LanguageSettings = LanguageSettings()
    scan: ScanSettings = ScanSettings()
    secrets: SecretSettings = SecretSettings()
    path_rules: tuple[PathRule, ...] = ()
    git: GitSettings = GitSettings()
    api: ApiSettings = ApiSettings()
    indexing: IndexingSettings = IndexingSettings()
    retention: RetentionSettings = RetentionSettings()
    history: HistorySettings = HistorySettings()
    queue: QueueSettings = QueueSettings()
    metrics: MetricsSettings = MetricsSettings()
    repositories: DistinctRepositories = ()
    repository_groups: tuple[RepositoryGroup, ...] = ()
    webhooks: WebhookSettings = WebhookSettings()
    polling: PollingSettings = PollingSettings()
    auth: AuthSettings = AuthSettings()
    limits: LimitSettings = LimitSettings()
    audit: AuditSettings = AuditSettings()
    mcp: McpSettings = McpSettings()


@dataclass(frozen=True, slots=True)
class LoadedSettings:
    """The effective settings; ``sources`` maps each key that was set to the source of its value."""

    settings: SettingsModel
    sources: Mapping[str, str]
    file: Path | None


LEAVES = leaves_of(SettingsModel)


def load_settings(
    assignments: Sequence[str] = (),
    overrides: Mapping[str, object] | None = None,
    variables: Mapping[str, str] = os.environ,
) -> LoadedSettings:
    """Return the effective settings; the order of precedence is command line, environment, file, defaults.

    ``assignments`` are ``key=value`` texts; ``overrides`` maps keys to the values of flags (None if not given). Raise
    UnknownName for a key that does not exist, UsageError for an invalid value.
    """
    environment = from_environment(variables, LEAVES)
    flags = [*from_pairs(assignments, LEAVES, "command line"), *_flags(overrides or {})]
    file = _settings_file(variables, [*environment, *flags])
    given = [*(from_file(file, LEAVES) if file else ()), *environment, *flags]
    try:
        settings = SettingsModel.model_validate(nested(given))
    except ValidationError as error:
        # Not chained: pydantic's message shows the input, which may be a secret.
        raise _explained(error, given) from None
    sources = {value.key: value.source for value in given}
    places = {"home": settings.home.expanduser().absolute(), **_with_whole_names(settings, sources, file)}
    return LoadedSettings(settings.model_copy(update=places), sources, file)


def _with_whole_names(settings: SettingsModel, sources: Mapping[str, str], file: Path | None) -> dict[str, Section]:
    """Return the sections that name a model, with relative model folders resolved like other paths."""
    found: dict[str, Section] = {}
    for name in ("embedding", "reranking"):
        section: EmbeddingSettings | RerankingSettings = getattr(settings, name)
        folder = file.parent if file and sources.get(f"{name}.model") == str(file) else Path.cwd()
        # The name of a server's model is never a local folder.
        if not getattr(section, "base_url", None):
            found[name] = section.model_copy(update={"model": resolve_model_folder(section.model, folder)})
    return found


def _flags(overrides: Mapping[str, object]) -> list[GivenValue]:
    return [GivenValue(key, value, "command line") for key, value in overrides.items() if value is not None]


def _settings_file(variables: Mapping[str, str], given: Iterable[GivenValue]) -> Path | None:
    """Return the settings file, if any; raise UsageError if ``CODEQUARRY_CONFIG`` names a file that does not exist."""
    if named := variables.get("CODEQUARRY_CONFIG"):
        path = Path(named).expanduser().absolute()
        if not path.is_file():
            raise UsageError(f"CODEQUARRY_CONFIG names {path}, which does not exist")
        return path
    homes = [str(value.value) for value in given if value.key == "home"]
    home = Path(homes[-1]) if homes else SettingsModel().home.expanduser()
    candidates = (Path.cwd() / "codequarry.toml", home / "config.toml")
    return next((path for path in candidates if path.is_file()), None)


def _explained(error: ValidationError, given: Sequence[GivenValue]) -> UsageError:
    """Return an error that describes the first fault on one line: key, value, source and expectation."""
    first, *others = error.errors(include_url=False)
    location = [str(part) for part in first["loc"]]
    more = f" (and {len(others)} more)" if others else ""
    setting = next((it for it in reversed(given) if location[: it.key.count(".") + 1] == it.key.split(".")), None)
    if setting is None:
        return UsageError(f"settings in [{'.'.join(location)}]: {_expected(first['msg'])}{more}")
    inner = location[setting.key.count(".") + 1 :]
    key = ".".join([setting.key, *inner])
    if first["type"] == "extra_forbidden":
        return UnknownName("setting", key, where=setting.source)
    shown = "" if is_secret(LEAVES[setting.key]) else f" = {without_accounts(first['input'])!r}"
    return UsageError(f"setting {key}{shown} ({setting.source}) is invalid: {_expected(first['msg'])}{more}")


def _expected(message: str) -> str:
    return message.removeprefix("Value error, ").replace("Input should be", "it should be")
