"""Properties of chunks: over arbitrary text, mangled source code and real files."""

import random
import sysconfig
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from codequarry.ingest.chunking.chunker import chunk_file
from codequarry.ingest.chunking.cutters import CUTTERS
from codequarry.ingest.chunking.languages import GRAMMAR_LANGUAGES, language_of
from codequarry.ingest.chunking.lexical import embedded_text, lexical_tokens
from codequarry.ingest.chunking.pieces import Sizes
from codequarry.ingest.chunking.source_file import SourceFile
from codequarry.ingest.chunking.text import count_tokens
from codequarry.shared.model import SYMBOL_TYPES, Chunk
from codequarry.shared.settings.config import ChunkingSettings

SAMPLES = {
    path.name: path.read_bytes().decode()
    for path in sorted((Path(__file__).parents[1] / "unit/ingest/chunking/samples").iterdir())
    if path.is_file()
}
PATHS = [*sorted(SAMPLES), "panel.tsx", "a.txt", "a.unknown", ".env", "tsconfig.json", "a.pls"]
SIZES = st.sampled_from(
    [
        Sizes.of(ChunkingSettings()),
        Sizes(40, 80, 15),
        Sizes(20, 40, 0),
    ]
)
# Input that breaks lexers: openers without closers, unusual line ends, characters of every width.
PIECES = st.sampled_from(
    ["(", "[", "{", "}", "<", "/*", "*/", "'''", '"""', "`", "$(", "<<EOF\n", "\\\n", "\t", "\n", "\n\n", "\r", "\r\n",
     "\f", "\x00", "\u2028", "é", "名", "😀", "\ud800", "end\n", "class A {\n", "def f(a):\n", "a<b,", "x => ", "? : ",
     "# ", "```\n", "---\n", "key: ", "#if X\n", "#endif\n", "@", ";", "- ", "  - a: ", "|\n", "key = ", "[a.b]\n",
     "$$", "GO\n", "BEGIN ", "CREATE TABLE t (\n", "--", "<!--", "<a id='b'>", "</a>", "<script>", "====\n", "----\n",
     ".. _a:\n", "[[a]]\n", "\\begin{a}\n", "\\section{", "{\"a\":\n", "[\n", "},\n", '"source": [\n', '"a\\n",\n']
)  # fmt: skip
TEXTS = st.one_of(
    st.text(max_size=400),
    st.lists(st.one_of(PIECES, st.text("abc _=\n", max_size=12)), max_size=120).map("".join),
)


def assert_sound(source: SourceFile, sizes: Sizes) -> list[Chunk]:
    """Assert the invariants of every file's chunks."""
    chunks = chunk_file(source, sizes)
    rows = source.text.split("\n")
    ends = [0]
    for row in rows[: None if rows[-1] else -1]:
        ends.append(min(ends[-1] + len(row) + 1, len(source.text)))
    assert bool(chunks) == bool(source.text)
    assert [chunk.ordinal for chunk in chunks] == list(range(len(chunks)))
    assert len({chunk.id for chunk in chunks}) == len(chunks)
    for chunk in chunks:
        assert chunk.derived or chunk.text == source.text[chunk.start_char : chunk.end_char]
        assert (chunk.start_char, chunk.end_char) == (ends[chunk.start_line - 1], ends[chunk.end_line])
        assert count_tokens(chunk.text) <= sizes.maximum or chunk.start_line == chunk.end_line
        assert chunk.symbol_type in SYMBOL_TYPES
        assert chunk.body_start_char is None or chunk.start_char <= chunk.body_start_char <= chunk.end_char
    if chunks:
        assert (chunks[0].start_line, chunks[-1].end_line) == (1, len(ends) - 1)
    for before, after in pairwise(chunks):
        assert before.start_line < after.start_line <= before.end_line + 1 <= after.end_line
    return chunks


def source_of(path: str, text: str) -> SourceFile:
    return SourceFile("repo", path, "blob", language_of(path) or "text", text)


@settings(max_examples=300, deadline=None)
@given(st.sampled_from(PATHS), TEXTS, SIZES)
def test_any_text_is_cut_soundly_and_the_same_each_time(path, text, sizes):
    """Every row is in a chunk, texts and offsets are exact, and no chunk is too large, in any language."""
    chunks = assert_sound(source_of(path, text), sizes)
    assert chunk_file(source_of(path, text), sizes) == chunks


@st.composite
def mangled(draw):
    """Draw a sample with pieces inserted, removed and moved."""
    name = draw(st.sampled_from(sorted(SAMPLES)))
    text = SAMPLES[name]
    for _ in range(draw(st.integers(0, 8))):
        at = draw(st.integers(0, len(text)))
        change = draw(st.sampled_from(["insert", "remove", "move", "repeat"]))
        if change == "insert":
            text = text[:at] + draw(PIECES) + text[at:]
        elif change == "remove":
            text = text[:at] + text[at + draw(st.integers(1, 60)) :]
        elif change == "move":
            origin = draw(st.integers(0, len(text)))
            text = text[:at] + text[origin : origin + 300] + text[at:]
        else:
            text = text[:at] + draw(PIECES) * 200 + text[at:]
    return name, text


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(mangled(), SIZES)
def test_mangled_source_code_is_cut_soundly(name_and_text, sizes):
    """Broken code of every language is cut like any other text."""
    name, text = name_and_text
    for chunk in assert_sound(source_of(name, text), sizes):
        lexical_tokens(chunk)
        assert embedded_text(chunk).startswith(name)


@pytest.mark.parametrize("name", sorted(SAMPLES))
@pytest.mark.parametrize("ending", ["\n", "\r\n"])
def test_line_ends_do_not_change_borders(name, ending):
    """A file with carriage returns is cut at the same rows."""
    text = SAMPLES[name]
    plain = chunk_file(source_of(name, text), Sizes.of(ChunkingSettings()))
    other = assert_sound(source_of(name, text.replace("\n", ending)), Sizes.of(ChunkingSettings()))
    assert [(chunk.start_line, chunk.qualified_name) for chunk in other] == [
        (chunk.start_line, chunk.qualified_name) for chunk in plain
    ]


def test_every_language_with_a_grammar_or_a_format_of_its_own_has_a_path():
    """The properties above are tested with every one of them."""
    assert {language_of(name) for name in SAMPLES} >= GRAMMAR_LANGUAGES
    assert {language_of(name) for name in PATHS} >= CUTTERS.keys()


def real_files() -> list[Path]:
    """Return about 150 modules of the running interpreter's library, the same in every run."""
    library = Path(sysconfig.get_path("stdlib"))
    found = sorted(path for path in library.rglob("*.py") if "site-packages" not in path.parts)
    return random.Random(3).sample(found, min(150, len(found)))


def test_real_files_are_cut_soundly():
    """Modules of the standard library: names are exact for every function that is a chunk of its own."""
    cut = 0
    for path in real_files():
        try:
            text = path.read_bytes().decode()
        except UnicodeDecodeError:
            continue
        chunks = assert_sound(source_of(path.name, text), Sizes.of(ChunkingSettings()))
        cut += len(chunks)
        for chunk in chunks:
            if chunk.symbol_type in {"function", "method"} and chunk.symbol_name and chunk.symbol_part is None:
                assert f"def {chunk.symbol_name}" in chunk.text
    assert cut > 150
