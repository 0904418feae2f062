"""Outlines a syntax tree as declarations, by a shallow walk that visits only places where they can occur."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from tree_sitter import Node

from codequarry.ingest.chunking.comments import MAX_DOC_CHARACTERS, doc_text, fold_signature, shorten
from codequarry.ingest.chunking.declarations import Declaration, joined
from codequarry.ingest.chunking.language_spec import LanguageSpec, Role, Rule
from codequarry.ingest.chunking.node_rules import ResolvedNode, read_node
from codequarry.ingest.chunking.text import SourceText

# Deeper nesting is generated or hostile; whatever is below stays with its parent.
_MAX_DEPTH = 24
# The first line of a statement shows what it is; the rest is in the text.
_MAX_STATEMENT_SIGNATURE = 160
# A comment with more tokens that is not directly above a declaration is an entry of the outline.
_LARGE_COMMENT = 60


@dataclass(slots=True)
class _Pending:
    """Comments and attributes since the last declaration; they belong to the next."""

    nodes: list[Node] = field(default_factory=list)

    def take(self) -> list[Node]:
        taken, self.nodes = self.nodes, []
        return taken


class Outliner:
    """Outlines the syntax tree of a file by the rules of its language."""

    def __init__(self, spec: LanguageSpec, text: SourceText, open_tokens: int) -> None:
        """Open statements with more than ``open_tokens`` tokens, if they hold a block of statements."""
        self._spec = spec
        self._text = text
        self._data = text.data
        self._open_tokens = open_tokens

    def declarations(self, root: Node) -> tuple[Declaration, ...]:
        """Return the outline of a whole file."""
        return tuple(joined(self._members(root, 0), by_name=self._spec.joins))

    def _members(self, parent: Node, depth: int) -> Iterator[Declaration]:
        """Yield the declarations directly in ``parent``; comments go with the next declaration."""
        pending = _Pending()
        last_row = -1
        for child in parent.children:
            kind = child.type
            if kind in self._spec.comments:
                if child.start_point[0] > last_row:
                    pending.nodes.append(child)
                continue
            if kind in self._spec.leading:
                pending.nodes.append(child)
                continue
            read = read_node(child, self._spec, self._data)
            if read is None or read.rule.role is Role.SKIP or self._is_condition(child, read, parent):
                continue
            if read.rule.role is Role.LEADING:
                pending.nodes.append(child)
                continue
            yield from self._detached(pending, child, first=last_row < 0 and depth == 0)
            yield self._declaration(child, read, pending.take(), depth)
            last_row = _end_row(child)
            pending.nodes += _trailing_comments(child, read.rule, self._spec.comments)

    def _detached(self, pending: _Pending, node: Node, *, first: bool) -> Iterator[Declaration]:
        """Yield pending comments as a separate entry if a blank line separates them from the next declaration.

        Before the first declaration they are the file's comment. Elsewhere, short comments stay with what follows.
        """
        followers = [*pending.nodes[1:], node]
        for index in reversed(range(len(pending.nodes))):
            if followers[index].start_point[0] - _end_row(pending.nodes[index]) > 1:
                own, rest = pending.nodes[: index + 1], pending.nodes[index + 1 :]
                tokens = self._text.tokens(own[0].start_point[0], min(_end_row(own[-1]) + 1, self._text.rows))
                if (first or tokens > _LARGE_COMMENT) and all(node.type in self._spec.comments for node in own):
                    pending.nodes = rest
                    yield self._comment(own, Role.IMPORT if first else Role.BLOCK)
                return

    def _comment(self, comments: list[Node], role: Role) -> Declaration:
        first, last = comments[0], comments[-1]
        return Declaration(
            rule=Rule(role, "comment"),
            row=first.start_point[0],
            head_row=first.start_point[0],
            end_row=_end_row(last),
            start_byte=first.start_byte,
            end_byte=last.end_byte,
            doc=doc_text([self._text.slice(node.start_byte, node.end_byte) for node in comments]),
        )

    def _is_condition(self, child: Node, read: ResolvedNode, parent: Node) -> bool:
        """Return whether a child is the condition in the first row of ``#if X``, not a statement below it."""
        rule = self._spec.rules.get(parent.type)
        inside = rule is not None and rule.role is Role.TRANSPARENT and read.rule.role is Role.BLOCK
        return inside and child.start_point[0] == parent.start_point[0]

    def _declaration(self, outer: Node, read: ResolvedNode, pending: list[Node], depth: int) -> Declaration:
        rule, node = read.rule, read.node
        body = rule.body(node)
        name = rule.name(node, self._data) if rule.role not in {Role.BLOCK, Role.IMPORT, Role.VALUE} else ()
        head = self._signature_start(outer if read.exported or rule.role is Role.BLOCK else read.head)
        body_byte = self._row_end(node) if rule.one_row else self._body_start(node, body)
        signature = self._signature(rule, head, outer.end_byte if body_byte is None else body_byte)
        row = min([outer.start_point[0], *(above.start_point[0] for above in pending)])
        return Declaration(
            rule=rule,
            row=row,
            head_row=outer.start_point[0],
            end_row=_end_row(outer),
            start_byte=outer.start_byte,
            end_byte=outer.end_byte,
            name=name,
            signature=signature,
            body_byte=body_byte,
            doc=self._doc(rule, outer, body, pending),
            exported=self._spec.exported(name[-1], signature, read.exported) if name else (read.exported or None),
            members=tuple(joined(self._inside(rule, node, body, depth), by_name=self._spec.joins)),
        )

    def _inside(self, rule: Rule, node: Node, body: Node | None, depth: int) -> Iterator[Declaration]:
        """Yield the members of a type, scope or transparent node, and of a large statement."""
        if depth >= _MAX_DEPTH:
            return
        if rule.role is Role.BLOCK and rule.opens:
            tokens = self._text.tokens(node.start_point[0], min(node.end_point[0] + 1, self._text.rows))
            opened = self._largest_block(node) if tokens > self._open_tokens else None
            if opened is not None:
                yield from self._members(opened, depth + 1)
        elif rule.role in {Role.TYPE, Role.SCOPE, Role.TRANSPARENT} and body is not None:
            yield from self._members(body, depth + 1)

    def _largest_block(self, node: Node) -> Node | None:
        """Return the block of statements that holds most of a statement, found by descending into the largest child."""
        for _ in range(_MAX_DEPTH):
            if node.type in self._spec.blocks:
                return node
            children = node.named_children
            if not children:
                return None
            largest = max(children, key=lambda child: child.end_byte - child.start_byte)
            if largest.end_byte - largest.start_byte < 0.6 * (node.end_byte - node.start_byte):
                return None
            node = largest
        return None

    def _signature_start(self, node: Node) -> int:
        for child in node.children:
            if child.type in self._spec.modifiers and child.child_count:
                words = [word for word in child.children if word.type not in self._spec.annotations]
                if words:
                    return words[0].start_byte
            elif child.type not in self._spec.annotations and child.type not in self._spec.comments:
                # Some grammars have no node for the keyword in front.
                return node.start_byte if child == node.children[0] else child.start_byte
        return node.start_byte

    def _body_start(self, node: Node, body: Node | None) -> int | None:
        """Return the byte where the body begins, including comments directly before its first statement."""
        if body is None:
            return None
        comments = (child.start_byte for child in node.children if child.type in self._spec.comments)
        return min(body.start_byte, *(start for start in comments if start > node.start_byte), body.start_byte)

    def _row_end(self, node: Node) -> int | None:
        end = self._data.find(b"\n", node.start_byte, node.end_byte)
        return end if end >= 0 else None

    def _signature(self, rule: Rule, start: int, end: int) -> str:
        if rule.role in {Role.IMPORT, Role.TRANSPARENT}:
            return ""
        if rule.role in {Role.BLOCK, Role.VALUE}:
            first_line = self._text.slice(start, min(end, start + 4 * _MAX_STATEMENT_SIGNATURE)).split("\n", 1)[0]
            return shorten(fold_signature(first_line), _MAX_STATEMENT_SIGNATURE)
        return fold_signature(self._text.slice(start, end))

    def _doc(self, rule: Rule, node: Node, body: Node | None, pending: list[Node]) -> str:
        """Return the doc string in the body, or the comments directly above."""
        holder = node.parent if rule.kind == "docstring" else body
        if self._spec.docstring is not None and holder is not None:
            inside = self._spec.docstring(holder, self._data)
            if inside:
                return shorten(inside, MAX_DOC_CHARACTERS)
        comments: list[str] = []
        below = node.start_point[0]
        for above in reversed(pending):
            if below - _end_row(above) > 1:
                break
            if above.type in self._spec.comments:
                comments.append(self._text.slice(above.start_byte, above.end_byte))
            elif doc := self._spec.leading_doc(above):
                return shorten(doc, MAX_DOC_CHARACTERS)
            below = above.start_point[0]
        return doc_text(comments[::-1])


def _end_row(node: Node) -> int:
    """Return a node's last row; a node that ends with its line feed does not reach into the next row."""
    row, column = node.end_point
    return row - 1 if column == 0 and row > node.start_point[0] else row


def _trailing_comments(node: Node, rule: Rule, comments: frozenset[str]) -> list[Node]:
    """Return the comments that a grammar puts at the end of an import although they follow it."""
    if rule.kind not in {"import", ""} or rule.role not in {Role.IMPORT, Role.TRANSPARENT}:
        return []
    found: list[Node] = []
    while node.child_count:
        last = node.children[-1]
        if last.type in comments:
            break
        node = last
    for child in reversed(node.children):
        if child.type not in comments:
            break
        found.append(child)
    return found[::-1]
