"""The teacher: a sentence model that knows which texts are similar, whatever words they use.

From pairs, a table learns that "remove" is near "delete" only if both occur beside the same code. So the doc comments
and names of a batch also learn how similar the teacher finds them (similarity distillation: Fang et al. 2021, SEED).
The teacher reads texts as rebuilt from their tokens: in lower case, names as words, at most the first 16.
"""

import hashlib
import os
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from codequarry.shared.arrays import Matrix
from codequarry.shared.embedding.install import install_model
from codequarry.shared.embedding.onnx_session import Graph
from codequarry.shared.embedding.strides import normalised, rounded
from codequarry.shared.embedding.vocabulary import PIECE, Vocabulary
from training.dataset import Dataset
from training.recipe import Recipe
from training.reporting import say
from training.writing import whole

# Questions are shorter than this, and the time grows with the length.
_MOST_TOKENS = 16
# The teacher's pieces of these tokens; the rest is not read.
_MOST_PIECES = 24
# Texts per file, so that a stopped run can resume, and per call of the model.
_OF_A_FILE, _AT_ONCE = 50_000, 64


@dataclass(frozen=True, slots=True)
class Teacher:
    """``keys`` of texts, ascending, and their ``vectors`` (texts, dimension), rounded since only directions matter."""

    keys: NDArray[np.int64]
    vectors: NDArray[np.int8]

    def likeness(self, keys: NDArray[np.int64]) -> Matrix:
        """Return the cosines between texts (keys, keys); raise KeyError if a text was not read."""
        places = np.searchsorted(self.keys, keys)
        if not np.array_equal(self.keys[np.minimum(places, len(self.keys) - 1)], keys):
            raise KeyError("a text that the teacher has not read")
        found = normalised(self.vectors[places])
        cosines: Matrix = found @ found.T
        return cosines

    @classmethod
    def read(cls, recipe: Recipe, data: Dataset, folder: Path) -> "Teacher":
        """Read the vectors that `ask_teacher` wrote for the texts of these pairs."""
        keys, first = _texts(recipe, data)
        parts = [np.load(folder / _file(recipe.teacher, data, at), mmap_mode="r") for at in _parts(first)]
        # Filled in place, because several processes hold it at once and a concatenation would need twice the memory.
        vectors = np.empty((len(keys), parts[0].shape[1]), dtype=np.int8)
        for number, part in enumerate(parts):
            vectors[number * _OF_A_FILE :][: len(part)] = part
        return cls(keys, vectors)


def ask_teacher(recipe: Recipe, data: Dataset, vocabulary: Vocabulary, folder: Path, models: Path) -> None:
    """Let the teacher read texts that have no vectors yet, in a process per core; raise ValueError without texts."""
    _, first = _texts(recipe, data)
    if not len(first):
        raise ValueError(f"no pair is of a kind that is taught: {', '.join(recipe.taught_kinds)}")
    files = {folder / _file(recipe.teacher, data, at): at for at in _parts(first)}
    folder.mkdir(parents=True, exist_ok=True)
    for left in set(folder.iterdir()) - set(files):
        left.unlink()
    missing = {place: at for place, at in files.items() if not place.exists()}
    if not missing:
        return
    model = install_model(recipe.teacher, models, say)
    texts = [_said(data, vocabulary, at) for at in missing.values()]
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        done = len(files) - len(missing)
        for number, _ in enumerate(pool.map(partial(_read, model), texts, missing), done + 1):
            say(f"teacher: {min(number * _OF_A_FILE, len(first)):,} of {len(first):,} texts")


def _texts(recipe: Recipe, data: Dataset) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the key of each text that is read, ascending, and the place of its first occurrence."""
    places = data.of_kinds(recipe.taught_kinds, np.arange(len(data)))
    keys, first = np.unique(data.text_key[places], return_index=True)
    return keys, places[first]


def _parts(texts: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    return [texts[at : at + _OF_A_FILE] for at in range(0, len(texts), _OF_A_FILE)]


def _file(name: str, data: Dataset, which: NDArray[np.int64]) -> str:
    """Return a file name with a hash of what is read: other texts or other tokens have another file."""
    digest = hashlib.blake2b(f"{_MOST_TOKENS} {_MOST_PIECES}".encode(), digest_size=12)
    for numbers in data.parts["text"].take(which):
        digest.update(numbers.tobytes())
    return f"{name}-{digest.hexdigest()}.npy"


def _said(data: Dataset, vocabulary: Vocabulary, which: NDArray[np.int64]) -> list[str]:
    """Return texts as rebuilt from their tokens."""
    texts = data.parts["text"]
    lists = [texts.flat[texts.starts[at] : texts.starts[at + 1]][:_MOST_TOKENS] for at in which]
    joined = [" ".join(vocabulary.tokens[token] for token in tokens).replace(f" {PIECE}", "") for tokens in lists]
    return [text.removeprefix(PIECE) for text in joined]


def _read(model: Path, texts: Sequence[str], place: Path) -> None:
    """Write the vectors of texts, whole or not at all; sorted by length, the texts need little padding."""
    from tokenizers import Tokenizer

    graph, tokenizer = _graph(model / "model.onnx"), Tokenizer.from_file(str(model / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.enable_truncation(_MOST_PIECES)
    ids = [encoding.ids for encoding in tokenizer.encode_batch_fast(list(texts))]
    order = sorted(range(len(ids)), key=lambda text: len(ids[text]))
    read = np.concatenate(
        [_vectors(graph, [ids[text] for text in order[at : at + _AT_ONCE]]) for at in range(0, len(order), _AT_ONCE)]
    )
    vectors = np.empty_like(read)
    vectors[order] = read
    with whole(place) as fresh, fresh.open("wb") as file:
        np.save(file, rounded(vectors)[0])


def _graph(path: Path) -> Graph:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    graph: Graph = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    return graph


def _vectors(graph: Graph, texts: Sequence[Sequence[int]]) -> Matrix:
    """Return the mean of each text's token vectors (texts, dimension)."""
    ids = np.zeros((len(texts), max(map(len, texts))), dtype=np.int64)
    is_token = np.zeros_like(ids)
    for row, tokens in enumerate(texts):
        ids[row, : len(tokens)], is_token[row, : len(tokens)] = tokens, 1
    feed = {"input_ids": ids, "attention_mask": is_token, "token_type_ids": np.zeros_like(ids)}
    (hidden,) = graph.run(None, {argument.name: feed[argument.name] for argument in graph.get_inputs()})[:1]
    result: Matrix = np.einsum("bth,bt->bh", hidden, is_token.astype(np.float32)) / is_token.sum(axis=1, keepdims=True)
    return result
