import pytest

from codequarry.search_api.query.names import Name
from codequarry.search_api.ranking.signals import (
    definition_signal,
    path_signal,
    phrase_signal,
    semantic_signal,
)


@pytest.mark.parametrize(("cosine", "signal"), [(None, 0), (-0.5, 0), (0.4, 0.4), (1.0000001, 1)])
def test_semantic_is_the_positive_cosine(cosine, signal):
    assert semantic_signal(cosine) == signal


def test_a_more_exact_name_is_a_better_definition(make_chunk):
    wanted = [Name("readPage")]
    signals = [
        definition_signal(make_chunk(symbol_name=name, body_start_char=9), wanted)
        for name in ("readPage", "readpage", "read_page", "readPages")
    ]
    assert signals == sorted(signals, reverse=True)
    assert signals[0] == 1.0
    assert signals[-1] == 0.0


def test_the_part_with_the_signature_defines_a_split_symbol(make_chunk):
    fields = {"symbol_name": "flush", "signature": "def flush(self) -> None", "body_start_char": 9}
    comment = make_chunk("# Writes the buffer\n", symbol_part="1/3", **fields)
    head = make_chunk("def flush(self) -> None:\n", symbol_part="2/3", **fields)
    middle = make_chunk("self.file.flush()\n", symbol_part="3/3", **fields)
    signals = [definition_signal(chunk, [Name("flush")]) for chunk in (head, comment, middle)]
    assert signals == sorted(signals, reverse=True)
    assert len(set(signals)) == 3


def test_a_body_defines_more_than_a_prototype_or_a_class_that_lists_it(make_chunk):
    body = definition_signal(make_chunk(symbol_name="Find", body_start_char=9), [Name("Find")])
    prototype = definition_signal(make_chunk(symbol_name="Find"), [Name("Find")])
    listed = definition_signal(
        make_chunk(symbol_name="Tree", symbol_type="class", defines=("Tree", "Find")), [Name("Find")]
    )
    assert body > prototype > listed > 0


def test_a_key_that_is_defined_with_its_scope_is_in_it(make_chunk):
    key = Name("port", ("server",))
    full, plain = make_chunk(defines=("port", "server.port")), make_chunk(defines=("port",))
    assert definition_signal(full, [key]) > definition_signal(plain, [key]) > 0


def test_the_scope_of_the_query_counts(make_chunk):
    wanted = [Name("read", ("Reader",))]
    right = definition_signal(make_chunk(symbol_name="read", qualified_name="io.Reader.read"), wanted)
    wrong = definition_signal(make_chunk(symbol_name="read", qualified_name="io.Writer.read"), wanted)
    assert right > wrong > 0


def test_code_defines_more_than_documentation(make_chunk):
    code = definition_signal(make_chunk(symbol_name="Router", symbol_type="class"), [Name("Router")])
    text = definition_signal(make_chunk(symbol_name="Router", symbol_type="documentation"), [Name("Router")])
    assert code > text > 0


def test_a_definition_in_a_block_of_several_counts(make_chunk):
    signal = definition_signal(make_chunk(defines=("A", "LIMIT"), symbol_type="block"), [Name("LIMIT")])
    assert 0.8 < signal < 1


def test_without_a_name_the_definition_signal_is_zero(make_chunk):
    assert definition_signal(make_chunk(symbol_name="f"), []) == 0.0


def test_a_named_path_is_a_full_match():
    assert path_signal("src/store/Port.py", ("store/port.py",)) == 1.0
    assert path_signal("port.py", ("port.py",)) == 1.0
    assert path_signal("src/xport.py", ("port.py",)) == 0.0


def test_phrases_are_matched_verbatim(make_candidate):
    candidate = make_candidate("raise ValueError('No such key')\n")
    assert phrase_signal(candidate, ("No such key",)) == 1.0
    assert 0 < phrase_signal(candidate, ("no such KEY",)) < 1
    assert phrase_signal(candidate, ("No such", "missing")) == 0.5
    assert phrase_signal(candidate, ()) == 0.0
