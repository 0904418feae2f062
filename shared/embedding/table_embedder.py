"""Embeds with a token table in a folder: the built-in model, and the models that training/ produces."""

import threading
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path

from codequarry.shared.arrays import Matrix, Vector
from codequarry.shared.embedding.explanation import TokenExplanation
from codequarry.shared.embedding.port import Window
from codequarry.shared.embedding.strides import context_window, cut, document_suffix, stride_shape
from codequarry.shared.embedding.token_pairs import explain_by_tokens
from codequarry.shared.embedding.token_table import TokenTable
from codequarry.shared.embedding.tokens import count_tokens
from codequarry.shared.errors import EmbeddingError, UsageError
from codequarry.shared.known_models import TABLE_FILES
from codequarry.shared.settings.config import EmbeddingSettings


def is_table_folder(folder: Path) -> bool:
    """Return whether a folder has the files of a token table."""
    return all((folder / name).is_file() for name in TABLE_FILES)


class TableEmbedder:
    """Embeds with the sum of token vectors; reads texts of any length. Safe to use from several threads."""

    preferred_batch = 1024

    def __init__(self, folder: Path, model: str, settings: EmbeddingSettings, mend: str) -> None:
        """Set the folder, the model's name, and the advice in the error that is raised if the files cannot be read."""
        self._folder, self._model, self._mend = folder, model, mend
        self._query_prefix = settings.query_prefix or ""
        self._document_prefix = settings.document_prefix or ""
        window = context_window(settings, None, model)
        self._shape = stride_shape(window, settings) if window else None
        self._lock = threading.Lock()
        self._loaded: TokenTable | None = None
        if settings.dimensions and settings.dimensions != self.dimension:
            raise UsageError(
                f"[embedding] dimensions = {settings.dimensions}: '{model}' has {self.dimension}; unset it"
            )

    @cached_property
    def name(self) -> str:
        """Name with a hash of the files, so that the vectors of two releases are never mixed."""
        return f"{self._model}-{self._load().fingerprint()}" + document_suffix(self._document_prefix)

    @cached_property
    def dimension(self) -> int:
        """Length of a vector."""
        return self._load().dimension

    @property
    def leaves_machine(self) -> bool:
        """False: the model runs in this process."""
        return False

    @property
    def max_tokens(self) -> int | None:
        """``context_window``, or None if it is not set, because texts of any length are then read whole."""
        return self._shape.limit if self._shape else None

    def windows(self, text: str) -> list[Window]:
        """Return the whole text as one window (its end in tokens is an estimate), or cut it to ``context_window``."""
        if self._shape is None:
            return [Window(0, count_tokens(text), text, 0, len(text))]
        spans = self._load().vocabulary.spans(self._document_prefix + text)
        shift = len(self._document_prefix)
        offsets = [(max(0, start - shift), end - shift) for start, end in spans if end > shift]
        return cut(text, offsets, self._shape, reserved=len(spans) - len(offsets))

    def embed_documents(self, texts: Sequence[str]) -> Matrix:
        """Return one row per text."""
        return self._load().embed([self._document_prefix + text for text in texts])

    def embed_query(self, text: str) -> Vector:
        """Return the vector of a query; queries have separate token weights."""
        vector: Vector = self._load().asking.embed([self._query_prefix + text])[0]
        return vector

    def explain(self, query: str, document: str, most: int) -> TokenExplanation:
        """Split the similarity of a query and a document by their tokens, including those of the prefixes."""
        return explain_by_tokens(self._load(), self._query_prefix + query, self._document_prefix + document, most)

    def close(self) -> None:
        """Release the memory."""
        with self._lock:
            self._loaded = None

    def _load(self) -> TokenTable:
        with self._lock:
            if self._loaded is None:
                try:
                    self._loaded = TokenTable.read(self._folder)
                except EmbeddingError as error:
                    raise EmbeddingError(f"model '{self._model}' cannot be read ({error}); {self._mend}") from error
            return self._loaded
