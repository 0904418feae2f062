"""Names in Python."""

import builtins
import re

from tree_sitter import Node

from codequarry.ingest.symbols.naming_rules import DefinitionKind, ImportedName, NameChain, NamingRules, data_flow_query
from codequarry.ingest.symbols.nodes import node_text
from codequarry.shared.relations import UNKNOWN

_QUERY = """
[(lambda) (list_comprehension) (set_comprehension) (dictionary_comprehension) (generator_expression)] @scope
(parameters (identifier) @local)
(parameters (typed_parameter (identifier) @local))
(parameters (_ name: (identifier) @local))
(parameters [(list_splat_pattern (identifier) @local) (dictionary_splat_pattern (identifier) @local)])
(parameters (typed_parameter [(list_splat_pattern (identifier) @local) (dictionary_splat_pattern (identifier) @local)]))
(lambda_parameters (identifier) @local)
(lambda_parameters (_ name: (identifier) @local))
(assignment left: [(identifier) @local (pattern_list (identifier) @local) (tuple_pattern (identifier) @local)])
(named_expression name: (identifier) @local)
(for_statement left: [(identifier) @local (pattern_list (identifier) @local) (tuple_pattern (identifier) @local)])
(for_in_clause left: [(identifier) @local (pattern_list (identifier) @local) (tuple_pattern (identifier) @local)])
(as_pattern alias: (as_pattern_target (identifier) @local))
(assignment left: [(attribute object: (identifier) attribute: (identifier) @member)
  (pattern_list (attribute object: (identifier) attribute: (identifier) @member))
  (tuple_pattern (attribute object: (identifier) attribute: (identifier) @member))])
(module [
  (if_statement [(block (assignment left: (identifier) @property))
    (elif_clause (block (assignment left: (identifier) @property)))
    (else_clause (block (assignment left: (identifier) @property)))])
  (try_statement [(block (assignment left: (identifier) @property))
    (except_clause (block (assignment left: (identifier) @property)))
    (else_clause (block (assignment left: (identifier) @property)))])
  (with_statement (block (assignment left: (identifier) @property)))
])
(class_definition superclasses: (argument_list [(identifier) @inherits (attribute attribute: (identifier) @inherits)
  (subscript value: (identifier) @inherits) (subscript value: (attribute attribute: (identifier) @inherits))]))
(decorator [(identifier) @decorates (attribute attribute: (identifier) @decorates)
  (call function: [(identifier) @decorates (attribute attribute: (identifier) @decorates)])])
(attribute) @qualified
(attribute attribute: (identifier) @mention)
(attribute object: (identifier) @mention)
(argument_list [(identifier) @mention (keyword_argument value: (identifier) @mention)])
(assignment right: (identifier) @mention)
(augmented_assignment right: (identifier) @mention)
(named_expression value: (identifier) @mention)
[(return_statement (identifier) @mention) (yield (identifier) @mention) (await (identifier) @mention)
 (assert_statement (identifier) @mention) (delete_statement (identifier) @mention)
 (parenthesized_expression (identifier) @mention) (interpolation (identifier) @mention)
 (expression_list (identifier) @mention) (list (identifier) @mention) (tuple (identifier) @mention)
 (set (identifier) @mention) (pair (identifier) @mention)
 (list_splat (identifier) @mention) (dictionary_splat (identifier) @mention)
 (comparison_operator (identifier) @mention) (boolean_operator (identifier) @mention)
 (not_operator (identifier) @mention) (binary_operator (identifier) @mention)
 (unary_operator (identifier) @mention) (conditional_expression (identifier) @mention)
 (subscript (identifier) @mention) (slice (identifier) @mention) (if_clause (identifier) @mention)]
(if_statement condition: (identifier) @mention)
(elif_clause condition: (identifier) @mention)
(while_statement condition: (identifier) @mention)
(for_statement right: (identifier) @mention)
(for_in_clause right: (identifier) @mention)
(default_parameter value: (identifier) @mention)
(typed_default_parameter value: (identifier) @mention)
(lambda body: (identifier) @mention)
(list_comprehension body: (identifier) @mention)
(with_item value: [(identifier) @mention (as_pattern . (identifier) @mention)])
"""
_DATA_FLOW = data_flow_query(
    "(call function: [(identifier) @name (attribute attribute: (identifier) @name)])",
    returned=["(return_statement [CALL (await CALL)])"],
    arguments=["(argument_list [CALL (await CALL) (keyword_argument value: CALL)])"],
)

# Wrappers whose argument is the type that matters: an object that may be absent, or that is awaited.
_TRANSPARENT = {"Optional", "Annotated", "Final", "ClassVar", "Awaitable", "Coroutine", "Type", "type", "Required"}
_SELF = frozenset({"self", "cls"})
_DOTTED = re.compile(r"[A-Za-z_][\w.]*\Z")


def _names_of(node: Node | None, data: bytes) -> NameChain | None:
    if node is None:
        return None
    kind = node.type
    if kind == "identifier":
        return (node_text(node, data),)
    if kind == "attribute":
        value, name = node.child_by_field_name("object"), node.child_by_field_name("attribute")
        if value is None or name is None:
            return None
        return (*(_names_of(value, data) or (UNKNOWN,)), node_text(name, data))
    if kind == "call":
        function = node.child_by_field_name("function")
        return _names_of(function, data)
    if kind in {"await", "parenthesized_expression"}:
        inner = next(iter(node.named_children), None)
        return _names_of(inner, data)
    if kind == "type":
        return _type_names(node, data)
    return None


