r"""Git's paths are bytes, the index's are text: a printable form that two paths never share.

A path in UTF-8 stays as it is, newlines and quotes included. In any other, bytes that are not UTF-8 are written as
``\xNN`` and backslashes doubled; so is a path that holds a literal ``\xNN``, or the two could not be told apart.
"""

import re

_ESCAPE = re.compile(r"\\x[0-9a-f]{2}")
_WRITTEN = re.compile(r"\\(\\|x[0-9a-f]{2})")


def printable(path: bytes) -> str:
    """Return the path's text."""
    try:
        text = path.decode()
    except UnicodeDecodeError:
        return path.replace(b"\\", b"\\\\").decode(errors="backslashreplace")
    return text.replace("\\", "\\\\") if _ESCAPE.search(text) else text


def raw(path: str) -> bytes:
    """Return the bytes that ``printable`` was given."""
    if not _ESCAPE.search(path):
        return path.encode()
    pieces, end = [], 0
    for match in _WRITTEN.finditer(path):
        pieces.append(path[end : match.start()].encode())
        written = match[1]
        pieces.append(b"\\" if written == "\\" else bytes([int(written[1:], 16)]))
        end = match.end()
    return b"".join((*pieces, path[end:].encode()))
