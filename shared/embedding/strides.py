"""Strides: a text longer than the model's window is embedded in overlapping windows, so that no part is lost.

With a window of 8192 tokens, a stride has 7168 tokens and the next stride begins 6144 tokens later. The free eighth is
for special tokens, a prefix and a repeated head. An eighth is read twice, so that passages at a border stay whole.
"""

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from codequarry.shared.arrays import Matrix, Vector
from codequarry.shared.embedding.port import Embedder, Window
from codequarry.shared.embedding.tokens import count_tokens
from codequarry.shared.errors import UsageError
from codequarry.shared.settings.config import EmbeddingSettings

# Strides leave an eighth of the window free, and neighbours share an eighth of the window: a seventh of a stride.
_EIGHTH = 8
_SEVENTH = 7


NO_STRIDES = "none"


@dataclass(frozen=True, slots=True)
class StrideShape:
    """``limit`` tokens fit at once; a longer text is read ``window`` tokens at a time, repeating ``overlap`` tokens."""

    limit: int
    window: int
    overlap: int


def stride_shape(max_tokens: int, settings: EmbeddingSettings) -> StrideShape:
    """Return the shape for a model that reads ``max_tokens``; raise UsageError for settings that cannot work."""
    window = settings.stride_window or max_tokens - max_tokens // _EIGHTH
    overlap = window // _SEVENTH if settings.stride_overlap is None else settings.stride_overlap
    if window > max_tokens:
        raise UsageError(f"[embedding] stride_window = {window} is more than the model's window of {max_tokens} tokens")
    if overlap >= window:
        raise UsageError(f"[embedding] stride_overlap = {overlap} must be smaller than stride_window = {window}")
    return StrideShape(max_tokens, window, overlap)


def context_window(settings: EmbeddingSettings, most: int | None, model: str) -> int | None:
    """Return the window to use with a model that reads ``most`` tokens (None: any number).

    Raise UsageError if the settings ask for more, or give strides to a model without a window.
    """
    asked = settings.context_window
    if asked and most and asked > most:
        raise UsageError(f"[embedding] context_window = {asked}: model '{model}' reads {most} tokens")
    window = asked or most
    if window is None and (settings.stride_window or settings.stride_overlap):
        raise UsageError(
            f"[embedding] stride_window and stride_overlap need context_window: model '{model}' reads texts of any "
            "length, so no chunk is cut into strides"
        )
    return window


def described_strides(max_tokens: int | None, settings: EmbeddingSettings) -> str:
    """Return window, stride and overlap as an index records them, or ``none`` if texts of any length are read whole."""
    if max_tokens is None:
        return NO_STRIDES
    shape = stride_shape(max_tokens, settings)
    return f"{shape.limit}/{shape.window}/{shape.overlap}"


def spans(tokens: int, shape: StrideShape, reserved: int = 0) -> list[tuple[int, int]]:
    """Return the token spans that cover ``tokens``; in each window, ``reserved`` tokens have other uses."""
    if tokens <= shape.limit - reserved:
        return [(0, tokens)]
    window = max(1, min(shape.window, shape.limit - reserved))
    step = max(1, window - shape.overlap)
    found = []
    for start in range(0, tokens, step):
        found.append((start, min(start + window, tokens)))
        if start + window >= tokens:
            break
    return found


def cut(text: str, offsets: Sequence[tuple[int, int]], shape: StrideShape, reserved: int = 0) -> list[Window]:
    """Cut ``text``, keeping every character, at token boundaries; ``offsets`` are the character spans of its tokens."""
    last = len(offsets)
    windows = []
    for start, end in spans(last, shape, reserved):
        first = offsets[start][0] if start else 0
        until = offsets[end][0] if end < last else len(text)
        windows.append(Window(start, end, text[first:until], first, until - first))
    return windows


def strides(text: str, embedder: Embedder, head: str = "") -> list[Window]:
    """Return the windows in which ``head + text`` is embedded: a single window if it fits.

    ``head`` (the line that names path and symbol) is repeated before every later window if it fits into the eighth
    that strides leave free. Offsets are in tokens of ``head + text``.
    """
    windows = embedder.windows(head + text)
    if len(windows) == 1 or not _head_fits(head, embedder.max_tokens):
        return windows
    return [windows[0], *(replace(later, text=head + later.text) for later in windows[1:])]


def _head_fits(head: str, max_tokens: int | None) -> bool:
    return bool(head) and (max_tokens is None or count_tokens(head) <= max_tokens // _EIGHTH)


# Enough to distinguish the few models that an index will ever see.
_FINGERPRINT_CHARACTERS = 8
# The range of int8 on either side of zero.
_LEVELS = 127


def normalised(rows: ArrayLike) -> Matrix:
    """Return the rows as float32 of length 1; a row of zeros (an empty text) stays zeros."""
    matrix = np.ascontiguousarray(rows, dtype=np.float32)
    lengths = np.linalg.norm(matrix, axis=1, keepdims=True)
    result: Matrix = np.divide(matrix, lengths, out=np.zeros_like(matrix), where=lengths > 0)
    return result


def mean_of_windows(rows: Matrix) -> Vector:
    """Return the vector of a text from the vectors of its windows."""
    mean: Vector = normalised(rows.mean(axis=0, keepdims=True))[0]
    return mean


def rounded(rows: Matrix) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    """Return the rows as int8, each scaled so that its largest absolute value is 127, and the step of each (rows)."""
    steps = (np.abs(rows).max(axis=1) / _LEVELS).astype(np.float32)
    steps[steps == 0] = 1.0
    return np.rint(rows / steps[:, None]).astype(np.int8), steps


def well_formed(text: str) -> str:
    """Replace lone surrogates with question marks: a JSON body may contain them, but no tokenizer accepts them."""
    if text.isascii():
        return text
    return text.encode("utf-8", "replace").decode("utf-8")


def fingerprint(parts: Iterable[bytes | memoryview]) -> str:
    """Return a short hex hash of ``parts``, for the names of models."""
    digest = hashlib.sha256()
    for part in parts:
        digest.update(len(part).to_bytes(8, "big"))
        digest.update(part)
    return digest.hexdigest()[:_FINGERPRINT_CHARACTERS]


def document_suffix(prefix: str, input_type: str = "") -> str:
    """Return a suffix for the model's name: text that precedes documents (not queries) changes an index's vectors."""
    return f"+{fingerprint([prefix.encode(), input_type.encode()])}" if prefix or input_type else ""
