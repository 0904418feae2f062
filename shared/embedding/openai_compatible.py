"""A model behind an OpenAI-compatible server: OpenAI, Azure, vLLM, Ollama, TEI, llama.cpp, Voyage and others."""

import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from urllib.parse import urlsplit

import numpy as np

from codequarry.shared.addresses import is_loopback
from codequarry.shared.arrays import Matrix, Vector
from codequarry.shared.embedding.embeddings_api import EmbeddingsApi, Endpoint, RefusedText, split_account
from codequarry.shared.embedding.port import Window
from codequarry.shared.embedding.interactive_requests import InteractiveRequests
from codequarry.shared.embedding.request_threads import run_abandonable
from codequarry.shared.embedding.responses import read_vectors
from codequarry.shared.embedding.retries import Patience, for_queries
from codequarry.shared.embedding.strides import StrideShape, cut, document_suffix, normalised, stride_shape, well_formed
from codequarry.shared.embedding.tokens import count_tokens, pieces
from codequarry.shared.errors import EmbeddingError, TextsRejected, UsageError
from codequarry.shared.known_models import Api, KnownModel
from codequarry.shared.settings.config import EmbeddingSettings

# A text that any model takes: if even this is refused, it is not for the texts.
_HARMLESS = "text"
# What most models put around a text: a token before and one after.
_SPECIAL_TOKENS = 2
# What servers that only speak the protocol are taken to do.
_COMPATIBLE = Api(base_url="")


@dataclass(frozen=True, slots=True)
class _Work:
    """What one call has got so far, by index of the text; threads write to different indices."""

    texts: Sequence[str]
    vectors: dict[int, Vector] = field(default_factory=dict)
    reasons: dict[int, str] = field(default_factory=dict)
    given_up: threading.Event = field(default_factory=threading.Event)


