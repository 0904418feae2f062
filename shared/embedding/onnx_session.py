"""An ONNX graph and its tokenizer in memory: texts in, pooled vectors out.

Each text gets its own run of the graph; several runs execute in parallel. Int8 models scale their activations by the
largest number in a run. In a batch, a text's vector would therefore depend on its neighbours (cosine down to 0.97 with
MiniLM) and would change when indexing is resumed. For texts as long as chunks, batches are not faster either.
"""

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from tokenizers import Encoding, Tokenizer

from codequarry.shared.arrays import Vector
from codequarry.shared.embedding.folder import ModelFolder
from codequarry.shared.errors import EmbeddingError
from codequarry.shared.known_models import Pooling
from codequarry.shared.processors import processor_count
from codequarry.shared.stop_request import check_stop

# Small models gain nothing from more threads.
_MOST_THREADS = 8
# onnxruntime's level for errors: its warnings are about graphs and devices, which a user cannot change.
_ERRORS_ONLY = 3
_INPUTS = frozenset({"input_ids", "attention_mask", "token_type_ids"})


class Argument(Protocol):
    """An input or output of a graph; a free axis has a name or None as its length."""

    name: str
    shape: list[int | str | None]


class Graph(Protocol):
    """The part of onnxruntime's session that is used here."""

    def run(self, output_names: list[str], feed: dict[str, NDArray[np.int64]]) -> list[NDArray[np.float32]]:
        """Run the graph."""
        ...

    def get_inputs(self) -> list[Argument]:
        """Describe the inputs."""
        ...

    def get_outputs(self) -> list[Argument]:
        """Describe the outputs."""
        ...


@dataclass(frozen=True, slots=True)
class OnnxSession:
    """A loaded model. ``reader`` truncates a text to the window, ``counter`` never truncates."""

    graph: Graph
    reader: Tokenizer
    counter: Tokenizer
    pooling: Pooling
    inputs: frozenset[str]
    output: str
    threads: ThreadPoolExecutor

    def vectors(self, texts: Sequence[str]) -> list[Vector]:
        """Return one pooled vector per text, not normalised."""
        encodings = self.reader.encode_batch_fast(list(texts))
        if len(encodings) == 1:
            return [self._run(encodings[0])]
        return list(self._one_by_one(encodings))

    def _one_by_one(self, encodings: Sequence[Encoding]) -> Iterator[Vector]:
        """Yield the vectors in order; if indexing must stop, skip the texts that have not been started."""
        for vector in self.threads.map(self._run, encodings):
            check_stop()
            yield vector

    def _run(self, encoding: Encoding) -> Vector:
        # A tokenizer without special tokens returns no token for an empty text; the graph needs at least one.
        ids = np.array([encoding.ids or [0]], dtype=np.int64)
        feed = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)}
        try:
            hidden = self.graph.run([self.output], {name: feed[name] for name in self.inputs})[0][0]
        # onnxruntime's exceptions have no more specific common base.
        except Exception as error:
            raise EmbeddingError(f"the model failed on a text of {ids.size} tokens: {_line(error)}") from error
        return pooled(np.asarray(hidden, dtype=np.float32), self.pooling)

    def close(self) -> None:
        """End the threads."""
        self.threads.shutdown(cancel_futures=True)


def pooled(hidden: NDArray[np.float32], pooling: Pooling) -> Vector:
    """Pool the token vectors of a text (tokens, dimension) into one vector; a pooled vector is returned unchanged."""
    if hidden.ndim == 1:
        return hidden
    result: Vector = hidden[0].copy() if pooling == "cls" else hidden.mean(axis=0)
    return result


def load_session(folder: ModelFolder, max_tokens: int) -> OnnxSession:
    """Load a folder's graph and tokenizer; raise EmbeddingError if they are not an embedding model."""
    graph = _load_graph(folder.model_file)
    inputs = frozenset(argument.name for argument in graph.get_inputs())
    if unknown := inputs - _INPUTS:
        raise EmbeddingError(
            f"{folder.model_file} needs the input {', '.join(sorted(unknown))}, which is not supported"
        )
    reader, counter = _load_tokenizer(folder.tokenizer_file), _load_tokenizer(folder.tokenizer_file)
    reader.enable_truncation(max_tokens)
    output = _output(graph, folder.model_file)
    threads = ThreadPoolExecutor(_threads(), thread_name_prefix="onnx")
    return OnnxSession(graph, reader, counter, folder.pooling, inputs, output, threads)


def _load_graph(path: Path) -> Graph:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    # As many threads as parallel runs, so that a single query gets all cores and many texts share them.
    options.intra_op_num_threads = _threads()
    options.log_severity_level = _ERRORS_ONLY
    # Spinning threads would take the cores from the processes that chunk.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    try:
        graph: Graph = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    except Exception as error:
        raise EmbeddingError(f"{path} cannot be loaded as an ONNX model: {_line(error)}") from error
    return graph


def _load_tokenizer(path: Path) -> Tokenizer:
    try:
        tokenizer = Tokenizer.from_file(str(path))
    # The library raises plain Exception for a file that it cannot read.
    except Exception as error:
        raise EmbeddingError(f"{path} cannot be loaded as a tokenizer: {_line(error)}") from error
    # The file may set limits, often 128 tokens.
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return tokenizer


def _output(graph: Graph, path: Path) -> str:
    """Return the name of the first output with token vectors, or else of the first with pooled vectors."""
    outputs = graph.get_outputs()
    for axes in (3, 2):
        for output in outputs:
            if len(output.shape) == axes:
                return output.name
    raise EmbeddingError(f"{path} has no output with token vectors or text vectors")


def _threads() -> int:
    return min(_MOST_THREADS, processor_count())


def _line(error: Exception) -> str:
    return str(error).strip().split("\n", 1)[0]
