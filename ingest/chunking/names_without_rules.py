"""Definitions and references of a language for which there are no rules of naming: by their names alone."""

from bisect import bisect_right
from collections.abc import Iterator, Sequence

from codequarry.ingest.chunking.comments import MAX_SENTENCE, summary
from codequarry.ingest.chunking.declarations import Declaration
from codequarry.ingest.chunking.facts import Facts
from codequarry.ingest.chunking.language_spec import Role
from codequarry.ingest.chunking.text import SourceText
from codequarry.ingest.symbols.file_definitions import MAX_SIGNATURE
from codequarry.ingest.symbols.file_symbols import MAX_DEFINITIONS, MAX_REFERENCES, FileNames
from codequarry.ingest.symbols.scopes import Scope, ScopeTree
from codequarry.shared.relations import ANYWHERE, Definition, Reference, ReferenceKind, Target

_NamePath = tuple[str, ...]


def names_without_rules(facts: Facts, declarations: Sequence[Declaration], text: SourceText) -> FileNames:
    """Return what the outline declares, and what the query captures as called or used."""
    named = list(_named(declarations, (), in_type=False))
    scopes = ScopeTree(
        (Scope(scope.start_byte, scope.end_byte, found.path, of_members=False) for scope, found in named),
        len(text.data),
    )
    declared = {(found.name, found.line) for _, found in named}
    definitions = [(scope.start_byte, found) for scope, found in named]
    definitions += _values(facts, scopes, declared, text)
    definitions.sort(key=lambda found: found[0])
    references = list(_references(facts, scopes, declared, text))
    return FileNames(tuple(definitions[:MAX_DEFINITIONS]), tuple(references[:MAX_REFERENCES]))


def _named(
    declarations: Sequence[Declaration], outer: _NamePath, *, in_type: bool
) -> Iterator[tuple[Declaration, Definition]]:
    """Yield the declarations that have a name, each as a definition, the outer ones first."""
    for declaration in declarations:
        # `impl X for Foo` and the like name what they extend.
        own = declaration.name[-1:] if declaration.rule.reopens else declaration.name
        path = (*outer, *own)
        if own and declaration.role is not Role.IMPORT:
            yield declaration, _definition(declaration, path, is_method=in_type and declaration.rule.type == "function")
        inside = declaration.role is Role.TYPE if own else in_type
        yield from _named(declaration.members, path, in_type=inside)


def _definition(declaration: Declaration, path: _NamePath, *, is_method: bool) -> Definition:
    rule = declaration.rule
    return Definition(
        path=path,
        symbol_type="method" if is_method else rule.type,
        symbol_kind="method" if is_method and rule.kind == "function" else rule.kind or rule.type,
        line=declaration.head_row + 1,
        end_line=max(declaration.end_row, declaration.head_row) + 1,
        exported=declaration.exported,
        signature=declaration.signature[:MAX_SIGNATURE],
        doc=summary(declaration.doc, MAX_SENTENCE),
    )


def _values(
    facts: Facts, scopes: ScopeTree, declared: set[tuple[str, int]], text: SourceText
) -> Iterator[tuple[int, Definition]]:
    """Yield the other names that the query captures as defined: variables, fields, keys."""
    for at, name in zip(facts.definitions.starts, facts.definitions.names, strict=True):
        line = _line(text, at)
        if (name, line) not in declared:
            signature = " ".join(text.lines[line - 1].split())[:MAX_SIGNATURE]
            path = (*scopes.definition_around(at), name)
            yield at, Definition(path, "block", "variable", line, line, signature=signature)


def _references(
    facts: Facts, scopes: ScopeTree, declared: set[tuple[str, int]], text: SourceText
) -> Iterator[tuple[int, Reference]]:
    called = set(facts.calls.starts)
    for at, name in zip(facts.references.starts, facts.references.names, strict=True):
        line = _line(text, at)
        if (name, line) not in declared:
            kind: ReferenceKind = "call" if at in called else "type"
            yield at, Reference(kind, line, Target("name", ANYWHERE, (name,)), scopes.definition_around(at))


def _line(text: SourceText, at: int) -> int:
    return min(bisect_right(text.byte_starts, at), text.rows)
