"""Runs any embedding model stored as ``model.onnx`` and ``tokenizer.json`` in a folder, on the CPU."""

import importlib.util
import threading
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from codequarry.shared.arrays import Matrix, Vector
from codequarry.shared.embedding.folder import ModelFolder
from codequarry.shared.embedding.port import Window
from codequarry.shared.embedding.strides import (
    context_window,
    cut,
    document_suffix,
    mean_of_windows,
    normalised,
    stride_shape,
    well_formed,
)
from codequarry.shared.errors import EmbeddingError, UsageError
from codequarry.shared.settings.config import EmbeddingSettings

if TYPE_CHECKING:
    from codequarry.shared.embedding.onnx_session import OnnxSession

INSTALL_HINT = "pip install 'codequarry[onnx]'"
_PACKAGES = ("onnxruntime", "tokenizers")


class OnnxEmbedder:
    """Embeds with an ONNX model; its folder sets mean or CLS pooling. Safe to use from several threads."""

    # A few seconds of work, because an interrupted run loses a batch.
    preferred_batch = 256

    def __init__(self, folder: ModelFolder, settings: EmbeddingSettings) -> None:
        for package in _PACKAGES:
            if importlib.util.find_spec(package) is None:
                raise EmbeddingError(f"model '{folder.name}' needs {package}; run `{INSTALL_HINT}`")
        limit = context_window(settings, folder.max_tokens, folder.name) or folder.max_tokens
        if settings.dimensions:
            raise UsageError(f"[embedding] dimensions is for servers; model '{folder.name}' runs on this machine")
        self._folder = folder
        self._shape = stride_shape(limit, settings)
        self._query_prefix = folder.query_prefix if settings.query_prefix is None else settings.query_prefix
        self._document_prefix = folder.document_prefix if settings.document_prefix is None else settings.document_prefix
        self._lock = threading.Lock()
        self._session: OnnxSession | None = None

    @cached_property
    def name(self) -> str:
        """Name of the folder's model, with a hash of its files."""
        return f"{self._folder.name}-{self._folder.fingerprint()}" + document_suffix(self._document_prefix)

    @cached_property
    def dimension(self) -> int:
        """Length of a vector; the model is loaded only if the folder does not specify it."""
        return self._folder.dimension or len(self._load().vectors(["dimension"])[0])

    @property
    def leaves_machine(self) -> bool:
        """False: the model runs in this process."""
        return False

    @property
    def max_tokens(self) -> int:
        """Maximum number of tokens that the model reads from one text, including special tokens and the prefix."""
        return self._shape.limit

    def windows(self, text: str) -> list[Window]:
        """Cut a text into windows that leave room for the prefix and the special tokens."""
        return self._windows(self._document_prefix, text)

    def _windows(self, prefix: str, text: str) -> list[Window]:
        text = well_formed(text)
        encoding = self._load().counter.encode(prefix + text)
        shift = len(prefix)
        offsets = [
            (max(0, start - shift), end - shift)
            for (start, end), special in zip(encoding.offsets, encoding.special_tokens_mask, strict=True)
            if not special and end > shift
        ]
        return cut(text, offsets, self._shape, reserved=len(encoding.ids) - len(offsets))

    def embed_documents(self, texts: Sequence[str]) -> Matrix:
        """Return one row per text. Texts longer than the window are truncated, so cut them with ``windows`` first."""
        return self._embed([self._document_prefix + text for text in texts])

    def embed_query(self, text: str) -> Vector:
        """Return the vector of a query; of a query longer than the window, the mean of its windows' vectors."""
        windows = self._windows(self._query_prefix, text)
        return mean_of_windows(self._embed([self._query_prefix + window.text for window in windows]))

    def close(self) -> None:
        """Release the memory."""
        with self._lock:
            session, self._session = self._session, None
        if session is not None:
            session.close()

    def _embed(self, texts: Sequence[str]) -> Matrix:
        rows = np.zeros((len(texts), self.dimension), dtype=np.float32)
        for row, vector in enumerate(self._load().vectors([well_formed(text) for text in texts]) if texts else ()):
            if len(vector) != self.dimension:
                raise EmbeddingError(
                    f"{self._folder.model_file} gives {len(vector)} numbers, not {self.dimension}: "
                    f"it is not model '{self._folder.name}'"
                )
            rows[row] = vector
        return normalised(rows)

    def _load(self) -> "OnnxSession":
        from codequarry.shared.embedding.onnx_session import load_session

        with self._lock:
            if self._session is None:
                self._session = load_session(self._folder, self._shape.limit)
            return self._session
