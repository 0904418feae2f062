"""The languages whose declarations a query file in ``queries`` describes; docs/languages.md shows how to add one."""

import re
from collections.abc import Mapping

from codequarry.ingest.chunking.language_spec import ExportRule, LanguageSpec, unknown_export

_COMMENT = frozenset({"comment"})


def private_if(pattern: str) -> ExportRule:
    """Return a rule by which declarations are exported unless the start of their signature matches ``pattern``."""
    private = re.compile(pattern)
    return lambda name, signature, wrapped: not private.match(signature)


def tagged(
    grammar: str,
    query: str,
    *,
    comments: frozenset[str] = _COMMENT,
    leading: frozenset[str] = frozenset(),
    blocks: frozenset[str] = frozenset(),
    exported: ExportRule = unknown_export,
    joins: bool = False,
    names_package: bool = False,
) -> LanguageSpec:
    """Return the rules of a language that the file ``queries/QUERY.scm`` describes."""
    return LanguageSpec(
        grammar=grammar,
        query="",
        rules={},
        tags=query,
        comments=comments,
        leading=leading,
        blocks=blocks,
        exported=exported,
        joins=joins,
        names_package=names_package,
        dependency=lambda module: None,
    )


TAGGED: Mapping[str, LanguageSpec] = {
    "cmake": tagged("cmake", "cmake", comments=frozenset({"line_comment", "bracket_comment"})),
    "css": tagged("css", "css", comments=frozenset({"comment", "js_comment"})),
    "dockerfile": tagged("dockerfile", "dockerfile"),
    "elixir": tagged("elixir", "elixir", exported=private_if(r"defp\b|defmacrop\b|defguardp\b"), joins=True),
    "graphql": tagged("graphql", "graphql"),
    "hcl": tagged("hcl", "hcl"),
    "julia": tagged("julia", "julia", comments=frozenset({"line_comment", "block_comment"}), joins=True),
    "lua": tagged("lua", "lua", blocks=frozenset({"block"}), exported=private_if(r"local\b")),
    "makefile": tagged("make", "make"),
    "protocol buffer": tagged("proto", "proto", names_package=True),
    "r": tagged("r", "r"),
    "scss": tagged("scss", "scss", comments=frozenset({"comment", "js_comment"})),
}
