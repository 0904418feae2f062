"""The answers of `codequarry embed-check`: similarities and what tokens contribute to them, as JSON and as text."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from codequarry.cli.terminal.console import count, safe_line, write, write_table
from codequarry.cli.terminal.hits import headline, stale
from codequarry.shared.embedding.comparison import compare, explain, explains

if TYPE_CHECKING:
    from codequarry.cli.terminal.text_arguments import TextArgument
    from codequarry.search_api.answers.freshness import Freshness
    from codequarry.search_api.answers.hits import NearChunk
    from codequarry.search_api.search.neighbours import Neighbours
    from codequarry.search_api.versions.catalog import Catalog
    from codequarry.shared.embedding.explanation import Pair, Parts, TokenExplanation, TokenShare
    from codequarry.shared.embedding.port import Embedder
    from codequarry.shared.model import Candidate

JsonBody = dict[str, Any]

# Enough digits for rounded contributions to add up.
DIGITS = 6
# Rounding error of a similarity. If an explanation differs by more, the chunk was embedded from different text.
ROUNDING = 1e-3
# Kinds of pair contributions, which add up to the similarity: each has a title in a table and a word in a line.
PAIRS: Mapping[str, tuple[str, str]] = {
    "shared": ("tokens in both", "both"),
    "related": ("different tokens, related", "related"),
    "opposed": ("different tokens, opposed", "opposed"),
}
SHARES: Mapping[str, str] = {"query": "by token of the query", "document": "by token of the document"}


def comparison_json(embedder: "Embedder", query: "TextArgument", document: "TextArgument", most: int) -> JsonBody:
    """Compare two texts and return the result as JSON."""
    found = compare(embedder, query.text, document.text, most)
    return {
        "model": embedder.name,
        "explains": explains(embedder),
        "query": _given_json(query),
        "document": _given_json(document),
        "similarity": round(found.similarity, DIGITS),
        "windows": found.windows,
        "window": found.window,
        "query_cut": found.query_cut,
        "explanation": _explanation_json(found.explanation),
    }


@dataclass(frozen=True, slots=True)
class Nearest:
    """The chunks nearest to a text, each with its explanation if there is one."""

    results: Sequence[tuple["NearChunk", "TokenExplanation | None"]]
    freshness: Sequence["Freshness"]


def nearest(catalog: "Catalog", found: "Neighbours", embedder: "Embedder", query: "TextArgument", most: int) -> Nearest:
    """Return the nearest chunks with their explanations."""
    from codequarry.search_api.search.neighbours import near_chunks, neighbour_freshness

    explanations = [_explained(candidate, embedder, query.text, most) for candidate in found.candidates]
    shown = list(zip(near_chunks(catalog, found), explanations, strict=True))
    return Nearest(shown, neighbour_freshness(catalog, found))


def nearest_json(shown: Nearest, embedder: "Embedder", query: "TextArgument") -> JsonBody:
    """Return the chunks nearest to a text as JSON."""
    from codequarry.search_api.answers.json import to_json

    return {
        "model": embedder.name,
        "explains": explains(embedder),
        "query": _given_json(query),
        "query_cut": len(embedder.windows(query.text)) > 1,
        "results": [to_json(chunk) | {"explanation": _explanation_json(why)} for chunk, why in shown.results],
        "freshness": [to_json(entry) for entry in shown.freshness],
    }


def _explained(candidate: "Candidate", embedder: "Embedder", query: str, most: int) -> "TokenExplanation | None":
    """Return why a chunk is near, or None if its vector was made from a text that differs from today's."""
    if not explains(embedder):
        return None
    from codequarry.ingest.chunking.lexical import embedded_text

    chunk = candidate.chunk
    text = embedded_text(chunk)
    if chunk.stride_info:
        from codequarry.ingest.transaction.writer import stride_windows

        windows = stride_windows(text, embedder)
        text = windows[min(chunk.stride_info.stride_index, len(windows) - 1)].text
    found = explain(embedder, query, text, most)
    is_same = found and abs(found.similarity - (candidate.similarity or 0.0)) < ROUNDING
    return found if is_same else None


def _given_json(given: "TextArgument") -> JsonBody:
    return {"source": given.source, "path": given.path or None, "characters": len(given.text)}


def _explanation_json(found: "TokenExplanation | None") -> JsonBody | None:
    if found is None:
        return None
    parts = {name: _parts_json(getattr(found, name)) for name in PAIRS}
    return {**parts, **{f"by_{name}": _parts_json(getattr(found, name)) for name in SHARES}}


