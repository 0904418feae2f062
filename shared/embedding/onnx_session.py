"""An ONNX graph and its tokenizer in memory: encoded texts in, pooled vectors out."""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from tokenizers import Encoding, Tokenizer

from codequarry.shared.embedding.folder import ModelFolder
from codequarry.shared.embedding.known import Pooling
from codequarry.shared.embedding.port import Matrix
from codequarry.shared.errors import EmbeddingError

# Small models gain nothing from more threads.
_MOST_THREADS = 8
# onnxruntime's level for errors: its warnings are about graphs and devices, nothing that a user could change.
_ERRORS_ONLY = 3
# Padded tokens in one run: enough to fill the vector units, few enough to stay in the cache.
_TOKENS_PER_RUN = 2048
_INPUTS = frozenset({"input_ids", "attention_mask", "token_type_ids"})


class Argument(Protocol):
    """An input or output of a graph; a free axis has a name or None for its length."""

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
    """A loaded model. ``reader`` cuts a text at the window, ``counter`` never does."""

    graph: Graph
    reader: Tokenizer
    counter: Tokenizer
    pooling: Pooling
    inputs: frozenset[str]
    output: str

    def vectors(self, texts: Sequence[str]) -> Matrix:
        """Return one pooled row a text, not normalised; texts of like length are run together."""
        encodings = self.reader.encode_batch_fast(list(texts))
        order: list[int] = []
        rows: list[Matrix] = []
        for members in runs([len(encoding.ids) for encoding in encodings]):
            order += members
            rows.append(self._run([encodings[index] for index in members]))
        together = np.concatenate(rows)
        result = np.empty_like(together)
        result[order] = together
        return result

    def _run(self, encodings: Sequence[Encoding]) -> Matrix:
        # A tokenizer without special tokens gives none for an empty text; the graph wants at least one.
        width = max(1, max(len(encoding.ids) for encoding in encodings))
        ids = np.zeros((len(encodings), width), dtype=np.int64)
        mask = np.zeros_like(ids)
        for row, encoding in enumerate(encodings):
            ids[row, : len(encoding.ids)] = encoding.ids
            mask[row, : len(encoding.ids)] = 1
        feed = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        try:
            hidden = self.graph.run([self.output], {name: feed[name] for name in self.inputs})[0]
        # onnxruntime's exceptions have no other common base.
        except Exception as error:
            raise EmbeddingError(
                f"the model failed on {len(ids)} texts of up to {width} tokens: {_line(error)}"
            ) from error
        return pooled(np.asarray(hidden, dtype=np.float32), mask, self.pooling)


def pooled(hidden: NDArray[np.float32], mask: NDArray[np.int64], pooling: Pooling) -> Matrix:
    """Pool token vectors (texts, tokens, dimension) into one a text; what a graph has pooled itself stays as it is."""
    if hidden.ndim == 2:
        return hidden
    if pooling == "cls":
        return np.ascontiguousarray(hidden[:, 0, :])
    weights = mask[:, :, None].astype(np.float32)
    result: Matrix = (hidden * weights).sum(axis=1) / np.maximum(weights.sum(axis=1), 1)
    return result


def runs(lengths: Sequence[int]) -> Iterator[list[int]]:
    """Yield the indices of texts to run together, longest first: little is padded, and lack of memory shows early."""
    members: list[int] = []
    width = 0
    for index in sorted(range(len(lengths)), key=lambda one: -lengths[one]):
        width = width or max(1, lengths[index])
        if members and width * (len(members) + 1) > _TOKENS_PER_RUN:
            yield members
            members, width = [], max(1, lengths[index])
        members.append(index)
    if members:
        yield members


def load_session(folder: ModelFolder, max_tokens: int) -> OnnxSession:
    """Load a folder's graph and tokenizer; raise EmbeddingError where they are no embedding model."""
    graph = _load_graph(folder.model_file)
    inputs = frozenset(one.name for one in graph.get_inputs())
    if unknown := inputs - _INPUTS:
        raise EmbeddingError(
            f"{folder.model_file} wants the input {', '.join(sorted(unknown))}, which is not supported"
        )
    reader, counter = _load_tokenizer(folder.tokenizer_file), _load_tokenizer(folder.tokenizer_file)
    reader.enable_truncation(max_tokens)
    return OnnxSession(graph, reader, counter, folder.pooling, inputs, _output(graph, folder.model_file))


def _load_graph(path: Path) -> Graph:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = min(_MOST_THREADS, _cores())
    options.log_severity_level = _ERRORS_ONLY
    # Threads that wait by spinning would take the cores from the processes that chunk.
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
    # A file may bring limits of its own, often 128 tokens.
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return tokenizer


def _output(graph: Graph, path: Path) -> str:
    """Return the output to use: the first with token vectors, or else the first with pooled ones."""
    outputs = graph.get_outputs()
    for axes in (3, 2):
        for one in outputs:
            if len(one.shape) == axes:
                return one.name
    raise EmbeddingError(f"{path} has no output of token vectors or text vectors")


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _line(error: Exception) -> str:
    return str(error).strip().split("\n", 1)[0]
