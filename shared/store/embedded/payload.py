"""Encodes a chunk and its tokens as bytes, which a search reads only for the rows that it returns."""

import json
import zlib
from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from codequarry.shared.model import Chunk, ChunkRow, StrideInfo, Tokens
from codequarry.shared.store.file_history import history_of_list, list_of_history

# Level 1 compresses a chunk and its tokens to 40%; higher levels gain 3% for a third more time.
_LEVEL = 1
# Only the text, which comes last, may contain this: tokens are words and spaces, and JSON escapes it.
_SEPARATOR = "\0"

_DEFAULTS: dict[str, Any] = {field.name: field.default for field in fields(Chunk)}
_PLAIN = tuple(name for name in _DEFAULTS if name not in ("text", "stride_info", "file_history"))
_TUPLES = tuple(name for name, default in _DEFAULTS.items() if default == ())
# A frozen dataclass takes 10 µs to set a chunk's fields (a search makes 200 chunks); slots take a third of that.
_SLOTS = tuple((name, getattr(Chunk, name).__set__, default) for name, default in _DEFAULTS.items())


def encode(row: ChunkRow) -> bytes:
    """Return the bytes of a row's chunk and tokens."""
    chunk, tokens = row.chunk, row.tokens
    values: dict[str, Any] = {}
    for name in _PLAIN:
        value = getattr(chunk, name)
        if value != _DEFAULTS[name]:
            values[name] = value
    if (stride := chunk.stride_info) is not None:
        values["stride_info"] = [getattr(stride, field.name) for field in fields(StrideInfo)]
    if chunk.file_history is not None:
        values["file_history"] = list_of_history(chunk.file_history)
    parts = (json.dumps(values), tokens.symbol, tokens.signature, tokens.path, tokens.doc, tokens.body, chunk.text)
    return zlib.compress(_SEPARATOR.join(parts).encode("utf-8", "surrogatepass"), _LEVEL)


def decode(body: bytes) -> tuple[Chunk, Tokens]:
    """Return the chunk and the tokens that ``encode`` was given."""
    values, tokens = _parsed(body)
    return _chunk(values), tokens


def _parsed(body: bytes) -> tuple[dict[str, Any], Tokens]:
    head, symbol, signature, path, doc, words, text = (
        zlib.decompress(body).decode("utf-8", "surrogatepass").split(_SEPARATOR, 6)
    )
    values: dict[str, Any] = json.loads(head)
    values["text"] = text
    for name in _TUPLES:
        if name in values:
            values[name] = tuple(values[name])
    if "stride_info" in values:
        values["stride_info"] = StrideInfo(*values["stride_info"])
    if "file_history" in values:
        values["file_history"] = history_of_list(values["file_history"])
    return values, Tokens(symbol, signature, path, doc, words)


def _chunk(values: Mapping[str, Any]) -> Chunk:
    chunk = object.__new__(Chunk)
    for name, put, default in _SLOTS:
        put(chunk, values.get(name, default))
    return chunk
