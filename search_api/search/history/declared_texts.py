"""The declarations of a symbol in one version of a file, cut out of its chunks. Pure functions."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256

from codequarry.search_api.query.names import Name
from codequarry.shared.model import Chunk

_SEPARATOR = re.compile(r"\.|::|->|#|/|\\")
_WORD = re.compile(r"\w+")
# Where the name of a scope ends in its header, and what stands before it in Rust.
_BASES = re.compile(r"[(<:{=]|\b(?:extends|implements|with|where)\b")
_GENERICS = re.compile(r"\bimpl\s*<[^>]*>\s*")
# How a line begins that belongs to the declaration below it: a comment, decorator, annotation or attribute.
_ABOVE = ("#", "//", "/*", "*", "--", "@", "[", '"""', "'''")
# What stands before a name that a line uses: `save() { return load(1)`, `key = load(1)`.
_USES = re.compile(r"[{=;:]|\breturn\b")
_COMMENT = ("#", "//", "/*", "*", "--")
# How a line begins that belongs to the declaration above it, though it is not indented.
_CLOSING = ("}", ")", "]", "{", "end", "fi", "done", "esac", "else", "elif", "except", "finally", "catch", "rescue")


@dataclass(frozen=True, slots=True)
class DeclaredText:
    """A declaration in one version of a file; ``chunk`` holds it, alone unless it is ``shared``.

    ``symbol`` is the qualified name, if that is ``qualified``; otherwise the scope around the declaration is unknown.
    ``text`` has only the lines ``start_line`` to ``end_line`` of the declaration itself, so that it stays equal when
    its neighbours change.
    """

    chunk: Chunk
    symbol: str
    qualified: bool
    shared: bool
    start_line: int
    end_line: int
    text: str


def declared_texts(chunks: Iterable[Chunk], name: Name) -> tuple[DeclaredText, ...]:
    """Return the declarations that a name means among the chunks of one file version, in file order."""
    ordered = sorted(chunks, key=lambda chunk: (chunk.ordinal, chunk.start_char))
    own = _with_parts_joined(chunk for chunk in ordered if _is_declaration(chunk, name))
    found = [_own_text(chunk, name) for chunk in own]
    declared = {text.symbol for text in found}
    for chunk in ordered:
        if _holds(chunk, name):
            text = _shared_text(chunk, name)
            # A class repeats the names of the members that have chunks of their own; other chunks hold overloads.
            if not (chunk.symbol_name and text.symbol in declared):
                found.append(text)
    return tuple(sorted(found, key=lambda text: text.start_line))


def _is_declaration(chunk: Chunk, name: Name) -> bool:
    wanted = (*name.scope, name.last)
    return chunk.symbol_name == name.last and _parts(chunk)[-len(wanted) :] == wanted


def _holds(chunk: Chunk, name: Name) -> bool:
    """Return whether a chunk holds the declaration among others, inside the scope that the name gives."""
    if chunk.symbol_name == name.last or name.last not in chunk.defines:
        return False
    around = _parts(chunk)
    if around:
        return not name.scope or around[-len(name.scope) :] == name.scope
    return set(name.scope) <= {*chunk.defines, *_enclosing(chunk)}


def _parts(chunk: Chunk) -> tuple[str, ...]:
    return tuple(filter(None, _SEPARATOR.split(chunk.qualified_name or chunk.symbol_name or "")))


def _enclosing(chunk: Chunk) -> tuple[str, ...]:
    """Return the names of the scopes around a chunk, outermost first, read from the headers in its context.

    A header also names bases and parameters: `class Store(Base):`, `impl<T> Load for Store<T>`.
    """
    names: list[str] = []
    for line in chunk.context.split("\n"):
        if not line.startswith(("package ", "uses ")):
            header = _GENERICS.sub("impl ", line).rpartition(" for ")[2]
            names += _WORD.findall(_BASES.split(header, maxsplit=1)[0])[-1:]
    return tuple(names)


