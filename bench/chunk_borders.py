"""Says where chunks of code may begin, by the syntax tree of the file; chunks_of_repositories.py explains the rule."""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest

from tree_sitter import Node

from codequarry.ingest.chunking.declarations import Declaration
from codequarry.ingest.chunking.grammar import load_grammar, spec_for
from codequarry.ingest.chunking.language_spec import Role
from codequarry.ingest.chunking.outline import Outliner
from codequarry.ingest.chunking.pieces import Sizes
from codequarry.ingest.chunking.text import SourceText

# What may follow a statement or an entry in its last row.
CLOSERS = b" \t\r\n\f;,.:{})]"
OPERATORS = {"and", "or", "in", "is", "not", "else", "then"}
COMMENTS = (b"#", b"//", b"/*", b"--", b"%", b"!", b"(*")


@dataclass(frozen=True, slots=True)
class Outline:
    """Where something whole begins, and the row ranges of functions that fit into a chunk and texts that do not."""

    starts: frozenset[int]
    functions: tuple[tuple[int, int], ...]
    texts: tuple[tuple[int, int], ...]

    def is_good(self, row: int) -> bool:
        """Return whether a chunk may begin at a row."""
        return row in self.starts and not any(start < row <= end for start, end in self.functions)

    def is_in_text(self, row: int) -> bool:
        """Return whether a row is in a literal or comment that no chunk can hold."""
        return any(start < row <= end for start, end in self.texts)


def outline_of(language: str, path: str, text: SourceText, sizes: Sizes) -> Outline | None:
    """Parse a file and return its outline, or None if no grammar reads it."""
    spec = spec_for(language, path, text.text)
    grammar = load_grammar(spec) if spec is not None else None
    tree = grammar.parse(text.data) if grammar is not None else None
    if spec is None or grammar is None or tree is None:
        return None
    text = replace(text, data=spec.prepare(text.data))
    nodes = list(_nodes_of_several_rows(tree.root_node))
    spec, _ = grammar.read(tree.root_node, text.data)
    functions = _functions(Outliner(spec, text, sizes.target).declarations(tree.root_node), text)
    texts = (_rows(node, text) for node in nodes if not node.child_count or "string" in node.type)
    return Outline(
        starts=frozenset(row for node in nodes for row in _starts(node, text)),
        functions=tuple(rows for rows in functions if text.tokens(rows[0], rows[1] + 1) <= sizes.maximum),
        texts=tuple(rows for rows in texts if text.tokens(rows[0], rows[1] + 1) > sizes.maximum),
    )


def _functions(declarations: Sequence[Declaration], text: SourceText) -> Iterator[tuple[int, int]]:
    for declaration in declarations:
        if declaration.role is Role.CALLABLE:
            yield declaration.row, _last_row(declaration.start_byte, declaration.end_byte, text)
        yield from _functions(declaration.members, text)


def _nodes_of_several_rows(root: Node) -> Iterator[Node]:
    waiting = [root]
    while waiting:
        node = waiting.pop()
        if node.end_point[0] > node.start_point[0]:
            yield node
            waiting += node.children


def _starts(parent: Node, text: SourceText) -> Iterator[int]:
    """Yield the rows that begin with a child that ends at the end of a row, and the blank rows above them."""
    children = [child for child in parent.children if child.is_named]
    for node, after in zip_longest(children, children[1:]):
        row = node.start_point[0]
        # Some grammars have the head and the body of a declaration as siblings.
        if row < text.rows and _begins_row(node, text) and any(_ends_row(end, text) for end in (node, after) if end):
            yield row
            while row > 0 and text.is_blank(row - 1):
                row -= 1
                yield row


def _begins_row(node: Node, text: SourceText) -> bool:
    # A keyword such as `pub` may be a node beside the declaration.
    before = node.prev_sibling
    while before is not None and before.type.isalpha() and before.type not in OPERATORS and not before.is_named:
        node, before = before, before.prev_sibling
    # In Haskell, the comma between entries is at the start of a row.
    return text.data[text.byte_starts[node.start_point[0]] : node.start_byte].strip() in {b"", b","}


def _ends_row(node: Node, text: SourceText) -> bool:
    end = _end(node.start_byte, node.end_byte, text)
    after = text.data[end : text.byte_starts[_rows(node, text)[1] + 1]].strip(CLOSERS)
    return not after or after.startswith(COMMENTS)


def _end(start: int, end: int, text: SourceText) -> int:
    """Return where a node really ends: some reach to the next word, over the end of their last row."""
    return start + len(text.data[start:end].rstrip())


def _last_row(start: int, end: int, text: SourceText) -> int:
    # A grammar may report an empty node at the end of the file, which is the row after the last line feed.
    return min(bisect_right(text.byte_starts, max(start, _end(start, end, text) - 1)), text.rows) - 1


def _rows(node: Node, text: SourceText) -> tuple[int, int]:
    return node.start_point[0], _last_row(node.start_byte, node.end_byte, text)
