"""Converts ranked candidates into the hits of an answer."""

import re
from dataclasses import asdict, fields, replace
from typing import Any
from urllib.parse import quote, urlsplit

from codequarry.search_api.answers.hits import CodeChunk, Explanation, Hit, NearChunk, VersionedChunk
from codequarry.search_api.answers.json import adapter
from codequarry.search_api.ranking.scoring import Ranked
from codequarry.search_api.search.placement import HitPlacement
from codequarry.search_api.versions.views import View
from codequarry.shared.filters import path_matches
from codequarry.shared.model import COMMIT_DOCUMENTS, Candidate, Chunk, FileHistory
from codequarry.shared.store.records import Recall
from codequarry.shared.versions.commit_log import changed_path

_OF_HISTORY = ("file_history_length", "file_history_is_partial", "co_change_files", "owners")
CHUNK_FIELDS: tuple[str, ...] = tuple(field.name for field in fields(CodeChunk) if field.name not in _OF_HISTORY)
NO_HISTORY = FileHistory(0)
# Explanations show enough digits to add up.
EXPLAIN_DIGITS = 4


def make_hit(
    item: Ranked,
    placement: HitPlacement,
    origin: str,
    explanation: Explanation | None,
    code_owners: tuple[str, ...] = (),
) -> Hit:
    """Return a hit: its public fields in the first version that has its text, its score, URL and other versions."""
    return adapter(Hit).validate_python(
        {
            "score": item.score,
            **_versioned_fields(placement.chunk, placement.view, origin),
            "is_stride": item.candidate.is_stride,
            "code_owners": code_owners,
            "rerank_score": item.blend.rerank_score if item.blend else None,
            "versions": placement.versions,
            "variants": placement.variants,
            "explain": explanation,
        }
    )


def versioned_chunk(chunk: Chunk, view: View | None, origin: str) -> VersionedChunk:
    """Return a chunk's public fields, the version of ``view``, and its URL."""
    return adapter(VersionedChunk).validate_python(_versioned_fields(chunk, view, origin))


def near_chunk(candidate: Candidate, view: View | None, origin: str) -> NearChunk:
    """Return a candidate with its similarity as the only score."""
    fields = _versioned_fields(candidate.chunk, view, origin)
    return adapter(NearChunk).validate_python(
        {"similarity": candidate.similarity, **fields, "is_stride": candidate.is_stride}
    )


def code_chunk(chunk: Chunk) -> CodeChunk:
    """Return a chunk's public fields, as shown by `codequarry chunks`."""
    return adapter(CodeChunk).validate_python(_fields(chunk))


def _versioned_fields(chunk: Chunk, view: View | None, origin: str) -> dict[str, Any]:
    if chunk.symbol_type in COMMIT_DOCUMENTS:
        return _commit_fields(chunk, view, origin)
    return {
        **_fields(_visible(chunk, view)),
        "introduced_commit": chunk.last_modified_commit,
        "ref": view.ref.name if view else None,
        "branch": view.branch if view else None,
        "commit": view.commit if view else None,
        "url": chunk_url(origin, view, chunk) if view else None,
    }


def _commit_fields(chunk: Chunk, view: View | None, origin: str) -> dict[str, Any]:
    """Return the fields of a document of a commit: its commit is that commit, and its path the changed file."""
    shown = replace(chunk, path=changed_path(chunk.path))
    if view is None or view.allowed:
        # A message tells about all files of its commit, of which this caller sees only some.
        shown = replace(shown, commit_message=None)
    return {
        **_fields(shown),
        "introduced_commit": None,
        "ref": view.ref.name if view else None,
        "branch": view.branch if view else None,
        "commit": chunk.blob,
        "url": commit_url(origin, chunk.blob),
    }


def _visible(chunk: Chunk, view: View | None) -> Chunk:
    """Return a chunk whose history says nothing about files that the caller may not see."""
    if view is not None and not view.allowed:
        return chunk
    history = chunk.file_history
    if history is not None and history.changes_with:
        allowed = view.allowed if view else ()
        seen = tuple(
            other for other in history.changes_with if any(path_matches(globs, other.path) for globs in allowed)
        )
        history = replace(history, changes_with=seen)
    # A message tells about all files of its commit, of which this caller sees only some.
    return replace(chunk, commit_message=None, file_history=history)


