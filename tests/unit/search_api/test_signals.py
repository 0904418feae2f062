import pytest

from codequarry.search_api.names import Name
from codequarry.search_api.signals import (
    definition_signal,
    name_signal,
    path_signal,
    phrase_signal,
    semantic_signal,
)


@pytest.mark.parametrize(("cosine", "signal"), [(None, 0), (-0.5, 0), (0.4, 0.4), (1.0000001, 1)])
def test_semantic_is_the_positive_cosine(cosine, signal):
    assert semantic_signal(cosine) == signal


def test_a_definition_is_better_the_more_exact_its_name(make_chunk):
    asked = [Name("readPage")]
    signals = [
        definition_signal(make_chunk(symbol_name=name), asked)
        for name in ("readPage", "readpage", "read_page", "readPages")
    ]
    assert signals == sorted(signals, reverse=True)
    assert signals[0] == 1.0
    assert signals[-1] == 0.0


def test_the_first_part_of_a_split_symbol_is_its_definition(make_chunk):
    first = definition_signal(make_chunk(symbol_name="f", symbol_part="1/3"), [Name("f")])
    later = definition_signal(make_chunk(symbol_name="f", symbol_part="2/3"), [Name("f")])
    assert first > later > 0


def test_the_scope_that_was_asked_for_counts(make_chunk):
    asked = [Name("read", ("Reader",))]
    right = definition_signal(make_chunk(symbol_name="read", qualified_name="io.Reader.read"), asked)
    wrong = definition_signal(make_chunk(symbol_name="read", qualified_name="io.Writer.read"), asked)
    assert right > wrong > 0


def test_code_defines_more_than_a_heading(make_chunk):
    code = definition_signal(make_chunk(symbol_name="Router", symbol_type="class"), [Name("Router")])
    text = definition_signal(make_chunk(symbol_name="Router", symbol_type="documentation"), [Name("Router")])
    assert code > text > 0


def test_one_of_several_small_definitions_is_found_too(make_chunk):
    signal = definition_signal(make_chunk(defines=("A", "LIMIT"), symbol_type="block"), [Name("LIMIT")])
    assert 0.8 < signal < 1


def test_no_name_no_definition(make_chunk):
    assert definition_signal(make_chunk(symbol_name="f"), []) == 0.0


def test_name_is_the_share_of_the_symbols_words(make_chunk):
    chunk = make_chunk(symbol_name="readNextPage")
    assert name_signal(chunk, frozenset({"read", "page", "disk"})) == pytest.approx(2 / 3)
    assert name_signal(make_chunk(), frozenset({"read"})) == 0.0


def test_a_named_path_is_a_full_match():
    assert path_signal("src/store/port.py", ("store/port.py",), frozenset()) == 1.0
    assert path_signal("src/xport.py", ("port.py",), frozenset()) == 0.0


def test_words_of_the_file_name_match_in_part():
    assert path_signal("src/page_cache.go", (), frozenset({"cache"})) == 0.5


def test_phrases_are_matched_verbatim(make_candidate):
    candidate = make_candidate("raise ValueError('No such key')\n")
    assert phrase_signal(candidate, ("No such key",)) == 1.0
    assert 0 < phrase_signal(candidate, ("no such KEY",)) < 1
    assert phrase_signal(candidate, ("No such", "missing")) == 0.5
    assert phrase_signal(candidate, ()) == 0.0
