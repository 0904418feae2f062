"""Turns git's patch of one file into the changed lines, without secrets and in pieces of the right size. Pure."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from codequarry.ingest.secrets.masked_text import MASK
from codequarry.ingest.secrets.masking import mask
from codequarry.ingest.secrets.policy import SecretRules

ADDED, REMOVED, KEPT = "+", "-", " "
# Characters of a piece, about as many as in a large chunk of code.
PIECE_CHARACTERS = 2_400
# Longer lines are data or the output of a program. They are left out, because half a line may be half a secret.
LONGEST_LINE = 1_000
LEFT_OUT = "…"
_HEADER = re.compile(r"@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@ ?(.*)")
# The middle of a private key has no marks by which it could be found: only such lines.
_KEY_LINE = re.compile(r"\s*[\"']?[A-Za-z0-9+/]{40,}={0,2}(?:\\n)?[\"']?,?\s*")


@dataclass(frozen=True, slots=True)
class PatchLine:
    """A line of a patch, and the declaration that git names as its ``heading``.

    ``old`` and ``new`` are the numbers that the next line of the old and of the new file has at this place.
    """

    sign: str
    text: str
    old: int
    new: int
    heading: str

    @property
    def shown(self) -> str:
        """The line as in a patch."""
        return self.sign + self.text


@dataclass(frozen=True, slots=True)
class PatchPiece:
    """Some changed lines as text, with a header before each run of them, and their place in the new file."""

    text: str
    start_line: int
    end_line: int
    headings: tuple[str, ...]
    masked: bool


def patch_pieces(
    patch: bytes, path: str, secrets: SecretRules, most_lines: int, signs: str = ADDED + REMOVED
) -> list[PatchPiece]:
    """Return the lines of a patch that have one of ``signs``, of at most ``most_lines`` changed ones, without secrets.

    The headings are lines of the old file, so they are left out unless removed lines are wanted.
    """
    lines = _first(list(_lines(patch.decode(errors="replace"))), most_lines)
    if REMOVED not in signs:
        lines = [replace(line, heading="") for line in lines]
    safe = _without_secrets(lines, path, secrets) if secrets.is_on else lines
    changed = [(line, line != before) for line, before in zip(safe, lines, strict=True) if line.sign in signs]
    return [_piece(part) for part in _parts(changed)]


def _lines(text: str) -> Iterator[PatchLine]:
    old = new = 0
    heading = ""
    for line in text.split("\n"):
        sign, rest = line[:1], line[1:]
        if sign == "@" and (header := _HEADER.match(line)):
            old, new, heading = int(header[1]), int(header[2]), header[3][:LONGEST_LINE].strip()
        elif sign in (ADDED, REMOVED, KEPT) and sign:
            yield PatchLine(sign, rest if len(rest) <= LONGEST_LINE else LEFT_OUT, old, new, heading)
            old += sign != ADDED
            new += sign != REMOVED


def _first(lines: Sequence[PatchLine], most: int) -> Sequence[PatchLine]:
    changed = 0
    for place, line in enumerate(lines):
        changed += line.sign != KEPT
        if changed > most:
            return lines[:place]
    return lines


def _without_secrets(lines: Sequence[PatchLine], path: str, secrets: SecretRules) -> list[PatchLine]:
    """Mask the old and the new text of the file as far as the patch shows them."""
    texts = [line.text for line in lines]
    for sign in (REMOVED, ADDED):
        side = [place for place, line in enumerate(lines) if line.sign in (sign, KEPT)]
        masked = mask("\n".join(texts[place] for place in side), path, secrets.allowed).text
        for place, text in zip(side, masked.split("\n") if side else (), strict=True):
            texts[place] = text
    if not secrets.allowed.allows_path(path):
        texts = [MASK * len(text) if _KEY_LINE.fullmatch(text) else text for text in texts]
    headings = {heading: mask(heading, path, secrets.allowed).text for heading in {line.heading for line in lines}}
    return [
        line
        if (line.text, line.heading) == (text, headings[line.heading])
        else replace(line, text=text, heading=headings[line.heading])
        for line, text in zip(lines, texts, strict=True)
    ]


_MarkedLine = tuple[PatchLine, bool]


def _parts(lines: Sequence[_MarkedLine]) -> Iterator[list[_MarkedLine]]:
    part: list[_MarkedLine] = []
    size = 0
    for line in lines:
        length = len(line[0].shown) + 1
        if part and size + length > PIECE_CHARACTERS:
            yield part
            part, size = [], 0
        part.append(line)
        size += length
    if part:
        yield part


def _piece(part: Sequence[_MarkedLine]) -> PatchPiece:
    lines = [line for line, _ in part]
    # A removed line stands before the line of the new file that has its place.
    places = [max(1, line.new) for line in lines]
    text = "\n".join(shown for run in _runs(lines) for shown in (_header(run), *(line.shown for line in run)))
    headings = tuple(dict.fromkeys(line.heading for line in lines if line.heading))
    return PatchPiece(text + "\n", min(places), max(places), headings, any(masked for _, masked in part))


def _runs(lines: Sequence[PatchLine]) -> Iterator[list[PatchLine]]:
    """Yield lines in groups without unchanged lines between them."""
    run: list[PatchLine] = []
    for line in lines:
        if run and not _follows(line, run[-1]):
            yield run
            run = []
        run.append(line)
    if run:
        yield run


def _follows(line: PatchLine, before: PatchLine) -> bool:
    is_removal = before.sign == REMOVED
    return (line.old, line.new) == (before.old + is_removal, before.new + (not is_removal))


def _header(run: Sequence[PatchLine]) -> str:
    old, new = run[0].old, run[0].new
    removed = sum(line.sign == REMOVED for line in run)
    added = len(run) - removed
    # git gives the line before the place at which nothing stands.
    ranges = f"@@ -{max(0, old - (not removed))},{removed} +{max(0, new - (not added))},{added} @@"
    return f"{ranges} {run[0].heading}".rstrip()
