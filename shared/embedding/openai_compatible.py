"""A model behind an OpenAI-compatible server: OpenAI, Azure, vLLM, Ollama, TEI, llama.cpp, Voyage and others."""

import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from urllib.parse import urlsplit

import numpy as np

from codequarry.shared.addresses import is_loopback
from codequarry.shared.arrays import Matrix, Vector
from codequarry.shared.embedding.embeddings_api import EmbeddingsApi, Endpoint
from codequarry.shared.embedding.interactive_requests import InteractiveRequests
from codequarry.shared.embedding.model_api import RefusedText, split_account
from codequarry.shared.embedding.port import Window
from codequarry.shared.embedding.request_threads import run_abandonable
from codequarry.shared.embedding.responses import read_vectors
from codequarry.shared.embedding.retries import Patience, for_queries
from codequarry.shared.embedding.server_model import dimension_of, given, name_of, strides_of
from codequarry.shared.embedding.strides import cut, mean_of_windows, normalised, well_formed
from codequarry.shared.embedding.tokens import count_tokens, pieces
from codequarry.shared.errors import EmbeddingError, TextsRejected
from codequarry.shared.known_models import Api, KnownModel
from codequarry.shared.settings.config import EmbeddingSettings
from codequarry.shared.telemetry.logs import logger

_log = logger(__name__)

# Every model accepts this text; if a server refuses it, the other texts are not to blame.
_HARMLESS = "text"
# Most models add a token before and a token after a text.
_SPECIAL_TOKENS = 2
# A text of fewer tokens fits every model, so a server that refuses it refuses its content.
_SHORT_TOKENS = 128
# The traits of a server that is not in the table of models.
_COMPATIBLE = Api(base_url="")


@dataclass(frozen=True, slots=True)
class _Work:
    """The results of one call so far, by index of the text; threads write to different indices."""

    texts: Sequence[str]
    vectors: dict[int, Vector] = field(default_factory=dict)
    reasons: dict[int, str] = field(default_factory=dict)
    abandoned: threading.Event = field(default_factory=threading.Event)


