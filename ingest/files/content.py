"""Judges a file by its bytes: whether it is text, in which encoding, and whether a program wrote it."""

import re
from dataclasses import dataclass

from codequarry.ingest.chunking.languages import NOTEBOOK, PROSE_LANGUAGES

LFS_POINTER = b"version https://git-lfs.github.com/spec/"
# Encodings in which source code is found in practice. Short samples often fit one of Python's exotic encodings better.
PLAUSIBLE_ENCODINGS = [
    "cp1252", "iso8859_15", "cp1250", "cp1251", "koi8_r", "cp932", "euc_jp", "gb18030", "big5", "cp949", "cp1253",
    "cp437",
]  # fmt: skip
# Enough lines for a verdict; the detector's time grows with the sample.
SAMPLE_BYTES = 8192
# Text has hardly any control characters besides white space, form feed and escape; machine code is full of them.
MOST_CONTROL_CHARACTERS = 0.05
# Generators put their marker at the top.
MARKER_CHARACTERS = 4000
MINIFIED_LINE = 5_000
MINIFIED_MEAN_LINE = 300
# In prose a whole paragraph may be one line.
LONGEST_PROSE_LINE = 50_000

_BYTE_ORDER_MARKS = (
    (b"\xef\xbb\xbf", "utf-8-sig"),
    (b"\xff\xfe\x00\x00", "utf-32"),
    (b"\x00\x00\xfe\xff", "utf-32"),
    (b"\xff\xfe", "utf-16"),
    (b"\xfe\xff", "utf-16"),
)
_CONTROL = bytes(sorted(set(range(32)) - set(b"\t\n\r\f\x08\x1b"))) + b"\x7f"
_NOT_ASCII = re.compile(r"[^\x00-\x7f]")
_STRANGE = re.compile("[\udc80-\udcff]")
_NEIGHBOURS = re.compile(rb"[\x80-\xff]{2}")
_COMMENT_START = re.compile(r"^\s*(//|#|/\*|\*|--|<!--|;|%|\"\"\"|''')")
_MARKER = re.compile(
    r"@generated\b|\bauto-?generated\b.*\bdo not (edit|modify)|generated\b.*\bdo not (edit|modify)", re.I
)
_FIRM_MARKER = re.compile(r"\bDO NOT (EDIT|MODIFY)\b")


@dataclass(frozen=True, slots=True)
class DecodedText:
    """A decoded file; ``encoding`` is Python's name for its encoding, or None for plain UTF-8."""

    text: str
    encoding: str | None = None


@dataclass(frozen=True, slots=True)
class NotText:
    """Why a blob is not indexed."""

    reason: str
    detail: str = ""


def decode(data: bytes) -> DecodedText | NotText:
    """Return the text of a whole blob, strictly decoded, or the reason it can't be decoded."""
    if data.startswith(LFS_POINTER):
        return NotText("lfs-pointer", "the file itself is in Git LFS")
    for mark, encoding in _BYTE_ORDER_MARKS:
        if data.startswith(mark):
            return _strictly(data, encoding)
    if b"\0" in data:
        return NotText("binary")
    try:
        return DecodedText(data.decode())
    except UnicodeDecodeError as error:
        return _decode_other(data, error)


def _strictly(data: bytes, encoding: str) -> DecodedText | NotText:
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError as error:
        return NotText("undecodable", f"not valid {encoding} at byte {error.start}")
    # A binary file can start with a byte order mark too.
    return NotText("binary") if "\0" in text else DecodedText(text, encoding)


def _decode_other(data: bytes, error: UnicodeDecodeError) -> DecodedText | NotText:
    if len(data.translate(None, _CONTROL)) < len(data) * (1 - MOST_CONTROL_CHARACTERS):
        return NotText("binary")
    if _is_damaged_utf8(data):
        return NotText("undecodable", f"not valid UTF-8 at byte {error.start}")
    encoding = _detect(data)
    return _strictly(data, encoding) if encoding else NotText("undecodable", "unknown encoding")


def _is_damaged_utf8(data: bytes) -> bool:
    """Return whether most non-ASCII characters are valid UTF-8, so that another encoding would garble the text."""
    text = data.decode(errors="surrogateescape")
    strange = len(_STRANGE.findall(text))
    return len(_NOT_ASCII.findall(text)) - strange >= strange


def _detect(data: bytes) -> str | None:
    sample = b""
    for line in data.split(b"\n"):
        if line.isascii():
            continue
        sample += line[:SAMPLE_BYTES] + b"\n"
        if len(sample) >= SAMPLE_BYTES:
            break
    if not _NEIGHBOURS.search(sample):
        # Isolated accented letters in ASCII text are Western European; the detector tends to guess Japanese or Polish.
        return "cp1252"
    from charset_normalizer import from_bytes  # loaded only if needed: almost all files are UTF-8

    matches = from_bytes(sample, cp_isolation=PLAUSIBLE_ENCODINGS)
    best = matches.best()
    if best and best.encoding == "cp1250" and any("cp1252" in match.could_be_from_charset for match in matches):
        # A few lines often fit both, and the detector then names the rarer encoding.
        return "cp1252"
    return best.encoding if best else None


def generated_marker(text: str) -> str | None:
    """Return the comment line by which a generator marks a file as its output, or None if there is no such line."""
    for line in text[:MARKER_CHARACTERS].splitlines():
        if _COMMENT_START.match(line) and (_MARKER.search(line) or _FIRM_MARKER.search(line)):
            return line.strip()[:100]
    return None


def is_minified(text: str, language: str) -> bool:
    """Return whether the lines are too long for people, judged by the longest and, except in prose, the mean length."""
    if language == NOTEBOOK:  # images among its outputs have long lines, and outputs are not indexed
        return False
    prose = language in PROSE_LANGUAGES
    limit = LONGEST_PROSE_LINE if prose else MINIFIED_LINE
    if len(text) <= limit:
        return False
    mean = len(text) / (text.count("\n") + 1)
    return (prose or mean > MINIFIED_MEAN_LINE) and max(map(len, text.splitlines())) > limit
