"""Converts chunk rows, file records and vectors to OpenSearch documents and back. Pure functions."""

import base64
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, asdict, fields
from typing import Any

import numpy as np

from codequarry.shared.arrays import Vector
from codequarry.shared.filters import path_tails, symbol_keys
from codequarry.shared.model import TOKEN_FIELDS, Chunk, ChunkRow, FileRecord, StrideInfo, Tokens
from codequarry.shared.store.file_history import history_of_list, list_of_history
from codequarry.shared.versions.snapshots import OPEN

StoredSource = Mapping[str, Any]

# OpenSearch refuses longer ids.
MAX_ID_BYTES = 512
# The field for each rank of `symbol_keys`.
LOOKUP_OF_RANK = {3: "symbol", 2: "qualified", 1: "defined"}
# Fields for the engine only, which no caller of the port sees.
ENGINE_FIELDS = ("embedding", "lookup", "lengths", "vector_key", "born", "died")
# Filters and sorts use these fields, so they are written even if they have their default values.
ALWAYS_WRITTEN = frozenset({"masked", "derived", "kind_of_file", "ordinal"})

# Fields with a form of their own.
_NESTED = ("stride_info", "file_history")
_CHUNK_DEFAULTS: dict[str, Any] = {
    field.name: field.default for field in fields(Chunk) if field.default is not MISSING and field.name not in _NESTED
}
_CHUNK_FIELDS = tuple(field.name for field in fields(Chunk) if field.name not in _NESTED)
_LISTS = tuple(name for name, default in _CHUNK_DEFAULTS.items() if default == ())
_RECORD_FIELDS = tuple(field.name for field in fields(FileRecord))


def document_id(name: str) -> str:
    """Return the id for ``name``: the name itself, or its SHA-256 if it is too long or has unprintable characters."""
    encoded = name.encode("utf-8", "surrogatepass")
    return name if len(encoded) <= MAX_ID_BYTES and name.isprintable() else hashlib.sha256(encoded).hexdigest()


def row_document(row: ChunkRow, vector: Vector) -> dict[str, Any]:
    """Return the document of a row; fields with their default value are left out."""
    document = _chunk_document(row.chunk)
    stride = row.chunk.stride_info
    if stride is not None:
        document["stride_info"] = asdict(stride)
    if row.chunk.file_history is not None:
        # As text: nothing searches it, and arrays of arrays would be flattened.
        document["file_history"] = json.dumps(list_of_history(row.chunk.file_history))
    tokens = {name: text for name in TOKEN_FIELDS if (text := getattr(row.tokens, name))}
    document |= {
        "timeline": row.timeline,
        "born": row.born,
        "died": OPEN,
        "first_stride": stride is None or stride.stride_index == 0,
        "tokens": tokens,
        "lookup": _lookup(row.chunk),
        "vector_key": row.vector_key,
        "vector": encode_vector(vector),
        "embedding": vector.tolist(),
    }
    if document["first_stride"]:
        document["lengths"] = {name: len(tokens.get(name, "").split()) for name in TOKEN_FIELDS}
    return document


def _chunk_document(chunk: Chunk) -> dict[str, Any]:
    document: dict[str, Any] = {}
    for name in _CHUNK_FIELDS:
        value = getattr(chunk, name)
        if name in ALWAYS_WRITTEN or name not in _CHUNK_DEFAULTS or value != _CHUNK_DEFAULTS[name]:
            document[name] = list(value) if name in _LISTS else value
    return document


def _lookup(chunk: Chunk) -> dict[str, list[str]]:
    lookup: dict[str, list[str]] = {"path": list(path_tails(chunk.path))}
    for key, rank in symbol_keys(chunk).items():
        lookup.setdefault(LOOKUP_OF_RANK[rank], []).append(key)
    return lookup


def chunk_of(source: StoredSource) -> Chunk:
    """Read a chunk from its row's document."""
    values = {name: source[name] for name in _CHUNK_FIELDS if name in source}
    for name in _LISTS:
        if name in values:
            values[name] = tuple(values[name])
    stride = source.get("stride_info")
    history = source.get("file_history")
    return Chunk(
        **values,
        stride_info=StrideInfo(**stride) if stride else None,
        file_history=history_of_list(json.loads(history)) if history else None,
    )


def tokens_of(source: StoredSource) -> Tokens:
    """Read the lexical fields from a row's document."""
    return Tokens(**source.get("tokens", {}))


def row_of(source: StoredSource) -> ChunkRow:
    """Read a whole row from its document."""
    return ChunkRow(
        chunk=chunk_of(source),
        tokens=tokens_of(source),
        timeline=source["timeline"],
        born=source["born"],
        vector_key=source["vector_key"],
    )


def record_document(record: FileRecord) -> dict[str, Any]:
    """Return the document of a file record."""
    return {**asdict(record), "died": OPEN}


def record_of(source: StoredSource) -> FileRecord:
    """Read a file record from its document."""
    return FileRecord(**{name: source[name] for name in _RECORD_FIELDS})


def encode_vector(vector: Vector) -> str:
    """Return a vector as base64 of little-endian float32, for a binary field."""
    return base64.b64encode(np.ascontiguousarray(vector, "<f4").tobytes()).decode("ascii")


def decode_vector(text: str) -> Vector:
    """Decode a vector from the text that ``encode_vector`` returned."""
    return np.frombuffer(base64.b64decode(text), "<f4").astype(np.float32)


def similarities(encoded: Sequence[str], query: Vector) -> list[float]:
    """Return the cosine (-1 to 1) of each vector and the query; all of them are normalised."""
    if not encoded:
        return []
    matrix = np.frombuffer(b"".join(map(base64.b64decode, encoded)), "<f4").reshape(len(encoded), len(query))
    cosines: list[float] = np.clip(matrix @ query, -1, 1).tolist()
    return cosines
