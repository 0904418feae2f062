"""Helpers for Java, Kotlin and Scala: packages, dotted imports and visibility."""

import re

from tree_sitter import Node

from codequarry.ingest.chunking.language_spec import ImportedModule, top_level
from codequarry.ingest.symbols.nodes import node_text

_IMPORT = re.compile(r"^\s*import\s+(?:static\s+)?([\w.`$]+?)(?:\.\*|\._)?(?:\s+as\s+(\w+))?\s*;?\s*$")
_KEYWORD = re.compile(r"\b(?:class|interface|object|fun|val|var|typealias|constructor|def|trait|type|enum|given)\b")
_PACKAGE = re.compile(r"^\s*package\s+([\w.`]+)")


def dotted_import(node: Node, data: bytes) -> list[ImportedModule]:
    """Read ``import a.b.C``, ``import static a.B.c``, ``import a.b.*`` and ``import a.b.C as D``."""
    # Kotlin's grammar includes a comment after the last import.
    line = node_text(node, data).split("\n", 1)[0]
    found = _IMPORT.match(line.partition("//")[0])
    if found is None:
        return []
    module, alias = found[1], found[2]
    if ".*" in line or "._" in line:
        return [ImportedModule(f"{module}.*")]
    return [ImportedModule(module, (alias or module.rsplit(".", 1)[-1],))]


def dependency(module: str) -> str | None:
    """Return the organisation in a dotted name: ``com.acme`` for ``com.acme.billing.Invoice``."""
    parts = module.removesuffix(".*").split(".")
    organisations = {"com", "org", "net", "io", "de", "dev", "edu", "gov", "me", "co", "uk", "ch", "fr", "nl", "cn"}
    return ".".join(parts[:2]) if parts[0] in organisations and len(parts) > 1 else top_level(module)


def package_clause(root: Node, data: bytes, path: str) -> str | None:
    """Return the package; Scala may name it in several clauses."""
    names = []
    for child in root.children:
        if child.type in {"package_declaration", "package_header", "package_clause"}:
            found = _PACKAGE.match(node_text(child, data))
            names += [found[1].replace("`", "")] if found else []
    return ".".join(names) or None


def is_public(name: str, signature: str, wrapped: bool) -> bool | None:
    """Return whether a declaration is public, the default in Kotlin and Scala."""
    modifiers = _KEYWORD.split(signature, maxsplit=1)[0]
    return not {"private", "internal", "protected"} & set(re.split(r"[\s\[]", modifiers))
