"""Any token table that lies in a folder, as an embedder: the built-in model, and those that training/ makes."""

import threading
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path

from codequarry.shared.arrays import Matrix, Vector
from codequarry.shared.embedding.explanation import TokenExplanation
from codequarry.shared.embedding.port import Window
from codequarry.shared.embedding.strides import cut, document_suffix, stride_shape
from codequarry.shared.embedding.token_pairs import explain_by_tokens
from codequarry.shared.embedding.token_table import TokenTable
from codequarry.shared.embedding.tokens import count_tokens
from codequarry.shared.errors import EmbeddingError, UsageError
from codequarry.shared.known_models import TABLE_FILES
from codequarry.shared.settings.config import EmbeddingSettings


def is_table_folder(folder: Path) -> bool:
    """Tell whether a folder has the files of a token table."""
    return all((folder / name).is_file() for name in TABLE_FILES)


class TableEmbedder:
    """Embed with the sum of token vectors; reads texts of any length. Safe to use from several threads."""

    preferred_batch = 1024

    def __init__(self, folder: Path, model: str, settings: EmbeddingSettings, mend: str) -> None:
        """Take the folder, the model's name, and what to do where the folder's files can't be read."""
        self._folder, self._model, self._mend = folder, model, mend
        self._query_prefix = settings.query_prefix or ""
        self._document_prefix = settings.document_prefix or ""
        self._shape = stride_shape(settings.context_window, settings) if settings.context_window else None
        self._lock = threading.Lock()
        self._loaded: TokenTable | None = None
        if settings.dimensions and settings.dimensions != self.dimension:
            raise UsageError(
                f"[embedding] dimensions = {settings.dimensions}: '{model}' has {self.dimension}; unset it"
            )

    @cached_property
    def name(self) -> str:
        """Name with a hash of the files, so that another release's vectors are never mixed with these."""
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
        """None: every token counts, however many there are; ``context_window`` where that is set."""
        return self._shape.limit if self._shape else None

    def windows(self, text: str) -> list[Window]:
        """Return the text whole (its end in tokens is then an estimate), or cut as ``context_window`` says."""
        if self._shape is None:
            return [Window(0, count_tokens(text), text)]
        spans = self._load().vocabulary.spans(self._document_prefix + text)
        shift = len(self._document_prefix)
        offsets = [(max(0, start - shift), end - shift) for start, end in spans if end > shift]
        return cut(text, offsets, self._shape, reserved=len(spans) - len(offsets))

    def embed_documents(self, texts: Sequence[str]) -> Matrix:
        """Return one row a text."""
        return self._load().embed([self._document_prefix + text for text in texts])

    def embed_query(self, text: str) -> Vector:
        """Return the vector of a query, in which tokens count by weights of their own."""
        vector: Vector = self._load().asking.embed([self._query_prefix + text])[0]
        return vector

    def explain(self, query: str, document: str, most: int) -> TokenExplanation:
        """Take apart the similarity of a query and a document by their tokens, those of the prefixes among them."""
        return explain_by_tokens(self._load(), self._query_prefix + query, self._document_prefix + document, most)

    def close(self) -> None:
        """Give back the memory."""
        with self._lock:
            self._loaded = None

    def _load(self) -> TokenTable:
        with self._lock:
            if self._loaded is None:
                try:
                    self._loaded = TokenTable.read(self._folder)
                except EmbeddingError as error:
                    raise EmbeddingError(f"model '{self._model}' can't be read ({error}); {self._mend}") from error
            return self._loaded
