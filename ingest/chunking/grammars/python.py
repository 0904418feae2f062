"""Python."""

import re
import textwrap
import unicodedata

from tree_sitter import Node

from codequarry.ingest.chunking.grammars import builtins
from codequarry.ingest.chunking.language_spec import ImportedModule, LanguageSpec, Role, Rule, top_level
from codequarry.ingest.symbols.languages.python import PYTHON_NAMES, aliased_name
from codequarry.ingest.symbols.nodes import node_text

_QUERY = """
(call function: [(identifier) @call (attribute attribute: (identifier) @call)])
(decorator [(identifier) @call (attribute attribute: (identifier) @call)])
(type (identifier) @ref)
(type (_ (identifier) @ref))
(type (attribute attribute: (identifier) @ref))
(type_parameter (type (identifier) @ref))
(class_definition superclasses: (argument_list [(identifier) @ref (attribute attribute: (identifier) @ref)
  (subscript value: (identifier) @ref) (keyword_argument value: (identifier) @ref)]))
(except_clause [(identifier) @ref (tuple (identifier) @ref) (as_pattern (identifier) @ref)])
(raise_statement (identifier) @ref)
(function_definition name: (identifier) @def)
(class_definition name: (identifier) @def)
(type_alias_statement left: (type (identifier) @def))
(module (assignment left: [(identifier) @def (pattern_list (identifier) @def) (tuple_pattern (identifier) @def)]))
(module (assignment right: (assignment left: (identifier) @def)))
(module [(if_statement (block (assignment left: (identifier) @def)))
  (if_statement (_ (block (assignment left: (identifier) @def))))
  (try_statement (block (assignment left: (identifier) @def)))
  (try_statement (_ (block (assignment left: (identifier) @def))))])
(class_definition body: (block (assignment left: [(identifier) @def (pattern_list (identifier) @def)])))
[(if_statement) (elif_clause) (for_statement) (while_statement) (except_clause) (case_clause) (boolean_operator)
 (conditional_expression) (for_in_clause) (if_clause)] @branch
[(import_statement) (import_from_statement)] @import
"""

_RULES = {
    "import_statement": Rule(Role.IMPORT, "import"),
    "import_from_statement": Rule(Role.IMPORT, "import"),
    "future_import_statement": Rule(Role.IMPORT, "import"),
    "function_definition": Rule(Role.CALLABLE, "function", "function"),
    "class_definition": Rule(Role.TYPE, "class", "class"),
    "type_alias_statement": Rule(Role.VALUE, "type", "class"),
}
_STRING_PREFIX = re.compile(r"^[rRuUbBfF]*")
_NO_ESCAPES = frozenset("rRbBfF")
_ESCAPE = re.compile(
    r"""\\(\r?\n|[\\'"abfnrtv]|[0-7]{1,3}|x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|[xuU]|N(?:\{[^}]*\})?)"""
)
_SIGNS = {
    **{"\n": "", "\r\n": "", "\\": "\\", "'": "'", '"': '"'},
    **dict(zip("abfnrtv", "\a\b\f\n\r\t\v", strict=True)),
}


def _assignment(node: Node, data: bytes) -> Rule:
    """Return the rule of an assignment; a name in capitals is a constant."""
    left = node.child_by_field_name("left")
    return Rule(Role.VALUE, "constant" if left is not None and node_text(left, data).isupper() else "variable")


def _string(node: Node, data: bytes) -> Rule | None:
    """Return the rule of a string; a module's doc string is part of the prologue."""
    return Rule(Role.IMPORT, "docstring") if node.parent is not None and node.parent.type == "module" else None


def imported(node: Node, data: bytes) -> list[ImportedModule]:
    """Read ``import a.b as c, d`` and ``from .x import y as z``."""
    base = node.child_by_field_name("module_name")
    if base is None:
        found = []
        for child in node.children_by_field_name("name"):
            module, name = aliased_name(child, data)
            found.append(ImportedModule(module, (name.split(".")[0],)))
        return found
    names = tuple(aliased_name(child, data)[1] for child in node.children_by_field_name("name"))
    return [ImportedModule(node_text(base, data), names)]


def _package(root: Node, data: bytes, path: str) -> str:
    """Return the dotted module name; a leading ``src`` or ``lib`` folder is not a package."""
    parts = path.rsplit(".", 1)[0].split("/")
    if parts[0] in {"src", "lib"} and len(parts) > 1:
        parts = parts[1:]
    return ".".join(parts[:-1] if parts[-1] == "__init__" and len(parts) > 1 else parts)


def docstring(body: Node, data: bytes) -> str:
    """Return the doc string at the start of a block, without quotes and indentation."""
    first = next((child for child in body.children if child.type != "comment"), None)
    if first is None or first.type != "string":
        return ""
    literal = node_text(first, data)
    raw = _STRING_PREFIX.sub("", literal)
    quote = raw[:3] if raw[:3] in {'"""', "'''"} else raw[:1]
    text = raw.removeprefix(quote).removesuffix(quote)
    if "\\" in text and _NO_ESCAPES.isdisjoint(literal[: len(literal) - len(raw)]):
        text = _unescaped(text)
    head, _, rest = text.partition("\n")
    return f"{head.strip()}\n{textwrap.dedent(rest)}".strip()


def _unescaped(text: str) -> str:
    """Resolve the escapes of a string literal; a literal with a broken escape stays as written."""
    # Not with ast.literal_eval: threads that build syntax trees at once can fail in Python 3.11 (cpython issue 106905).
    try:
        return _ESCAPE.sub(_sign, text)
    except (KeyError, ValueError, OverflowError):
        return text


def _sign(escape: re.Match[str]) -> str:
    code = escape[1]
    if code in _SIGNS:
        return _SIGNS[code]
    if code[0] == "N":
        return unicodedata.lookup(code[2:-1])
    return chr(int(code, 8) if code.isdigit() else int(code[1:], 16))


PYTHON = LanguageSpec(
    grammar="python",
    query=_QUERY,
    rules=_RULES,
    resolvers={"assignment": _assignment, "string": _string},
    wrappers={"decorated_definition": "definition"},
    blocks=frozenset({"block"}),
    imports=imported,
    builtins=builtins.PYTHON,
    dependency=top_level,
    exported=lambda name, signature, wrapped: not name.startswith("_"),
    package=_package,
    docstring=docstring,
    naming=PYTHON_NAMES,
)
