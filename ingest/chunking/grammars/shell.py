"""Bash and other Bourne shells."""

import re

from tree_sitter import Node

from codequarry.ingest.chunking.grammars import builtins
from codequarry.ingest.chunking.language_spec import ImportedModule, LanguageSpec, Role, Rule
from codequarry.ingest.chunking.readable_source import readable_shell
from codequarry.ingest.symbols.nodes import node_text

_QUERY = """
(command name: (command_name (word) @call))
(function_definition name: (word) @def)
(program (variable_assignment name: (variable_name) @def))
(program (declaration_command [(variable_assignment name: (variable_name) @def) (variable_name) @def]))
[(if_statement) (elif_clause) (for_statement) (c_style_for_statement) (while_statement) (case_item)] @branch
(list ["&&" "||"] @branch)
(command name: (command_name (word)) argument: (_)) @import
"""

_SOURCE = re.compile(r"""^(?:\.|source)\s+["']?([^\s"';]+)""")


def _command(node: Node, data: bytes) -> Rule | None:
    return Rule(Role.IMPORT, "source") if _SOURCE.match(node_text(node, data)) else None


def _imported(node: Node, data: bytes) -> list[ImportedModule]:
    """Read ``source file`` and ``. file`` among the commands."""
    found = _SOURCE.match(node_text(node, data))
    return [ImportedModule(found[1])] if found else []


BASH = LanguageSpec(
    grammar="bash",
    query=_QUERY,
    rules={
        "function_definition": Rule(Role.CALLABLE, "function", "function"),
        "variable_assignment": Rule(Role.VALUE, "variable"),
        "declaration_command": Rule(Role.VALUE, "variable"),
    },
    resolvers={"command": _command},
    blocks=frozenset({"compound_statement", "do_group"}),
    imports=_imported,
    prepare=readable_shell,
    builtins=builtins.SHELL,
    dependency=lambda module: None,
)
