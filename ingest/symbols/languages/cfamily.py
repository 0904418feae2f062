"""Names in C and C++."""

from dataclasses import replace

from tree_sitter import Node

from codequarry.ingest.symbols.imported_files import in_any_folder, joined_path
from codequarry.ingest.symbols.languages.cfamily_types import MAX_DECLARATORS, SPECIFIERS, expression_names, type_of
from codequarry.ingest.symbols.naming_rules import (
    DefinitionKind,
    ImportedName,
    NameChain,
    NamingRules,
    data_flow_query,
    words,
)
from codequarry.ingest.symbols.nodes import first_named, node_text

_QUERY = """
(field_expression) @qualified
(preproc_def name: (identifier) @property)
(translation_unit (declaration declarator: (function_declarator declarator: (parenthesized_declarator
  (pointer_declarator declarator: (identifier) @property)))))
(translation_unit (declaration declarator: (pointer_declarator declarator: (_ declarator: (identifier) @property))))
(translation_unit (declaration declarator: (array_declarator declarator: (_ declarator: (identifier) @property))))
(translation_unit (declaration declarator: (init_declarator declarator: (_ declarator: (_ declarator: (identifier)
  @property)))))
(linkage_specification (declaration_list (declaration declarator: [(identifier) @property
  (_ declarator: (identifier) @property)])))
(preproc_if (declaration declarator: [(identifier) @property (_ declarator: (identifier) @property)
  (_ declarator: (_ declarator: (identifier) @property))]))
(preproc_ifdef (declaration declarator: [(identifier) @property (_ declarator: (identifier) @property)
  (_ declarator: (_ declarator: (identifier) @property))]))
(preproc_else (declaration declarator: [(identifier) @property (_ declarator: (identifier) @property)
  (_ declarator: (_ declarator: (identifier) @property))]))
(field_declaration declarator: (_ declarator: (_ declarator: (field_identifier) @property)))
(field_declaration declarator: (function_declarator declarator: (parenthesized_declarator
  (pointer_declarator declarator: (field_identifier) @property))))
(type_definition declarator: (_ declarator: (_ declarator: (type_identifier) @property)))
(parameter_declaration declarator: [(identifier) @local (_ declarator: (identifier) @local)
  (_ declarator: (_ declarator: (identifier) @local))])
(compound_statement (declaration declarator: [(identifier) @local (_ declarator: (identifier) @local)
  (_ declarator: (_ declarator: (identifier) @local))]))
(for_statement initializer: (declaration declarator: (_ declarator: [(identifier) @local
  (_ declarator: (identifier) @local)])))
(case_statement (declaration declarator: [(identifier) @local (_ declarator: (identifier) @local)]))
(field_expression field: (field_identifier) @mention)
(field_expression argument: (identifier) @mention)
(argument_list (identifier) @mention)
(initializer_list (identifier) @mention)
(initializer_pair value: (identifier) @mention)
(assignment_expression (identifier) @mention)
(init_declarator value: (identifier) @mention)
(return_statement (identifier) @mention)
(binary_expression (identifier) @mention)
(pointer_expression (identifier) @mention)
(subscript_expression argument: (identifier) @mention)
(conditional_expression (identifier) @mention)
(case_statement value: (identifier) @mention)
"""
_DATA_FLOW = data_flow_query(
    "(call_expression function: [(identifier) @name (field_expression field: (field_identifier) @name)])",
    returned=["(return_statement CALL)"],
    arguments=["(argument_list CALL)"],
)
_CPP_DATA_FLOW = data_flow_query(
    """(call_expression function: [(qualified_identifier name: (identifier) @name)
      (template_function name: (identifier) @name)])""",
    "(new_expression type: (type_identifier) @name)",
    returned=["(return_statement CALL)"],
    arguments=["(argument_list CALL)"],
)
_CPP_QUERY = """
(qualified_identifier) @qualified
(function_declarator declarator: (qualified_identifier name: (qualified_identifier
  name: [(destructor_name) (operator_name)] @property)))
(function_declarator declarator: (qualified_identifier name: (qualified_identifier
  name: (qualified_identifier name: [(identifier) (destructor_name) (operator_name)] @property))))
(lambda_expression) @scope
(namespace_definition name: (namespace_identifier) @property)
(namespace_definition name: (nested_namespace_specifier (namespace_identifier) @property .))
(declaration_list (declaration declarator: [(identifier) @property (_ declarator: (identifier) @property)
  (_ declarator: (_ declarator: (identifier) @property))]))
(declaration declarator: (_ declarator: (qualified_identifier name: (identifier) @property)))
(declaration declarator: (_ declarator: (_ declarator: (qualified_identifier name: (identifier) @property))))
[(class_specifier name: (template_type name: (type_identifier) @property) body: (_))
  (struct_specifier name: (template_type name: (type_identifier) @property) body: (_))]
(field_declaration declarator: (_ (field_identifier) @property))
(reference_declarator (function_declarator declarator: (field_identifier) @property))
(optional_parameter_declaration declarator: [(identifier) @local (_ declarator: (identifier) @local)])
(parameter_declaration declarator: (reference_declarator (identifier) @local))
(optional_parameter_declaration declarator: (reference_declarator (identifier) @local))
(compound_statement (declaration declarator: (init_declarator declarator: (reference_declarator (identifier) @local))))
(for_range_loop declarator: [(identifier) @local (_ (identifier) @local)])
(condition_clause value: (declaration declarator: [(identifier) @local (_ declarator: (identifier) @local)]))
(base_class_clause [(type_identifier) @inherits (template_type name: (type_identifier) @inherits)
  (qualified_identifier name: (type_identifier) @inherits)
  (qualified_identifier name: (template_type name: (type_identifier) @inherits))])
(qualified_identifier name: (identifier) @mention)
"""
_FUNCTIONS = frozenset({"function_definition", "declaration", "field_declaration"})
# Folders that compilers are told to look in.
_INCLUDED = ("include", "includes", "inc")


