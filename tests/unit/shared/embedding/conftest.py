"""A real embeddings server on a loopback port, and a tiny ONNX model written to disk."""

import base64
import json
import threading
import zlib
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tokenizers import Tokenizer, models, pre_tokenizers, processors

from codequarry.shared.embedding.openai_compatible import OpenAICompatibleEmbedder
from codequarry.shared.embedding.retries import Patience
from codequarry.shared.known_models import find_model
from codequarry.shared.settings.config import EmbeddingSettings

DIMENSION = 8
MOST_SECONDS = 20


@dataclass(frozen=True)
class Reply:
    """A scripted answer; ``hang`` keeps the connection open without an answer until the test ends."""

    status: int = 200
    body: object = None
    headers: dict[str, str] = field(default_factory=dict)
    hang: bool = False


def vector_of(text: str, dimension: int = DIMENSION) -> list[float]:
    """Return the server's vector of a text: deterministic and not normalised."""
    return [float(number) for number in np.random.default_rng(zlib.crc32(text.encode())).normal(2.0, 3.0, dimension)]


@dataclass
class EmbeddingServer:
    """Speaks the embeddings protocol: scripted replies first, then correct answers."""

    url: str = ""
    script: deque[Reply | Callable[[dict[str, Any]], Reply]] = field(default_factory=deque)
    requests: list[dict[str, Any]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    refused: set[str] = field(default_factory=set)
    most_texts: int | None = None
    # If set, this many requests must be in flight before any is answered.
    together: threading.Barrier | None = None
    released: threading.Event = field(default_factory=threading.Event)
    # While cleared, the server accepts requests but answers none, including those for a sign of life.
    talks: threading.Event = field(default_factory=threading.Event)
    signs: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    vector_of = staticmethod(vector_of)
    Reply = Reply

    def answer(self, body: dict[str, Any], headers: dict[str, str]) -> Reply:
        with self.lock:
            self.requests.append(body)
            self.headers.append(headers)
            scripted = self.script.popleft() if self.script else None
        if scripted is not None:
            return scripted if isinstance(scripted, Reply) else scripted(body)
        if self.together:
            self.together.wait(MOST_SECONDS)
        texts = body["input"]
        if self.most_texts and len(texts) > self.most_texts:
            return Reply(422, {"error": f"batch size {len(texts)} > maximum allowed batch size {self.most_texts}"})
        if any(text in self.refused for text in texts):
            return Reply(400, {"error": {"message": "this input is not allowed", "code": None}})
        return Reply(200, self.right(body))

    def right(self, body: dict[str, Any]) -> dict[str, Any]:
        """Return the correct answer to a request."""
        dimension = body.get("dimensions") or body.get("output_dimension") or DIMENSION
        vectors = [vector_of(text, dimension) for text in body["input"]]
        if body.get("encoding_format") == "base64":
            shown: list[Any] = [base64.b64encode(np.array(vector, "<f4").tobytes()).decode() for vector in vectors]
        else:
            shown = vectors
        data = [{"object": "embedding", "index": index, "embedding": vector} for index, vector in enumerate(shown)]
        return {"object": "list", "data": data, "model": body["model"], "usage": {"total_tokens": 1}}


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    served: EmbeddingServer

    def do_GET(self) -> None:
        self.served.signs += 1
        self.served.talks.wait(MOST_SECONDS)
        self._send(Reply(404, {"error": {"message": f"no {self.path}"}}))

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.served.talks.wait(MOST_SECONDS)
        if self.path != "/v1/embeddings":
            return self._send(Reply(404, {"error": {"message": f"no {self.path}"}}))
        reply = self.served.answer(body, {name.lower(): value for name, value in self.headers.items()})
        if reply.hang:
            self.served.released.wait(MOST_SECONDS)
            self.close_connection = True
            return None
        return self._send(reply)

    def _send(self, reply: Reply) -> None:
        content = reply.body.encode() if isinstance(reply.body, str) else json.dumps(reply.body).encode()
        self.send_response(reply.status)
        for name, value in {"Content-Type": "application/json", **reply.headers}.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


class _Server(ThreadingHTTPServer):
    def handle_error(self, request: object, client_address: object) -> None:
        """Ignore clients that disconnect early, as the tests make them do."""


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[EmbeddingServer]:
    """Run an embeddings server for one test."""
    for name in ("http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    served = EmbeddingServer()
    served.talks.set()
    handler = type("Handler", (_Handler,), {"served": served})
    with _Server(("127.0.0.1", 0), handler) as listening:
        served.url = f"http://127.0.0.1:{listening.server_port}/v1"
        thread = threading.Thread(target=listening.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield served
        served.released.set()
        served.talks.set()
        listening.shutdown()
        thread.join(MOST_SECONDS)


Connect = Callable[..., OpenAICompatibleEmbedder]


@pytest.fixture
def connect(server: EmbeddingServer) -> Iterator[Connect]:
    """Return a function that opens an embedder on the server with the given settings and short waits."""
    opened: list[OpenAICompatibleEmbedder] = []

    def connect(
        patience: Patience | None = None, interactive: bool = False, **settings: Any
    ) -> OpenAICompatibleEmbedder:
        given = EmbeddingSettings(**{"model": "some-model", "base_url": server.url, "api_key": "sk-secret"} | settings)
        quick = Patience(given.max_retries, given.timeout_seconds, first_wait=0.01, longest_wait=0.05, jitter=0.0)
        opened.append(
            OpenAICompatibleEmbedder(given, find_model(given.model), patience or quick, interactive=interactive)
        )
        return opened[-1]

    yield connect
    for embedder in opened:
        embedder.close()


WORDS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "query", "passage", ":", "read", "file", "line", "sort", "list", "fast")


def _varint(number: int) -> bytes:
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    return bytes([*out, number])


def _field(tag: int, value: int | bytes | str) -> bytes:
    """Encode one protobuf field."""
    if isinstance(value, int):
        return _varint(tag << 3) + _varint(value)
    content = value.encode() if isinstance(value, str) else value
    return _varint(tag << 3 | 2) + _varint(len(content)) + content


def _tensor(name: str, element: int, *axes: str | int) -> bytes:
    dims = b"".join(_field(1, _field(2, axis) if isinstance(axis, str) else _field(1, axis)) for axis in axes)
    return _field(1, name) + _field(2, _field(1, _field(1, element) + _field(2, dims)))


def onnx_model(weights: np.ndarray, inputs: tuple[str, ...], pooled: bool) -> bytes:
    """Return an ONNX file that looks up token vectors in ``weights`` and, if ``pooled``, averages them."""
    floats, ints = 1, 7
    initializer = _field(1, weights.shape[0]) + _field(1, weights.shape[1]) + _field(2, floats)
    initializer += _field(8, "weights") + _field(9, weights.astype("<f4").tobytes())
    tokens = "last_hidden_state"
    nodes = [_field(1, "weights") + _field(1, "input_ids") + _field(2, tokens) + _field(4, "Gather")]
    output = _tensor(tokens, floats, "batch", "tokens", weights.shape[1])
    if pooled:
        axes = _field(1, "axes") + _field(20, 7) + _field(8, 1)
        keep = _field(1, "keepdims") + _field(20, 2) + _field(3, 0)
        nodes.append(
            _field(1, tokens) + _field(2, "mean") + _field(4, "ReduceMean") + _field(5, axes) + _field(5, keep)
        )
        output = _tensor("mean", floats, "batch", weights.shape[1])
    graph = b"".join(_field(1, node) for node in nodes) + _field(2, "tiny") + _field(5, initializer)
    graph += b"".join(_field(11, _tensor(name, ints, "batch", "tokens")) for name in inputs) + _field(12, output)
    return _field(1, 8) + _field(7, graph) + _field(8, _field(2, 13))


@dataclass(frozen=True)
class TinyModel:
    """A model folder whose vectors can be computed from ``weights`` (a row for each word of ``words``)."""

    folder: Path
    weights: np.ndarray
    words: tuple[str, ...] = WORDS

    def mean(self, *words: str) -> np.ndarray:
        """Return the normalised mean of the words' rows."""
        total = self.weights[[self.words.index(word) for word in words]].mean(axis=0)
        return total / np.linalg.norm(total)


@pytest.fixture
def make_tiny_model(tmp_path: Path) -> Callable[..., TinyModel]:
    """Return a function that writes a tiny model's folder."""

    def make(
        name: str = "tiny",
        inputs: tuple[str, ...] = ("input_ids", "attention_mask", "token_type_ids"),
        pooled: bool = False,
        **config: object,
    ) -> TinyModel:
        folder = tmp_path / "models" / name
        folder.mkdir(parents=True)
        weights = np.random.default_rng(7).normal(size=(len(WORDS), 4)).astype(np.float32)
        (folder / "model.onnx").write_bytes(onnx_model(weights, inputs, pooled))
        tokenizer = Tokenizer(models.WordLevel({word: index for index, word in enumerate(WORDS)}, "[UNK]"))
        tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
        tokenizer.post_processor = processors.TemplateProcessing(
            single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
        )
        # Tokenizer files often contain limits that are not those of the model.
        tokenizer.enable_truncation(4)
        tokenizer.enable_padding(length=12)
        tokenizer.save(str(folder / "tokenizer.json"))
        if config:
            (folder / "codequarry-model.json").write_text(json.dumps(config))
        return TinyModel(folder, weights)

    return make
