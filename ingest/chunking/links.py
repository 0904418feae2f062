"""Links between documents, and from documents to source files that they name."""

import posixpath
import re
from collections.abc import Iterator
from urllib.parse import unquote

from codequarry.ingest.chunking.languages import LANGUAGE_BY_EXTENSION
from codequarry.shared.relations import Reference, Target

# Further links of one chunk say nothing new: lists of thousands are generated.
MAX_LINKS = 500

_MARKDOWN = re.compile(
    r"\]\(\s*<?([^)\s>]+)>?(?:\s+[\"'(][^)]*)?\)|^ {0,3}\[[^\]]+\]:\s*<?(\S+?)>?(?:\s|$)", re.MULTILINE
)
_HTML = re.compile(
    r"""<(?:a|img|link|script|source|iframe|use|image)\b[^>]*?\s(?:xlink:)?(?:href|src)\s*=\s*["']?([^"'\s>]+)"""
)
_RESTRUCTURED = re.compile(
    r"`[^`<]*<([^`>\s]+)>`__?|^\.\. _[^:]+:\s+(\S+)"
    r"|^\s*\.\. (?:include|literalinclude|image|figure|csv-table)::\s+(\S+)"
    r"|:(?:doc|download):`(?:[^`<]*<)?([^`>]+?)>?`",
    re.MULTILINE,
)
_ASCIIDOC = re.compile(r"(?:link|xref|include|image)::?([^\s\[\]]+)\[|<<([^\s,>]+)(?:,[^>]*)?>>")
_LATEX = re.compile(r"\\(?:input|include|includegraphics(?:\[[^\]]*\])?|lstinputlisting(?:\[[^\]]*\])?)\{([^}]+)\}")
# A path with a folder, or a file name in code: `src/pay.js`, ``pay.js``.
_PATH = re.compile(r"(?<![\w/.@:-])((?:[\w.@+-]+/)+[\w.@+-]+\.\w{1,8}|(?<=`)[\w.@+-]+\.\w{1,8}(?=`))(?![\w/])")
_SCHEME = re.compile(r"^(?:[a-zA-Z][\w+.-]*:|//)")

_SYNTAX = {
    "markdown": (_MARKDOWN, _HTML),
    "html": (_HTML,),
    "xml": (_HTML,),
    "svg": (_HTML,),
    "restructuredtext": (_RESTRUCTURED,),
    "asciidoc": (_ASCIIDOC,),
    "tex": (_LATEX,),
}
LINKING_LANGUAGES = frozenset(_SYNTAX) | {"text", "org", "rdoc"}
"""Languages whose files link to others; plain text only names them."""
# Suffixes that a link may leave out.
_LEFT_OUT = {"restructuredtext": ".rst", "tex": ".tex", "asciidoc": ".adoc"}


def links_in(text: str, language: str, path: str, first_line: int) -> list[Reference]:
    """Return the links in a part of a document, each place once.

    ``path`` is the document's path and ``first_line`` the line at which ``text`` begins. The module of a target has
    the paths that may be meant, most likely first, joined by ``|``; its names are the anchor, if any, and the name of
    the file.
    """
    found: dict[tuple[int, str], Reference] = {}
    for at, written in sorted(_written(text, language)):
        target = _target(written, language, path)
        if target is not None and len(found) < MAX_LINKS:
            line = first_line + text.count("\n", 0, at)
            found.setdefault((line, target.module), Reference("link", line, target))
    return list(found.values())


def _written(text: str, language: str) -> Iterator[tuple[int, str]]:
    for pattern in (*_SYNTAX.get(language, ()), _PATH):
        for match in pattern.finditer(text):
            written = next((group for group in match.groups() if group), None)
            if written and (pattern is not _PATH or _is_file(written)):
                yield match.start(), written


def _is_file(written: str) -> bool:
    """Return whether text names a file: it has a folder, or an extension that tells `app.py` from `Store.load`."""
    return "/" in written or written.rpartition(".")[2].lower() in LANGUAGE_BY_EXTENSION


def _target(written: str, language: str, path: str) -> Target | None:
    """Return what a link means within the repository, or None for a URL or an anchor of the document itself."""
    if _SCHEME.match(written):
        return None
    place, _, anchor = written.partition("#")
    place = unquote(place.partition("?")[0])
    if not place or place in {".", ".."}:
        return None
    folder = posixpath.dirname(path)
    ways = [posixpath.join(folder, place), place] if not place.startswith("/") else [place]
    paths = dict.fromkeys(normal for way in ways if (normal := _normal(way)))
    if not paths:
        return None
    left_out = _LEFT_OUT.get(language)
    candidates = [*paths, *(f"{way}{left_out}" for way in paths if left_out)]
    name = posixpath.basename(next(iter(paths)))
    return Target("import", "|".join(candidates), (f"#{anchor}", name) if anchor else (name,))


def _normal(path: str) -> str:
    """Return a path from the root of the repository, or "" if it leaves it."""
    normal = posixpath.normpath(path.lstrip("/"))
    return "" if normal.startswith("..") or normal == "." else normal
