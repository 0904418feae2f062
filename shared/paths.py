r"""Converts git's paths, which are bytes, to text and back; two paths never have the same text.

A path in UTF-8 stays unchanged, including newlines and quotes. In any other path, bytes that are not UTF-8 are written
as ``\xNN`` and backslashes are doubled. Backslashes are also doubled in a UTF-8 path that contains a literal ``\xNN``.
"""

import re

_ESCAPE = re.compile(r"\\x[0-9a-f]{2}")
_WRITTEN = re.compile(r"\\(\\|x[0-9a-f]{2})")


def printable(path: bytes) -> str:
    """Return a path as text."""
    try:
        text = path.decode()
    except UnicodeDecodeError:
        return path.replace(b"\\", b"\\\\").decode(errors="backslashreplace")
    return text.replace("\\", "\\\\") if _ESCAPE.search(text) else text


def raw(path: str) -> bytes:
    """Return the bytes of a path from its text; the inverse of ``printable``."""
    if not _ESCAPE.search(path):
        return path.encode()
    pieces, end = [], 0
    for match in _WRITTEN.finditer(path):
        pieces.append(path[end : match.start()].encode())
        written = match[1]
        pieces.append(b"\\" if written == "\\" else bytes([int(written[1:], 16)]))
        end = match.end()
    return b"".join((*pieces, path[end:].encode()))
