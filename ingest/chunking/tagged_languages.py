"""The languages whose declarations a query file in ``queries`` describes; docs/languages.md shows how to add one."""

import re
from collections.abc import Callable, Mapping
from types import MappingProxyType

from codequarry.ingest.chunking.language_spec import ExportRule, LanguageSpec, unchanged, unknown_export
from codequarry.ingest.chunking.readable_source import (
    readable_css,
    readable_make,
    readable_objc,
    readable_perl,
    readable_powershell,
    readable_scss,
    with_line_feeds,
    without_carriage_returns,
)

_NONE: Mapping[str, str] = MappingProxyType({})
_COMMENT = frozenset({"comment"})
_CSS_COMMENTS = frozenset({"comment", "js_comment"})


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
    prepare: Callable[[bytes], bytes] = unchanged,
    wrappers: Mapping[str, str] = _NONE,
    lists_exports: bool = False,
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
        prepare=prepare,
        wrappers=wrappers,
        # The outline compares a name with the exports only in languages that have such wrappers.
        export_wrappers=frozenset({"export"}) if lists_exports else frozenset(),
        dependency=lambda module: None,
    )


def _underscore_is_private(name: str, signature: str, wrapped: bool) -> bool | None:
    return not name.startswith("_")


_OBJECTIVE_C = re.compile(r"^[ \t]*(?:@(?:interface|protocol|class|property|end)\b|#import\s)", re.MULTILINE)


_NAMESPACE = re.compile(r"^[ \t]*(?:namespace \w+|template ?<)", re.MULTILINE)


def looks_like_objective_c(text: str) -> bool:
    """Return whether a header has declarations or imports of Objective-C."""
    # A header of C++ may have a part for Objective-C alone.
    is_cpp = "__OBJC__" in text and _NAMESPACE.search(text) is not None
    return not is_cpp and _OBJECTIVE_C.search(text) is not None


OCAML_INTERFACE = tagged("ocaml_interface", "ocaml_interface")

TAGGED: Mapping[str, LanguageSpec] = {
    "cmake": tagged("cmake", "cmake", comments=frozenset({"line_comment", "bracket_comment"})),
    "css": tagged("css", "css", comments=_CSS_COMMENTS, prepare=readable_css),
    "dart": tagged(
        "dart", "dart", comments=frozenset({"comment", "documentation_comment"}), exported=_underscore_is_private
    ),
    "dockerfile": tagged("dockerfile", "dockerfile", prepare=with_line_feeds),
    "elixir": tagged("elixir", "elixir", exported=private_if(r"defp\b|defmacrop\b|defguardp\b"), joins=True),
    "erlang": tagged("erlang", "erlang", joins=True, lists_exports=True),
    "graphql": tagged("graphql", "graphql"),
    "groovy": tagged(
        "groovy",
        "groovy",
        comments=frozenset({"line_comment", "block_comment"}),
        prepare=without_carriage_returns,
    ),
    "haskell": tagged("haskell", "haskell", comments=frozenset({"comment", "haddock"}), joins=True),
    "hcl": tagged("hcl", "hcl"),
    "julia": tagged("julia", "julia", comments=frozenset({"line_comment", "block_comment"}), joins=True),
    "lua": tagged("lua", "lua", blocks=frozenset({"block"}), exported=private_if(r"local\b")),
    "makefile": tagged("make", "make", prepare=readable_make),
    "ocaml": tagged("ocaml", "ocaml"),
    "objective-c": tagged("objc", "objc", prepare=readable_objc, wrappers={"implementation_definition": ""}),
    "objective-c++": tagged("objc", "objc", prepare=readable_objc, wrappers={"implementation_definition": ""}),
    "perl": tagged("perl", "perl", exported=_underscore_is_private, names_package=True, prepare=readable_perl),
    "powershell": tagged("powershell", "powershell", prepare=readable_powershell),
    "protocol buffer": tagged("proto", "proto", names_package=True),
    "r": tagged("r", "r"),
    "scss": tagged("scss", "scss", comments=_CSS_COMMENTS, prepare=readable_scss),
    "solidity": tagged("solidity", "solidity"),
    "zig": tagged(
        "zig",
        "zig",
        comments=frozenset({"line_comment", "doc_comment", "container_doc_comment"}),
        lists_exports=True,
    ),
}
