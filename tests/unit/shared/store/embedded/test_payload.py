"""Encoding a chunk as bytes and decoding it."""

from dataclasses import fields

from hypothesis import given, settings
from hypothesis import strategies as st

from codequarry.shared.model import ChangedTogether, Chunk, ChunkRow, FileHistory, FileOwner, StrideInfo, Tokens
from codequarry.shared.store.embedded.payload import decode, encode

# Includes lone surrogates: a file that is not valid UTF-8 may leave them in its text.
TEXT = st.text(st.characters(), max_size=40)
WORDS = st.lists(st.text(st.characters(categories=("L", "N")), min_size=1, max_size=8), max_size=6).map(" ".join)
MAYBE = st.none() | TEXT
NUMBER = st.integers(0, 2**40)
TOGETHER = st.lists(st.builds(ChangedTogether, TEXT, NUMBER), max_size=3).map(tuple)
OWNERS = st.lists(st.builds(FileOwner, TEXT, st.floats(0, 1)), max_size=3).map(tuple)
BY_TYPE = {
    str: TEXT,
    int: NUMBER,
    bool: st.booleans(),
    str | None: MAYBE,
    bool | None: st.none() | st.booleans(),
    int | None: st.none() | NUMBER,
    float | None: st.none() | st.floats(allow_nan=False),
    tuple[str, ...]: st.lists(TEXT, max_size=3).map(tuple),
    FileHistory | None: st.none() | st.builds(FileHistory, NUMBER, st.booleans(), TOGETHER, OWNERS),
    StrideInfo | None: st.none() | st.builds(StrideInfo, TEXT, NUMBER, NUMBER, NUMBER, NUMBER),
}
CHUNKS = st.builds(Chunk, **{field.name: BY_TYPE.get(field.type, TEXT) for field in fields(Chunk)})
TOKENS = st.builds(Tokens, WORDS, WORDS, WORDS, WORDS, WORDS)


@settings(deadline=None)
@given(CHUNKS, TOKENS)
def test_every_field_survives_a_round_trip(chunk, tokens):
    body = encode(ChunkRow(chunk, tokens, 1, 2, "key"))
    assert decode(body) == (chunk, tokens)


def test_a_typical_chunk_takes_less_than_half_the_size_of_text_and_tokens():
    text = "def total(items):\n    return sum(item.price * item.count for item in items if item.valid)\n" * 12
    words = "def total items return sum item price item count for item in items if item valid " * 12
    chunk = Chunk("id", "repo", "a.py", "b" * 40, "python", "function", 1, 24, 0, len(text), text, "h" * 64)
    row = ChunkRow(chunk, Tokens(body=words.strip()), 1, 2, "key")
    assert len(encode(row)) < (len(text) + len(words)) / 2
