"""What goes out: hits as JSON, how fresh they are, and why there are none."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from codequarry.search_api.links import blob_url
from codequarry.search_api.rank import Ranked
from codequarry.search_api.views import View
from codequarry.shared.model import Chunk
from codequarry.shared.store.filters import path_matches
from codequarry.shared.store.port import Recall

# The fields of a chunk that answers show, in this order; timelines, transactions and permissions are not among them.
CHUNK_FIELDS: tuple[str, ...] = (
    "id", "repo", "path", "language", "symbol_type", "symbol_kind", "symbol_name", "qualified_name", "signature",
    "start_line", "end_line", "symbol_part", "text", "context", "doc", "commentary", "kind_of_file", "exported",
    "microservice", "package", "aggregate", "tags", "defines", "references", "imports", "exports", "calls",
    "dependencies", "blob", "content_hash", "start_char", "end_char", "body_start_char", "masked", "encoding",
    "derived", "complexity_score", "introduced_commit", "last_modified_commit", "commit_author", "commit_message",
    "commit_date", "file_history_length", "co_change_files",
)  # fmt: skip
# Explanations show enough digits to add up.
EXPLAIN_DIGITS = 4


@dataclass(frozen=True, slots=True)
class SearchAnswer:
    """The answer to one search; ``to_json`` is the HTTP body."""

    results: Sequence[Mapping[str, Any]]
    freshness: Sequence[Mapping[str, Any]] = ()
    degraded: Sequence[str] = ()
    reason: str | None = None
    suggestion: str | None = None
    next_cursor: str | None = None
    took_ms: float = 0.0
    stages: Mapping[str, float] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """Return the body of ``POST /search-code``."""
        return {
            "results": list(self.results),
            "freshness": list(self.freshness),
            "degraded": list(self.degraded),
            "reason": self.reason,
            "suggestion": self.suggestion,
            "next_cursor": self.next_cursor,
            "took_ms": self.took_ms,
        }


def hit_json(
    item: Ranked, views: Sequence[View], origin: str, *, several: bool, explanation: Mapping[str, Any] | None
) -> dict[str, Any]:
    """Return one hit: the chunk's public fields, its version, score and address.

    ``views`` are those that hold it, and the first gives its ref and commit; ``several`` where the search saw more than
    one version of its repository: then all are named.
    """
    body = {
        "score": item.score,
        **version_json(item.candidate.chunk, views[0] if views else None, origin),
        "is_stride": item.candidate.is_stride,
    }
    if item.blend is not None:
        body["rerank_score"] = item.blend.rerank_score
    if several:
        body["versions"] = [{"ref": one.ref.name, "commit": one.commit} for one in views]
    return body if explanation is None else {**body, "explain": explanation}


def version_json(chunk: Chunk, view: View | None, origin: str) -> dict[str, Any]:
    """Return a chunk's public fields, the version that it is shown at, and its address."""
    return {
        **chunk_json(chunk),
        "co_change_files": _allowed(chunk.co_change_files, view),
        "ref": view.ref.name if view else None,
        "branch": view.branch if view else None,
        "commit": view.commit if view else None,
        "url": _url(origin, view, chunk) if view else None,
    }


def _allowed(paths: Sequence[str], view: View | None) -> Sequence[str]:
    """Return those of the paths that a chunk names which the reader may see."""
    if view is None:
        return ()
    return [path for path in paths if not view.allowed or any(path_matches(one, path) for one in view.allowed)]


def _url(origin: str, view: View, chunk: Chunk) -> str | None:
    """Return a hit's address; what lies in a working tree is on no host yet."""
    if view.ref.kind == "workspace":
        return None
    return blob_url(origin, view.commit, chunk.path, chunk.start_line, chunk.end_line)


def chunk_json(chunk: Chunk) -> dict[str, Any]:
    """Return a chunk's public fields, as answers and `codequarry chunks` show them."""
    body = {name: getattr(chunk, name) for name in CHUNK_FIELDS}
    body["stride_info"] = asdict(chunk.stride_info) if chunk.stride_info else None
    return body


def explain(item: Ranked, recall: Recall) -> dict[str, Any]:
    """Return what a score is made of: each signal, its share, and the channels that recalled the hit."""
    channels = {
        "vector": recall.by_vector,
        "terms": recall.by_terms,
        "symbol": recall.by_symbol,
        "path": recall.by_path,
    }
    blend = {"reranking": asdict(item.blend)} if item.blend is not None else {}
    signals = {name: round(value, EXPLAIN_DIGITS) for name, value in asdict(item.signals).items()}
    return {
        "signals": signals,
        "kind_weight": item.kind_weight,
        "repeat_weight": item.repeat_weight,
        **blend,
        "channels": {name: ids.index(item.id) + 1 for name, ids in channels.items() if item.id in ids},
    }