def _fields(chunk: Chunk) -> dict[str, Any]:
    history = chunk.file_history or NO_HISTORY
    return {
        **{name: getattr(chunk, name) for name in CHUNK_FIELDS},
        "file_history_length": history.commits or None,
        "file_history_is_partial": history.is_partial,
        "co_change_files": history.changes_with,
        "owners": history.owners,
    }


def chunk_url(origin: str, view: View, chunk: Chunk) -> str | None:
    """Return a chunk's URL, or None for a working tree, whose code is not on a host yet."""
    return lines_url(origin, view, chunk.path, chunk.start_line, chunk.end_line)


def lines_url(origin: str, view: View, path: str, start_line: int, end_line: int) -> str | None:
    """Return the URL of lines of a file, or None for a working tree, whose code is not on a host yet."""
    if view.ref.kind == "workspace":
        return None
    return blob_url(origin, view.commit, path, start_line, end_line)


def explain(item: Ranked, recall: Recall) -> Explanation:
    """Return the parts of a score: signals, weights, and the hit's rank in each channel that recalled it."""
    channels = {
        "vector": recall.by_vector,
        "terms": recall.by_terms,
        "symbol": recall.by_symbol,
        "path": recall.by_path,
    }
    return Explanation(
        signals={name: round(value, EXPLAIN_DIGITS) for name, value in asdict(item.signals).items()},
        kind_weight=item.kind_weight,
        repeat_weight=item.repeat_weight,
        channels={name: ids.index(item.id) + 1 for name, ids in channels.items() if item.id in ids},
        reranking=item.blend,
    )


# user@host:path, the SSH form that is not a URL.
_SCP = re.compile(r"(?:[^@/:]+@)?(?P<host>[\w.-]+\.[\w-]+):(?!//)(?P<path>[^\\]+)")
_WEB_SCHEMES = ("http", "https", "ssh", "git", "git+ssh")
# Hosts that run Gitea or Forgejo but are not named after it.
_GITEA_HOSTS = frozenset({"codeberg.org"})


def commit_url(origin: str, commit: str) -> str | None:
    """Return the URL of a commit, or None if the origin is not a known kind of code host."""
    place = _web_place(origin)
    if place is None:
        return None
    host, base = place
    if "gitlab" in host:
        return f"{base}/-/commit/{commit}"
    if "bitbucket" in host:
        return f"{base}/commits/{commit}"
    if host in _GITEA_HOSTS or any(name in host for name in ("gitea", "forgejo", "github")):
        return f"{base}/commit/{commit}"
    return None


def blob_url(origin: str, commit: str, path: str, start_line: int, end_line: int) -> str | None:
    """Return the URL of a file's lines at a commit, or None if the origin is not a known kind of code host."""
    place = _web_place(origin)
    if place is None or not commit:
        return None
    host, base = place
    file = quote(path, safe="/@+:,~!$&'()*=;-._")
    if "gitlab" in host:
        return f"{base}/-/blob/{commit}/{file}#L{start_line}-{end_line}"
    if "bitbucket" in host:
        return f"{base}/src/{commit}/{file}#lines-{start_line}:{end_line}"
    if host in _GITEA_HOSTS or "gitea" in host or "forgejo" in host:
        return f"{base}/src/commit/{commit}/{file}#L{start_line}-L{end_line}"
    if "github" in host:
        return f"{base}/blob/{commit}/{file}#L{start_line}-L{end_line}"
    return None


def _web_place(origin: str) -> tuple[str, str] | None:
    if "://" in origin:
        return _url_place(origin)
    scp = _SCP.fullmatch(origin)
    return _joined("https", scp["host"], None, scp["path"]) if scp else None


def _url_place(origin: str) -> tuple[str, str] | None:
    try:
        parts = urlsplit(origin)
        host, port = parts.hostname, parts.port
    except ValueError:
        return None
    if parts.scheme not in _WEB_SCHEMES or not host:
        return None
    # Another protocol's port does not serve web pages.
    is_web = parts.scheme in ("http", "https")
    return _joined(parts.scheme if is_web else "https", host, port if is_web else None, parts.path)


def _joined(scheme: str, host: str, port: int | None, path: str) -> tuple[str, str] | None:
    name = path.strip("/").removesuffix(".git").strip("/")
    if not name:
        return None
    return host.lower(), f"{scheme}://{host.lower()}{f':{port}' if port else ''}/{quote(name, safe='/@+~-._')}"