def _type_names(node: Node | None, data: bytes) -> NameChain | None:
    """Return the names of a type: of ``X`` in ``Optional[X]``, ``X | None`` and ``"X"``."""
    if node is None:
        return None
    kind = node.type
    if kind == "type":
        inner = next(iter(node.named_children), None)
        return _type_names(inner, data)
    if kind in {"identifier", "attribute"}:
        return _names_of(node, data)
    if kind == "string":
        text = node_text(node, data).strip("\"'").split("[", 1)[0].split("|", 1)[0].strip()
        return tuple(text.split(".")) if _DOTTED.match(text) else None
    if kind in {"generic_type", "subscript"}:
        return _generic_names(node, data)
    if kind in {"union_type", "binary_operator"}:
        found = (_type_names(child, data) for child in node.named_children)
        return next((names for names in found if names and names != ("None",)), None)
    return None


def _generic_names(node: Node, data: bytes) -> NameChain | None:
    first, *rest = node.named_children
    outer = _names_of(first, data)
    if outer is None or outer[-1] not in _TRANSPARENT or not rest:
        return outer
    inner = rest[0]
    if inner.type == "type_parameter":
        inner = next(iter(inner.named_children), inner)
    return _type_names(inner, data)


def _type_of(node: Node, data: bytes) -> NameChain | None:
    """Return the names of the annotation of a definition or local, or of its value."""
    parent = node.parent
    if node.type == "attribute" or (parent is not None and parent.type == "attribute"):
        holder = node if node.type == "attribute" else parent
        parent = holder.parent if holder is not None else None
    if parent is None:
        return None
    if parent.type == "function_definition":
        annotation = parent.child_by_field_name("return_type")
        return _type_names(annotation, data)
    if parent.type == "as_pattern_target":
        pattern = parent.parent
        value = next(iter(pattern.named_children), None) if pattern is not None else None
        return _names_of(value, data)
    annotation = parent.child_by_field_name("type")
    if annotation is not None:
        return _type_names(annotation, data)
    value = parent.child_by_field_name("right") or parent.child_by_field_name("value")
    if value is None or parent.type not in {"assignment", "named_expression"}:
        return None
    if value.type in {"boolean_operator", "conditional_expression"}:
        # `self.app = app or current_app()`, `x = Foo() if y else None`
        found = (_names_of(child, data) for child in value.named_children)
        return next((names for names in found if names), None)
    return _names_of(value, data)


def _is_own_attribute(name: Node, data: bytes) -> bool:
    """Return whether an assignment to an attribute is one to ``self``."""
    holder = name.parent.child_by_field_name("object") if name.parent is not None else None
    return holder is not None and node_text(holder, data) in _SELF


def _imports(node: Node, data: bytes) -> list[ImportedName]:
    base = node.child_by_field_name("module_name")
    if base is None:
        return [found for child in node.children_by_field_name("name") for found in _imported_modules(child, data)]
    module = node_text(base, data)
    if any(child.type == "wildcard_import" for child in node.children):
        return [ImportedName("*", module)]
    found = []
    for child in node.children_by_field_name("name"):
        member, name = aliased_name(child, data)
        found.append(ImportedName(name, module, member, child))
    return found


def _imported_modules(node: Node, data: bytes) -> list[ImportedName]:
    """Read ``import a.b``, which binds ``a`` and imports both, or ``import a.b as c``, which binds ``a.b``."""
    module, name = aliased_name(node, data)
    first = module.split(".", 1)[0]
    if name != module or first == module:
        return [ImportedName(name, module, place=node)]
    return [ImportedName(first, first, place=node), ImportedName("", module, place=node)]


def aliased_name(node: Node, data: bytes) -> tuple[str, str]:
    """Return an imported name and the name that it is bound to: both are the same without ``as``."""
    name, alias = node.child_by_field_name("name"), node.child_by_field_name("alias")
    if name is None or alias is None:
        return node_text(node, data), node_text(node, data)
    return node_text(name, data), node_text(alias, data)


def _module_of(module: str, path: str) -> str:
    """Return the full dotted name of a module; a leading dot is the folder of the importing file."""
    if not module.startswith("."):
        return module
    name = module.lstrip(".")
    folders = path.split("/")[:-1]
    kept = folders[: len(folders) - (len(module) - len(name) - 1)]
    return ".".join([*kept, *([name] if name else [])])


PYTHON_NAMES = NamingRules(
    query=_QUERY + _DATA_FLOW,
    definitions={
        "function_definition": DefinitionKind("function", "function", has_locals=True),
        "class_definition": DefinitionKind("class", "class", has_members=True),
        "assignment": DefinitionKind("variable", "block"),
        "type_alias_statement": DefinitionKind("type", "class"),
    },
    names_of=_names_of,
    type_of=_type_of,
    imports=_imports,
    module_of=_module_of,
    call_lists=frozenset({"argument_list"}),
    is_member=_is_own_attribute,
    self_names=_SELF,
    builtins=frozenset(dir(builtins)),
    super_names=frozenset({"super"}),
)
