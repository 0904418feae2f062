"""A model's folder: its files, and what its ``codequarry-model.json`` says about them.

::

    {"name": "my-model", "pooling": "mean", "max_tokens": 512, "dimension": 384,
     "query_prefix": "query: ", "document_prefix": "passage: "}

Every key is optional. The defaults are the values of a known model, or else mean pooling, 512 tokens and no prefixes.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from codequarry.shared.embedding.strides import fingerprint
from codequarry.shared.errors import EmbeddingError
from codequarry.shared.known_models import MODEL_FILE, TOKENIZER_FILE, KnownModel, Pooling

CONFIG_FILE = "codequarry-model.json"
# The window of BERT-like models, which most ONNX models are.
DEFAULT_MAX_TOKENS = 512
# Enough to notice a replaced model without reading hundreds of megabytes at every start.
_FINGERPRINTED_BYTES = 1 << 20


class ModelConfig(BaseModel):
    """The keys of ``codequarry-model.json``."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str | None = Field(default=None, min_length=1)
    pooling: Pooling | None = None
    max_tokens: int | None = Field(default=None, ge=16)
    dimension: int | None = Field(default=None, ge=1)
    query_prefix: str | None = None
    document_prefix: str | None = None


@dataclass(frozen=True, slots=True)
class ModelFolder:
    """An ONNX model on disk; ``dimension`` is None if only the loaded model can tell."""

    path: Path
    name: str
    pooling: Pooling
    max_tokens: int
    dimension: int | None
    query_prefix: str
    document_prefix: str

    @property
    def model_file(self) -> Path:
        """The ONNX graph."""
        return self.path / MODEL_FILE

    @property
    def tokenizer_file(self) -> Path:
        """The tokenizer, as the ``tokenizers`` library writes it."""
        return self.path / TOKENIZER_FILE

    def fingerprint(self) -> str:
        """Return a short hash of what determines the vectors: the files and the pooling."""
        return fingerprint(self._parts())

    def _parts(self) -> Iterator[bytes]:
        yield self.pooling.encode()
        yield self.tokenizer_file.read_bytes()
        # Large models have their weights in files beside the graph: model.onnx_data, model.onnx.data.
        for file in sorted(self.path.glob(f"{MODEL_FILE}*")):
            size = file.stat().st_size
            yield f"{file.name} {size}".encode()
            with file.open("rb") as opened:
                yield opened.read(_FINGERPRINTED_BYTES)
                opened.seek(max(0, size - _FINGERPRINTED_BYTES))
                yield opened.read(_FINGERPRINTED_BYTES)


def read_folder(path: Path, known: KnownModel | None = None) -> ModelFolder:
    """Read a model's folder; raise EmbeddingError if its configuration is invalid."""
    config = _read_config(path / CONFIG_FILE)
    return ModelFolder(
        path=path,
        name=config.name or (known.name if known else path.resolve().name),
        pooling=config.pooling or (known.pooling if known else "mean"),
        max_tokens=config.max_tokens or (known.window if known else None) or DEFAULT_MAX_TOKENS,
        dimension=config.dimension or (known.dimension if known else None),
        query_prefix=_first(config.query_prefix, known.query_prefix if known else ""),
        document_prefix=_first(config.document_prefix, known.document_prefix if known else ""),
    )


def _read_config(path: Path) -> ModelConfig:
    if not path.is_file():
        return ModelConfig()
    try:
        return ModelConfig.model_validate_json(path.read_bytes())
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ".".join(str(part) for part in first["loc"])
        raise EmbeddingError(f"{path} is invalid{f' at {place!r}' if place else ''}: {first['msg']}") from None


def _first(given: str | None, otherwise: str) -> str:
    return otherwise if given is None else given