def _declared_function(node: Node) -> Node | None:
    """Return the function declarator of a declaration, unless it declares a pointer to functions."""
    found = node.child_by_field_name("declarator")
    for _ in range(MAX_DECLARATORS):
        if found is None:
            return None
        if found.type == "function_declarator":
            inner = found.child_by_field_name("declarator")
            return found if inner is not None and inner.type != "parenthesized_declarator" else None
        found = found.child_by_field_name("declarator") or (
            first_named(found) if found.type == "reference_declarator" else None
        )
    return None


def _kind_of(node: Node, kind: DefinitionKind, data: bytes) -> DefinitionKind | None:
    if node.type == "parameter_declaration":
        return None
    if node.type in {"declaration", "field_declaration"} and _declared_function(node) is not None:
        local = node.type == "declaration" and node.parent is not None and node.parent.type == "compound_statement"
        return None if local else _PROTOTYPE
    if node.type == "enum_specifier":
        scoped = any(child.type in {"class", "struct"} for child in node.children[:2])
        return replace(kind, has_members=scoped)
    if node.type == "type_definition":
        type_ = node.child_by_field_name("type")
        named = type_ is not None and type_.child_by_field_name("name") is not None
        if type_ is not None and type_.type in SPECIFIERS and not named and type_.type != "enum_specifier":
            return replace(kind, has_members=True)
    return kind


def _owner_of(node: Node, data: bytes) -> NameChain:
    """Return the names before that of a function: ``Shop`` in ``void Shop::open() {}``."""
    if node.type == "namespace_definition":
        name = node.child_by_field_name("name")
        return tuple(node_text(child, data) for child in name.named_children[:-1]) if name is not None else ()
    name = node.child_by_field_name("declarator") if node.type in _FUNCTIONS else None
    for _ in range(MAX_DECLARATORS):
        if name is None or name.type == "qualified_identifier":
            break
        name = name.child_by_field_name("declarator") or (
            first_named(name) if name.type == "reference_declarator" else None
        )
    if name is None or name.type != "qualified_identifier":
        return ()
    owner: NameChain = ()
    for _ in range(MAX_DECLARATORS):
        scope, inner = name.child_by_field_name("scope"), name.child_by_field_name("name")
        owner += (expression_names(scope, data) or ())[-1:] if scope is not None else ()
        if inner is None or inner.type != "qualified_identifier":
            break
        name = inner
    return owner