class OpenAICompatibleEmbedder:
    """Embed by a server; batches go out in parallel. Safe to use from several threads."""

    def __init__(
        self,
        settings: EmbeddingSettings,
        known: KnownModel | None = None,
        patience: Patience | None = None,
        *,
        interactive: bool = False,
    ) -> None:
        """Prepare to ask a server; ``prompt`` if a client waits until the dimension is known."""
        traits = (known.api if known else None) or _COMPATIBLE
        self._dimension = _dimension(settings, known)
        self._name = _name(settings, known, self._dimension)
        self._shape = _shape(settings, known)
        self._query_prefix = _given(settings.query_prefix, known.query_prefix if known else "")
        self._document_prefix = _given(settings.document_prefix, known.document_prefix if known else "")
        self._query_type = _given(settings.query_input_type, known.query_input_type if known else "")
        self._document_type = _given(settings.document_input_type, known.document_input_type if known else "")
        self._patience = patience or Patience(settings.max_retries, settings.timeout_seconds)
        self._concurrency = settings.concurrency
        self._most_tokens = settings.batch_tokens
        # Lowered when the server turns out to take fewer.
        self._most_texts = min(settings.batch_size, traits.texts_per_request)
        self.preferred_batch = self._most_texts * self._concurrency
        fields = {traits.dimension_field: settings.dimensions} if settings.dimensions else {}
        key = settings.api_key.get_secret_value() if settings.api_key else None
        base_url, credentials = split_account(settings.base_url or traits.base_url, key)
        self._endpoint = Endpoint(base_url, settings.model, traits.encoding_format, fields)
        self._api = EmbeddingsApi(self._endpoint, credentials)
        self._interactive = InteractiveRequests(self._api, base_url, credentials)
        self._lock = threading.Lock()
        self._accepts = False
        self._is_interactive = interactive

    @property
    def name(self) -> str:
        """Name of the model, with its dimension where that is known without asking; not of the server."""
        return self._name

    @property
    def dimension(self) -> int:
        """Length of a vector; asks the server once where neither settings nor table tell."""
        with self._lock:
            return self._dimension or self._request([_HARMLESS], self._document_type, self._is_interactive).shape[1]

    @property
    def leaves_machine(self) -> bool:
        """True unless the server's address is one of this machine: what it sends on is its own affair."""
        return not is_loopback(urlsplit(self._endpoint.base_url).hostname or "")

    @property
    def max_tokens(self) -> int | None:
        """The window of a known model, or ``context_window``; None where nobody says."""
        return self._shape.limit if self._shape else None

    def windows(self, text: str) -> list[Window]:
        """Cut a text by a cautious estimate of its tokens, as only the server has the tokenizer."""
        offsets = pieces(text)
        if self._shape is None:
            return [Window(0, len(offsets), text)]
        return cut(text, offsets, self._shape, len(pieces(self._document_prefix)) + _SPECIAL_TOKENS)

    def embed_documents(self, texts: Sequence[str]) -> Matrix:
        """Return one row a text; TextsRejected has the vectors of the texts that the server did take."""
        work = _Work([well_formed(self._document_prefix + text) for text in texts])
        self._embed_all(work)
        if work.reasons:
            made = {index: normalised(vector[np.newaxis])[0] for index, vector in work.vectors.items()}
            raise TextsRejected(work.reasons, made)
        rows = np.zeros((len(texts), self.dimension), dtype=np.float32)
        for index, vector in work.vectors.items():
            rows[index] = vector
        return normalised(rows)

    def embed_query(self, text: str) -> Vector:
        """Return the vector of a query, with less patience than for documents."""
        prefixed = well_formed(self._query_prefix + self.windows(text)[0].text)
        if not prefixed:
            return np.zeros(self.dimension, dtype=np.float32)
        try:
            rows = self._request([prefixed], self._query_type, somebody_waits=True)
        except RefusedText as error:
            raise EmbeddingError(f"{self._endpoint.base_url} refuses the query: {error}") from None
        vector: Vector = normalised(rows)[0]
        return vector

    def close(self) -> None:
        """Close the connections; attempts that are under way fail, and nobody waits for them."""
        self._api.close()

    def _embed_all(self, work: _Work) -> None:
        planned = batches(work.texts, self._most_texts, self._most_tokens)
        tasks = [partial(self._embed_batch, batch, work) for batch in planned]
        # After a failure the rest is not sent, and nobody waits for answers that will not be used.
        run_abandonable(tasks, self._concurrency, work.given_up)

    def _embed_batch(self, batch: Sequence[int], work: _Work) -> None:
        """Embed some texts; where the server refuses them, embed the halves, down to the text that it is for."""
        if work.given_up.is_set():
            return
        try:
            rows = self._request([work.texts[index] for index in batch], self._document_type, work=work)
        except RefusedText as error:
            if not self._takes_anything():
                raise EmbeddingError(
                    f"{self._endpoint.base_url} refuses every text: {error}; see [embedding] model and dimensions"
                ) from None
            if len(batch) == 1:
                work.reasons[batch[0]] = str(error)
                return
            self._embed_halves(batch, work)
        else:
            work.vectors.update(zip(batch, rows, strict=True))

    def _embed_halves(self, batch: Sequence[int], work: _Work) -> None:
        middle = len(batch) // 2
        self._embed_batch(batch[:middle], work)
        self._embed_batch(batch[middle:], work)
        if not any(index in work.reasons for index in batch):
            # Nothing was wrong with any text, so there were too many of them.
            self._most_texts = min(self._most_texts, max(1, middle))

    def _takes_anything(self) -> bool:
        if not self._accepts:
            try:
                self._request([_HARMLESS], self._document_type)
            except RefusedText:
                return False
        return True

    def _request(
        self, texts: Sequence[str], input_type: str, somebody_waits: bool = False, work: _Work | None = None
    ) -> Matrix:
        if somebody_waits:
            body = self._interactive.request(texts, input_type, for_queries(self._patience))
        else:
            body = self._api.request(texts, input_type, self._patience, lambda: not (work and work.given_up.is_set()))
        try:
            rows = read_vectors(body, len(texts), self._dimension)
        except EmbeddingError as error:
            raise EmbeddingError(f"embeddings server {self._endpoint.base_url}: {error}") from None
        self._accepts = True
        self._dimension = self._dimension or rows.shape[1]
        return rows


def _dimension(settings: EmbeddingSettings, known: KnownModel | None) -> int | None:
    if known is None or settings.dimensions is None:
        return settings.dimensions or (known.dimension if known else None)
    longest = max(known.dimension, *(known.api.dimensions if known.api else ()), 0)
    if settings.dimensions > longest:
        raise UsageError(f"[embedding] dimensions = {settings.dimensions}: '{known.name}' has at most {longest}")
    return settings.dimensions


def _name(settings: EmbeddingSettings, known: KnownModel | None, dimension: int | None) -> str:
    name = known.name if known else settings.model
    prefix = _given(settings.document_prefix, known.document_prefix if known else "")
    input_type = _given(settings.document_input_type, known.document_input_type if known else "")
    return (f"{name}-{dimension}" if dimension else name) + document_suffix(prefix, input_type)


def _shape(settings: EmbeddingSettings, known: KnownModel | None) -> StrideShape | None:
    window = settings.context_window or (known.window if known else None)
    return stride_shape(window, settings) if window else None


def _given(setting: str | None, otherwise: str) -> str:
    return otherwise if setting is None else setting


def batches(texts: Sequence[str], most_texts: int, most_tokens: int) -> Iterator[list[int]]:
    """Yield the indices of the texts of each request; empty texts are left out, a text that is too long goes alone."""
    members: list[int] = []
    tokens = 0
    for index, text in enumerate(texts):
        if not text:
            continue
        count = count_tokens(text)
        if members and (len(members) == most_texts or tokens + count > most_tokens):
            yield members
            members, tokens = [], 0
        members.append(index)
        tokens += count
    if members:
        yield members
