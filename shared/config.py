"""Settings: one TOML file, environment variables over it, both checked here and nowhere else.

``CODEQUARRY_EMBEDDING__MODEL=minilm`` sets ``[embedding] model``. The file is ``CODEQUARRY_CONFIG``, or
``codequarry.toml`` in the current folder, or ``config.toml`` in ``CODEQUARRY_HOME``.
"""

from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, SecretStr


class Section(BaseModel):
    """A table of the settings file; a key that it does not know is an error."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class OpenSearchSettings(Section):
    """Connection, account, index names and HNSW parameters."""

    urls: tuple[str, ...] = ("http://127.0.0.1:9200",)
    user: str | None = None
    password: SecretStr | None = None
    ca_file: Path | None = Field(None, description="PEM file of the CA that signed the server's certificate")
    verify_certificates: bool = True
    index: str = Field("code_chunks", description="alias of the chunk index; the other indices are named after it")
    engine: Literal["lucene", "faiss"] = "lucene"
    m: int = Field(16, ge=2, le=100)
    ef_construction: int = Field(128, ge=2, le=4096)
    ef_search: int = Field(256, ge=2, le=10_000)
    shards: int = Field(1, ge=1, le=1024)
    replicas: int = Field(0, ge=0, le=10)
    timeout_seconds: float = Field(30, gt=0)
    bulk_bytes: int = Field(8_000_000, ge=10_000, description="largest bulk request")
    max_retries: int = Field(5, ge=0, le=20)


class EmbeddingSettings(Section):
    """Which model, where it runs, and how much is sent to it at once."""

    model: str = "wordllama"
    base_url: str | None = Field(None, description="OpenAI-compatible server")
    api_key: SecretStr | None = None
    dimensions: int | None = Field(None, ge=1, le=16_000)
    context_window: int | None = Field(None, ge=16, description="tokens that the model reads; the model's own if unset")
    stride_window: int | None = Field(None, ge=16, description="tokens of one stride; 7/8 of the window if unset")
    stride_overlap: int | None = Field(
        None, ge=0, description="tokens shared by neighbours; 1/8 of the window if unset"
    )
    batch_size: int = Field(256, ge=1, le=4096)
    batch_tokens: int = Field(100_000, ge=100, description="most tokens in one request to a server")
    concurrency: int = Field(4, ge=1, le=64)
    timeout_seconds: float = Field(60, gt=0)
    max_retries: int = Field(6, ge=0, le=20)
    query_prefix: str | None = None
    document_prefix: str | None = None
    query_input_type: str | None = None
    document_input_type: str | None = None
    price_per_million_tokens: float | None = Field(None, ge=0, description="for the estimate of --dry-run")
    on_model_change: Literal["refuse", "migrate"] = "refuse"


class RerankingSettings(Section):
    """The second stage; off until its model is configured."""

    enabled: bool = False
    model: str | None = None
    candidate_count: int = Field(50, ge=1, le=1000)
    final_count: int = Field(10, ge=1, le=1000)


class ChunkingSettings(Section):
    """Chunk sizes, in tokens of the one model-independent counter."""

    target_tokens: int = Field(350, ge=20)
    max_tokens: int = Field(800, ge=40)
    overlap_tokens: int = Field(80, ge=0)


class LanguageSettings(Section):
    """``map`` sends an extension (with its dot) or a file name to a language; ``only`` switches the others off."""

    map: dict[str, str] = {}
    only: tuple[str, ...] = ()


class ScanSettings(Section):
    """Which files count; patterns as in .gitignore."""

    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    max_file_bytes: int = Field(1_000_000, ge=1)
    skip_generated: bool = True
    skip_vendored: bool = True
    skip_minified: bool = True
    skip_lock_files: bool = True


class PathRule(Section):
    """What a path says about its file: every rule whose glob fits adds its tags; the last one to name a value wins."""

    glob: str
    microservice: str | None = None
    aggregate: str | None = None
    tags: tuple[str, ...] = ()


class GitSettings(Section):
    """How repositories are reached."""

    clone_timeout_seconds: float = Field(3600, gt=0)
    proxy: str | None = None
    ca_file: Path | None = None
    token: SecretStr | None = Field(None, description="token for https origins; CODEQUARRY_GIT__TOKEN")
    user: str = Field("x-access-token", description="user name sent with the token")
    ssh_command: str | None = None
    tokens: dict[str, SecretStr] = Field({}, description="tokens by host, before `token`")


class ApiSettings(Section):
    """The Flask service."""

    host: str = "127.0.0.1"
    port: int = Field(8080, ge=0, le=65535)
    max_body_bytes: int = Field(1_000_000, ge=1)
    threads: int = Field(8, ge=1, le=256)
    workers: int = Field(1, ge=1, le=64)


class IndexingSettings(Section):
    """How an indexing run shares the machine."""

    processes: int | None = Field(None, ge=1, le=256, description="chunking processes; one a core if unset")
    batch_files: int = Field(200, ge=1, le=10_000)
    lease_seconds: float = Field(30, gt=0, description="a lease that has not changed for so long has expired")


class SettingsModel(Section):
    """Everything that can be set, with its default."""

    home: Path = Field(Path("~/.codequarry"), description="data folder: embedded store, mirrors, models")
    store: Literal["embedded", "opensearch"] = "embedded"
    opensearch: OpenSearchSettings = OpenSearchSettings()
    embedding: EmbeddingSettings = EmbeddingSettings()
    reranking: RerankingSettings = RerankingSettings()
    chunking: ChunkingSettings = ChunkingSettings()
    languages: LanguageSettings = LanguageSettings()
    scan: ScanSettings = ScanSettings()
    path_rules: tuple[PathRule, ...] = ()
    git: GitSettings = GitSettings()
    api: ApiSettings = ApiSettings()
    indexing: IndexingSettings = IndexingSettings()