def _with_parts_joined(chunks: Iterable[Chunk]) -> list[Chunk]:
    """Return the chunks, with the parts of each long declaration as one."""
    found: list[Chunk] = []
    for chunk in chunks:
        last = found[-1] if found else chunk
        follows = chunk.symbol_part is not None and not chunk.symbol_part.startswith("1/")
        if found and follows and last.qualified_name == chunk.qualified_name:
            text = last.text + chunk.text[max(0, last.end_char - chunk.start_char) :]
            joined = sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
            found[-1] = replace(last, text=text, content_hash=joined, end_line=chunk.end_line, end_char=chunk.end_char)
        else:
            found.append(chunk)
    return found


def _own_text(chunk: Chunk, name: Name) -> DeclaredText:
    lines = _lines(chunk)
    head = next((place for place, line in enumerate(lines) if _names(line, name)), None)
    start = 0 if head is None else _first_line(lines, head)
    end = _last_line(lines, start, _indent(lines[head]) if head is not None else 0)
    return _text(chunk, lines, (start, end), chunk.qualified_name or name.last, qualified=True, shared=False)


def _shared_text(chunk: Chunk, name: Name) -> DeclaredText:
    """Return the declaration that begins on the least indented line with its name; the whole chunk if there is none.

    A chunk does not say where the small declarations in it begin and end, but their indentation does.
    """
    lines = _lines(chunk)
    named = [(_indent(line), place) for place, line in enumerate(lines) if _names(line, name)]
    around = _parts(chunk)
    symbol = ".".join((*(around or _enclosing(chunk)), name.last))
    if not named:
        bounds = (0, _last_line(lines, 0, 0))
    else:
        least = min(indent for indent, _ in named)
        shallow = [place for indent, place in named if indent == least]
        heads = [place for place in shallow if _declares(lines[place], name)] or shallow
        bounds = _first_line(lines, heads[0]), _block_end(lines, heads[-1])
    return _text(chunk, lines, bounds, symbol, qualified=bool(around), shared=True)


def _text(
    chunk: Chunk, lines: Sequence[str], bounds: tuple[int, int], symbol: str, *, qualified: bool, shared: bool
) -> DeclaredText:
    start, end = bounds
    text = "\n".join(lines[start : end + 1])
    return DeclaredText(chunk, symbol, qualified, shared, chunk.start_line + start, chunk.start_line + end, text)


def _lines(chunk: Chunk) -> list[str]:
    return [line.removesuffix("\r") for line in chunk.text.removesuffix("\n").split("\n")]


def _names(line: str, name: Name) -> bool:
    """Return whether a line of code, not a comment, has the name as a whole word."""
    if line.lstrip().startswith(_COMMENT) or name.last not in line:
        return False
    return re.search(rf"(?<![\w$]){re.escape(name.last)}(?![\w$])", line) is not None


def _declares(line: str, name: Name) -> bool:
    """Return whether nothing before the name says that the line uses it instead of declaring it."""
    before = line[: line.index(name.last)].replace("::", "")
    return not (_USES.search(before) or line.lstrip().startswith("@"))


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _first_line(lines: Sequence[str], head: int) -> int:
    """Return the first line of the comment and decorators right above a declaration."""
    while head and lines[head - 1].lstrip().startswith(_ABOVE):
        head -= 1
    return head


def _last_line(lines: Sequence[str], start: int, indent: int) -> int:
    """Return the last line of a declaration without blank lines and the end of the scope around it."""
    end = len(lines) - 1
    while end > start and (not lines[end].strip() or _indent(lines[end]) < indent):
        end -= 1
    return end


def _block_end(lines: Sequence[str], head: int) -> int:
    """Return the last line of the block that begins at ``head``: deeper lines, and what closes it."""
    indent, end = _indent(lines[head]), head
    for place in range(head + 1, len(lines)):
        line = lines[place]
        if not line.strip():
            continue
        if _indent(line) < indent or (_indent(line) == indent and not line.lstrip().startswith(_CLOSING)):
            break
        end = place
    return end
