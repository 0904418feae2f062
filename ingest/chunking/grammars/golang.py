"""Go."""

from tree_sitter import Node

from codequarry.ingest.chunking.grammars import builtins
from codequarry.ingest.chunking.language_spec import ImportedModule, LanguageSpec, NamePath, Role, Rule, child_of
from codequarry.ingest.symbols.languages.golang import GO_NAMES
from codequarry.ingest.symbols.nodes import node_text

_QUERY = """
(call_expression function: [(identifier) @call (selector_expression field: (field_identifier) @call)
  (parenthesized_expression (identifier) @call)])
(call_expression function: (index_expression operand: [(identifier) @call
  (selector_expression field: (field_identifier) @call)]))
(type_identifier) @ref
(function_declaration name: (identifier) @def)
(method_declaration name: (field_identifier) @def)
(type_spec name: (type_identifier) @def)
(type_alias name: (type_identifier) @def)
(source_file (const_declaration (const_spec name: (identifier) @def)))
(source_file (var_declaration (var_spec name: (identifier) @def)))
(source_file (var_declaration (var_spec_list (var_spec name: (identifier) @def))))
(field_declaration name: (field_identifier) @def)
(method_elem name: (field_identifier) @def)
[(if_statement) (for_statement) (expression_case) (type_case) (communication_case)] @branch
(binary_expression operator: ["&&" "||"] @branch)
(import_spec) @import
"""


def _method_name(node: Node, data: bytes) -> NamePath:
    name = node.child_by_field_name("name")
    receiver = node.child_by_field_name("receiver")
    owner = _first_type(receiver) if receiver is not None else None
    path = (node_text(owner, data),) if owner is not None else ()
    return (*path, node_text(name, data)) if name is not None else ()


def _first_type(node: Node) -> Node | None:
    """Return the first type identifier below a receiver, which is at most five levels deep."""
    level = [node]
    for _ in range(5):
        level = [child for parent in level for child in parent.named_children]
        found = next((child for child in level if child.type == "type_identifier"), None)
        if found is not None:
            return found
    return None


_STRUCT = Rule(Role.TYPE, "struct", "class", body=lambda node: None)
_INTERFACE = Rule(Role.TYPE, "interface", "interface", body=lambda node: None)
_ALIAS = Rule(Role.VALUE, "type", "class")


def _type(node: Node, data: bytes) -> "tuple[Node, Rule] | Rule":
    """Return the rule of a single type; a group of types is opened like a scope."""
    specs = [child for child in node.named_children if child.type in {"type_spec", "type_alias"}]
    if len(specs) != 1:
        return Rule(Role.TRANSPARENT, body=lambda declaration: declaration)
    return specs[0], _spec(specs[0], data)


def _spec(node: Node, data: bytes) -> Rule:
    declared = node.child_by_field_name("type")
    if declared is not None and declared.type == "struct_type":
        return _STRUCT
    if declared is not None and declared.type == "interface_type":
        return _INTERFACE
    return _ALIAS


def _imported(node: Node, data: bytes) -> list[ImportedModule]:
    """Read an import line; without an alias, the last part of the path names the package."""
    path, alias = node.child_by_field_name("path"), node.child_by_field_name("name")
    if path is None:
        return []
    module = node_text(path, data).strip('"`')
    if alias is not None:
        name = node_text(alias, data)
        return [ImportedModule(module, () if name in {".", "_"} else (name,))]
    parts = module.split("/")
    last = parts[-2] if len(parts) > 1 and parts[-1][:1] == "v" and parts[-1][1:].isdigit() else parts[-1]
    return [ImportedModule(module, (last.split(".")[0].removeprefix("go-"),))]


def _dependency(module: str) -> str | None:
    """Return the module's root: host, owner and name for a path with a host, else the first part."""
    parts = module.split("/")
    if parts[0].startswith("."):
        return None
    return "/".join(parts[:3]) if "." in parts[0] else parts[0]


def _package(root: Node, data: bytes, path: str) -> str | None:
    clause = child_of(root, "package_clause")
    name = child_of(clause, "package_identifier") if clause is not None else None
    return node_text(name, data) if name is not None else None


GO = LanguageSpec(
    grammar="go",
    query=_QUERY,
    rules={
        "package_clause": Rule(Role.IMPORT, "package"),
        "import_declaration": Rule(Role.IMPORT, "import"),
        "function_declaration": Rule(Role.CALLABLE, "function", "function"),
        "method_declaration": Rule(Role.CALLABLE, "method", "method", name=_method_name),
        "const_declaration": Rule(Role.VALUE, "const"),
        "var_declaration": Rule(Role.VALUE, "var"),
    },
    resolvers={"type_declaration": _type, "type_spec": _spec, "type_alias": _spec},
    blocks=frozenset({"block", "statement_list"}),
    imports=_imported,
    builtins=builtins.GO,
    dependency=_dependency,
    exported=lambda name, signature, wrapped: name[:1].isupper(),
    package=_package,
    names_package=True,
    naming=GO_NAMES,
)