def _imports(node: Node, data: bytes) -> list[ImportedName]:
    path = node.child_by_field_name("path")
    return [ImportedName("*", node_text(path, data).strip('<>"'))] if path is not None else []


def _files_of(node: Node, data: bytes, path: str) -> list[str]:
    """Return where an included file may be: beside the including file if it is quoted, or in a folder for includes."""
    named = node.child_by_field_name("path")
    text = node_text(named, data) if named is not None else ""
    if text.startswith('"'):
        written = text.strip('"')
        return [joined_path(path.rpartition("/")[0], written), in_any_folder(written)]
    written = text.strip("<>")
    if not text.startswith("<"):
        return []
    if "/" in written:
        return [in_any_folder(written)]
    # Most are headers of the system, and a file of the same name in another folder is not meant.
    return [written, f"src/{written}", *(in_any_folder(f"{folder}/{written}") for folder in _INCLUDED)]


def _module_of(module: str, path: str) -> str:
    """Return the path of an included file without steps up, because the folders to look in are not known."""
    parts = [part for part in module.split("/") if part not in {"", ".", ".."}]
    return "/".join(parts)


_FUNCTION = DefinitionKind("function", "function", has_locals=True)
_PROTOTYPE = DefinitionKind("prototype", "function")
_DEFINITIONS = {
    "function_definition": _FUNCTION,
    "declaration": DefinitionKind("variable", "block"),
    "field_declaration": DefinitionKind("field", "block"),
    "parameter_declaration": DefinitionKind("parameter", "block"),
    "struct_specifier": DefinitionKind("struct", "class", has_members=True),
    "union_specifier": DefinitionKind("union", "class", has_members=True),
    "class_specifier": DefinitionKind("class", "class", has_members=True),
    "enum_specifier": DefinitionKind("enum", "enum"),
    "enumerator": DefinitionKind("enumerator", "block"),
    "type_definition": DefinitionKind("typedef", "class"),
    "alias_declaration": DefinitionKind("using", "class"),
    "concept_definition": DefinitionKind("concept", "block"),
    "namespace_definition": DefinitionKind("namespace", "block", has_locals=True),
    "preproc_def": DefinitionKind("macro", "block"),
    "preproc_function_def": DefinitionKind("macro", "function"),
}
_BUILTINS = words(
    "NULL nullptr true false TRUE FALSE size_t ssize_t ptrdiff_t int8_t int16_t int32_t int64_t uint8_t",
    "uint16_t uint32_t uint64_t uintptr_t intptr_t bool FILE va_list va_start va_end va_arg offsetof sizeof",
    "printf fprintf snprintf sprintf memcpy memset memmove memcmp strlen strcmp strncmp strcpy strncpy",
    "strcat strchr strstr malloc calloc realloc free exit abort assert errno stdout stderr stdin wchar_t",
    "static_cast dynamic_cast reinterpret_cast const_cast",
)

C_NAMES = NamingRules(
    query=_QUERY + _DATA_FLOW,
    definitions=_DEFINITIONS,
    kind_of=_kind_of,
    names_of=expression_names,
    type_of=type_of,
    owner_of=_owner_of,
    imports=_imports,
    files_of=_files_of,
    module_of=_module_of,
    call_lists=frozenset({"argument_list"}),
    qualifies_members=True,
    sees_included=True,
    builtins=_BUILTINS,
)
CPP_NAMES = replace(
    C_NAMES,
    query=C_NAMES.query + _CPP_QUERY + _CPP_DATA_FLOW,
    lambdas=frozenset({"lambda_expression"}),
    qualifies_members=False,
    sees_members=True,
    self_names=frozenset({"this"}),
)