class OpenAICompatibleEmbedder:
    """Embeds through a server, in parallel batches. Safe to use from several threads."""

    def __init__(
        self,
        settings: EmbeddingSettings,
        known: KnownModel | None = None,
        patience: Patience | None = None,
        *,
        interactive: bool = False,
    ) -> None:
        """Prepare the requests; ``interactive`` limits the wait for the dimension because a client is waiting."""
        traits = (known.api if known else None) or _COMPATIBLE
        self._dimension = dimension_of(settings, known)
        self._name = name_of(settings, known, self._dimension)
        self._shape = strides_of(settings, known)
        self._query_prefix = given(settings.query_prefix, known.query_prefix if known else "")
        self._document_prefix = given(settings.document_prefix, known.document_prefix if known else "")
        self._query_type = given(settings.query_input_type, known.query_input_type if known else "")
        self._document_type = given(settings.document_input_type, known.document_input_type if known else "")
        self._patience = patience or Patience(settings.max_retries, settings.timeout_seconds)
        self._concurrency = settings.concurrency
        self._most_tokens = settings.batch_tokens
        # Lowered if the server turns out to accept fewer.
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
        self._noted = False
        self._is_interactive = interactive

    @property
    def name(self) -> str:
        """Name of the model, not of the server, with the dimension if it is known without a request."""
        return self._name

    @property
    def dimension(self) -> int:
        """Length of a vector; asks the server once if neither the settings nor the table of models specify it."""
        with self._lock:
            return self._dimension or self._request([_HARMLESS], self._document_type, self._is_interactive).shape[1]

    @property
    def leaves_machine(self) -> bool:
        """True unless the server's address is on this machine; whether that server forwards texts is unknown."""
        return not is_loopback(urlsplit(self._endpoint.base_url).hostname or "")

    @property
    def max_tokens(self) -> int:
        """``context_window``, or the window of a known model, or the usual window of models on servers."""
        return self._shape.limit

    def windows(self, text: str) -> list[Window]:
        """Cut a text by a cautious estimate of its tokens, because only the server has the tokenizer."""
        return self._windows(self._document_prefix, text)

    def _windows(self, prefix: str, text: str) -> list[Window]:
        return cut(text, pieces(text), self._shape, len(pieces(prefix)) + _SPECIAL_TOKENS)

    def embed_documents(self, texts: Sequence[str]) -> Matrix:
        """Return one row per text; if the server refuses texts, raise TextsRejected with the vectors of the others."""
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
        """Return the vector of a query, with fewer retries and a shorter timeout than for documents."""
        prefix = self._query_prefix
        prefixed = [well_formed(prefix + window.text) for window in self._windows(prefix, text)]
        if not prefixed[0]:
            return np.zeros(self.dimension, dtype=np.float32)
        try:
            rows = self._request(prefixed, self._query_type, client_waits=True)
        except RefusedText as error:
            raise EmbeddingError(f"{self._endpoint.base_url} refuses the query: {error}") from None
        return mean_of_windows(normalised(rows))

    def close(self) -> None:
        """Close the connections; requests in progress fail, and their results are dropped."""
        self._api.close()

    def _embed_all(self, work: _Work) -> None:
        planned = batches(work.texts, self._most_texts, self._most_tokens)
        tasks = [partial(self._embed_batch, batch, work) for batch in planned]
        # After a failure, no more batches are sent, and the call does not wait for answers that it will not use.
        run_abandonable(tasks, self._concurrency, work.abandoned)

    def _embed_batch(self, batch: Sequence[int], work: _Work) -> None:
        """Embed a batch; if the server refuses it, embed its halves, down to the refused text."""
        if work.abandoned.is_set():
            return
        try:
            rows = self._request([work.texts[index] for index in batch], self._document_type, work=work)
        except RefusedText as error:
            if not self._takes_anything():
                raise EmbeddingError(
                    f"{self._endpoint.base_url} refuses every text: {error}; see [embedding] model and dimensions"
                ) from None
            if len(batch) > 1:
                self._embed_halves(batch, work)
            elif isinstance(found := self._embed_parts(work.texts[batch[0]], error, work), RefusedText):
                work.reasons[batch[0]] = str(found)
            else:
                work.vectors[batch[0]] = found
        else:
            work.vectors.update(zip(batch, rows, strict=True))

    def _embed_halves(self, batch: Sequence[int], work: _Work) -> None:
        middle = len(batch) // 2
        self._embed_batch(batch[:middle], work)
        self._embed_batch(batch[middle:], work)
        if not any(index in work.reasons for index in batch):
            # No text was refused, so the batch had too many texts.
            self._most_texts = min(self._most_texts, max(1, middle))

    def _embed_parts(self, text: str, refusal: RefusedText, work: _Work) -> Vector | RefusedText:
        """Return the mean of the vectors of both halves of a refused text, each halved in turn if it is refused.

        A server may have a smaller window than is known here. Return the refusal of a text that is too short for that.
        """
        offsets = pieces(text)
        if len(offsets) <= _SHORT_TOKENS or work.abandoned.is_set():
            return refusal
        middle = offsets[len(offsets) // 2][0]
        vectors = []
        for part in (text[:middle], text[middle:]):
            try:
                vectors.append(self._request([part], self._document_type, work=work)[0])
            except RefusedText as error:
                vector = self._embed_parts(part, error, work)
                if isinstance(vector, RefusedText):
                    return vector
                vectors.append(vector)
        self._note_small_window(len(offsets))
        return mean_of_windows(normalised(np.stack(vectors)))

    def _note_small_window(self, tokens: int) -> None:
        if not self._noted:
            self._noted = True
            _log.warning(
                "the embeddings server refuses long texts, which are embedded in parts; set [embedding] context_window "
                "to the window of its model",
                model=self._endpoint.model,
                refused_tokens=tokens,
            )

    def _takes_anything(self) -> bool:
        if not self._accepts:
            try:
                self._request([_HARMLESS], self._document_type)
            except RefusedText:
                return False
        return True

    def _request(
        self, texts: Sequence[str], input_type: str, client_waits: bool = False, work: _Work | None = None
    ) -> Matrix:
        if client_waits:
            body = self._interactive.request(texts, input_type, for_queries(self._patience))
        else:
            body = self._api.request(texts, input_type, self._patience, lambda: not (work and work.abandoned.is_set()))
        try:
            rows = read_vectors(body, len(texts), self._dimension)
        except EmbeddingError as error:
            raise EmbeddingError(f"embeddings server {self._endpoint.base_url}: {error}") from None
        self._accepts = True
        self._dimension = self._dimension or rows.shape[1]
        return rows


def batches(texts: Sequence[str], most_texts: int, most_tokens: int) -> Iterator[list[int]]:
    """Yield the text indices for each request; skip empty texts, and put a text over the limit into its own request."""
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