def _parts_json(parts: "Parts[Pair] | Parts[TokenShare]") -> JsonBody:
    return {
        "count": parts.count,
        "total": round(parts.total, DIGITS),
        "top": [{**asdict(part), "contribution": round(part.contribution, DIGITS)} for part in parts.top],
        "others": parts.others,
        "rest": round(parts.rest, DIGITS),
    }


def show_comparison(body: JsonBody) -> None:
    """Write a comparison as text."""
    write_table(
        [
            ("similarity", f"{body['similarity']:.4f}"),
            ("model", body["model"]),
            ("query", _described(body["query"])),
            ("document", _described(body["document"])),
        ]
    )
    explanation = body["explanation"]
    if explanation is None:
        return
    write()
    rows = [row for kind, (title, _) in PAIRS.items() for row in _rows(title, explanation[kind])]
    write_table([*rows, ("similarity", f"{body['similarity']:+.4f}", "")], right=(1,))
    for name, title in SHARES.items():
        write()
        write_table(_rows(title, explanation[f"by_{name}"]), right=(1,))


def show_nearest(shown: Nearest) -> None:
    """Write the nearest chunks as text."""
    several = len({chunk.repo for chunk, _ in shown.results}) > 1
    for index, (chunk, why) in enumerate(shown.results):
        if index and why:
            write()
        place, symbol, kind = headline(chunk)
        fields = [place, symbol, kind, f"{chunk.similarity:.3f}", safe_line(chunk.repo) if several else ""]
        write("  ".join(field for field in fields if field))
        for line in _lines(_explanation_json(why) or {}):
            write(f"    {line}")


def nearest_remarks(shown: Nearest, body: JsonBody) -> Iterator[str]:
    """Yield notes on the nearest chunks."""
    yield from remarks(body)
    if body["explains"]:
        yield from stale({chunk.repo for chunk, _ in shown.results}, shown.freshness)


def remarks(body: JsonBody) -> Iterator[str]:
    """Yield notes on the figures."""
    results = body.get("results")
    if results == []:
        yield "no chunk matches the filters"
    if body["query_cut"]:
        yield "note: the query is longer than the model's window; it is read in parts, whose vectors are averaged"
    if body.get("windows", 1) > 1:
        part = f"part {body['window'] + 1} of {body['windows']}"
        yield f"note: the document is longer than the model's window; the figures are for its nearest part, {part}"
    if not body["explains"]:
        yield f"note: model {body['model']} cannot tell what each token contributes"
        return
    if results is None:
        without = [name for name in SHARES if not body["explanation"][f"by_{name}"]["count"]]
        yield from (
            f"note: the model knows none of the {name}'s tokens; all such texts have equal vectors" for name in without
        )
        return
    if outdated := sum(not hit["explanation"] for hit in results):
        yield f"note: {count(outdated, 'chunk')} embedded from outdated text; codequarry index --full fixes that"


def _described(given: Mapping[str, Any]) -> str:
    name = f" {safe_line(given['path'])}" if given["path"] else ""
    return f"{given['source']}{name}, {count(given['characters'], 'character')}"


def _rows(title: str, parts: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    """Yield the rows for one kind of contribution: the total, the largest contributions, and the sum of the others."""
    yield title, f"{parts['total']:+.4f}", f"{parts['count']:,}"
    for part in parts["top"]:
        yield f"  {_name(part)}", f"{part['contribution']:+.4f}", _times(part)
    if parts["others"]:
        yield f"  {parts['others']:,} more", f"{parts['rest']:+.4f}", ""


def _lines(explanation: Mapping[str, Any]) -> Iterator[str]:
    for kind, word in {"by_query": "query", **{kind: word for kind, (_, word) in PAIRS.items()}}.items():
        if kind in explanation and (parts := explanation[kind])["count"]:
            named = [f"{_name(part)} {part['contribution']:+.3f}" for part in parts["top"]]
            named += [f"{parts['others']:,} more {parts['rest']:+.3f}"] * bool(parts["others"])
            yield f"{word} {parts['total']:+.3f}: {', '.join(named)}"


def _name(part: Mapping[str, Any]) -> str:
    if "token" in part:
        return safe_line(part["token"])
    both = dict.fromkeys((part["query"], part["document"]))
    return safe_line(" ~ ".join(both))


def _times(part: Mapping[str, Any]) -> str:
    """Return how often a token, or each token of a pair, occurs in its text, or "" if only once."""
    counts = [part["count"]] if "token" in part else [part["query_count"], part["document_count"]]
    return " × ".join(map(str, counts)) if max(counts) > 1 else ""
