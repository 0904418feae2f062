"""The tokens of JSON, and of JSON with comments or of the looser JSON5, each with its place.

It accepts any text: what is out of place is a token like any other. It never goes back, so it takes linear time.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum, auto
from typing import NamedTuple

from codequarry.ingest.chunking.text import SourceText

_TOKEN = re.compile(
    r"""(?P<string>"(?:[^"\\\n]|\\[\s\S])*+"?|'(?:[^'\\\n]|\\[\s\S])*+'?)"""
    r"|(?P<comment>//[^\n]*|\#[^\n]*|/\*(?:[^*]|\*(?!/))*+(?:\*/)?)"
    r"|(?P<open>[{\[])|(?P<close>[}\]])|(?P<colon>:)|(?P<comma>,)|(?P<word>[^\s\"'{}\[\],:/#]+)|(?P<other>/)"
)


class TokenType(Enum):
    """What a token is to the structure of a file."""

    OPEN = auto()
    CLOSE = auto()
    KEY = auto()
    VALUE = auto()
    COMMENT = auto()


class JsonToken(NamedTuple):
    """A token at a row and a character. ``depth`` counts the brackets around it; ``in_list`` is about the nearest."""

    type: TokenType
    row: int
    start: int
    end: int
    depth: int
    in_list: bool
    raw: str


@dataclass(slots=True)
class _State:
    brackets: list[str]
    key_comes: bool = False


def json_tokens(text: SourceText) -> Iterator[JsonToken]:
    """Yield the tokens of a file in order, without colons and commas."""
    state = _State([])
    row = 0
    for found in _TOKEN.finditer(text.text):
        start = found.start()
        while text.char_starts[row + 1] <= start:
            row += 1
        type_ = _type_of(found.lastgroup or "", state)
        if type_ is not None:
            in_list = not state.brackets or state.brackets[-1] == "["
            yield JsonToken(type_, row, start, found.end(), len(state.brackets), in_list, found[0])
            if type_ is TokenType.OPEN:
                state.brackets.append(found[0])
                state.key_comes = found[0] == "{"


def _type_of(group: str, state: _State) -> TokenType | None:
    """Return the type of a token, and note what it says about the next one."""
    if group == "comment":
        return TokenType.COMMENT
    if group == "open":
        return TokenType.OPEN
    if group == "close":
        if state.brackets:
            state.brackets.pop()
        state.key_comes = False
        return TokenType.CLOSE
    if group == "comma":
        state.key_comes = bool(state.brackets) and state.brackets[-1] == "{"
        return None
    if group == "colon":
        state.key_comes = False
        return None
    if state.key_comes:
        state.key_comes = False
        return TokenType.KEY
    return TokenType.VALUE
