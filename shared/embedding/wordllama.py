"""The default model: static token vectors that come with the ``wordllama`` package, without network or key.

The vectors are exactly those of ``WordLlama.load().embed(norm=True)``. The two files are read directly, because
importing the package takes three times as long as reading them and configures the root logger, and because its
padded batches need three times the time for texts as long as chunks.
"""

import hashlib
import importlib.util
import threading
from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path

import numpy as np
from tokenizers import Tokenizer

from codequarry.shared.embedding.port import Matrix, Vector, Window
from codequarry.shared.embedding.strides import cut, stride_shape
from codequarry.shared.embedding.tokens import count_tokens
from codequarry.shared.embedding.vectors import document_suffix, fingerprint, normalised, well_formed
from codequarry.shared.errors import EmbeddingError, UsageError
from codequarry.shared.settings.config import EmbeddingSettings

WEIGHTS = "weights/l2_supercat_256.safetensors"
TOKENIZER = "tokenizers/l2_supercat_tokenizer_config.json"
# The model was trained so that its leading numbers are a smaller model (Matryoshka).
DIMENSIONS = (64, 128, 256)
# Texts tokenized at once: enough to keep every core busy, few enough to stay in the cache.
_BATCH = 256
# Tokens summed at once: bounds the memory that one very long text needs to 8 MB.
_TOKENS_AT_ONCE = 8192


class WordLlamaEmbedder:
    """Embed with the mean of static token vectors; reads texts of any length. Safe to use from several threads."""

    preferred_batch = 1024

    def __init__(self, settings: EmbeddingSettings) -> None:
        self._dimension = settings.dimensions or DIMENSIONS[-1]
        if self._dimension not in DIMENSIONS:
            raise UsageError(
                f"[embedding] dimensions = {self._dimension}: wordllama has {', '.join(map(str, DIMENSIONS))}"
            )
        self._query_prefix = settings.query_prefix or ""
        self._document_prefix = settings.document_prefix or ""
        self._shape = stride_shape(settings.context_window, settings) if settings.context_window else None
        self._lock = threading.Lock()
        self._loaded: tuple[Tokenizer, Matrix] | None = None

    @cached_property
    def name(self) -> str:
        """Name with a hash of the files, so that another release's vectors are never mixed with these."""
        parts = [_digest(_file(name)) for name in (WEIGHTS, TOKENIZER)]
        return f"wordllama-l2-{self._dimension}-{fingerprint(parts)}" + document_suffix(self._document_prefix)

    @property
    def dimension(self) -> int:
        """Length of a vector."""
        return self._dimension

    @property
    def leaves_machine(self) -> bool:
        """False: the model runs in this process."""
        return False

    @property
    def max_tokens(self) -> int | None:
        """None: every token counts, however many there are; ``context_window`` where that is set."""
        return self._shape.limit if self._shape else None

    def windows(self, text: str) -> list[Window]:
        """Return the text whole (its end in tokens is then an estimate), or cut as ``context_window`` says."""
        if self._shape is None:
            return [Window(0, count_tokens(text), text)]
        text = well_formed(text)
        encoding = self._load()[0].encode(self._document_prefix + text, add_special_tokens=False)
        shift = len(self._document_prefix)
        offsets = [(start - shift, end - shift) for start, end in encoding.offsets if end > shift]
        return cut(text, offsets, self._shape, reserved=len(encoding.offsets) - len(offsets))

    def embed_documents(self, texts: Sequence[str]) -> Matrix:
        """Return one row a text; an empty text is a row of zeros."""
        return self._embed([self._document_prefix + text for text in texts])

    def embed_query(self, text: str) -> Vector:
        """Return the vector of a query."""
        vector: Vector = self._embed([self._query_prefix + text])[0]
        return vector

    def close(self) -> None:
        """Give back the memory."""
        with self._lock:
            self._loaded = None

    def _embed(self, texts: Sequence[str]) -> Matrix:
        tokenizer, weights = self._load()
        rows = np.zeros((len(texts), self._dimension), dtype=np.float32)
        for start in range(0, len(texts), _BATCH):
            batch = [well_formed(text) for text in texts[start : start + _BATCH]]
            for row, encoding in enumerate(tokenizer.encode_batch_fast(batch, add_special_tokens=False), start):
                if ids := encoding.ids:
                    rows[row] = sum(_sums(weights, ids)) / np.float32(len(ids))
        return normalised(rows)

    def _load(self) -> tuple[Tokenizer, Matrix]:
        with self._lock:
            if self._loaded is None:
                self._loaded = _read(self._dimension)
            return self._loaded


def _sums(weights: Matrix, ids: Sequence[int]) -> Iterator[Vector]:
    for start in range(0, len(ids), _TOKENS_AT_ONCE):
        yield weights[ids[start : start + _TOKENS_AT_ONCE]].sum(axis=0, dtype=np.float32)


def _read(dimension: int) -> tuple[Tokenizer, Matrix]:
    from safetensors import safe_open

    tokenizer = Tokenizer.from_file(str(_file(TOKENIZER)))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    with safe_open(_file(WEIGHTS), framework="np") as tensors:
        weights = tensors.get_tensor("embedding.weight")[:, :dimension]
    return tokenizer, np.ascontiguousarray(weights, dtype=np.float32)


def _digest(path: Path) -> bytes:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").digest()


def _file(name: str) -> Path:
    """Return a file of the ``wordllama`` package, found without importing it."""
    spec = importlib.util.find_spec("wordllama")
    path = Path(spec.origin).parent / name if spec and spec.origin else None
    if path is None or not path.is_file():
        raise EmbeddingError(
            f"the built-in model's file {name} is missing; run `pip install --force-reinstall wordllama`"
        )
    return path
