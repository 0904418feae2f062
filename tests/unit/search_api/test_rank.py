from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from codequarry.search_api.rank import KIND_WEIGHTS, REPEAT_WEIGHT, has_match, rank, score
from codequarry.search_api.signals import Signals
from codequarry.shared.model import KINDS_OF_FILE

SHARE = st.floats(0, 1)
SIGNALS = st.builds(Signals, SHARE, SHARE, SHARE, SHARE, SHARE)


@given(SIGNALS)
def test_scores_lie_between_zero_and_one(signals):
    assert 0 <= score(signals) <= 1


@given(SIGNALS, st.sampled_from(Signals.__slots__), SHARE)
def test_scores_grow_with_every_signal(signals, name, value):
    more = replace(signals, **{name: max(value, getattr(signals, name))})
    assert score(more) >= score(signals) - 1e-12


def test_every_kind_of_file_has_a_weight():
    assert set(KIND_WEIGHTS) == set(KINDS_OF_FILE)


def test_a_definition_comes_before_its_uses_and_its_tests(plan, make_candidate, make_recall):
    definition = make_candidate("def flush(self): pass\n", "src/io.py", symbol_name="flush", similarity=0.3)
    use = make_candidate("flush() flush() flush()\n", "src/app.py", similarity=0.9)
    test = make_candidate(
        "def flush(): pass\n", "tests/io.py", symbol_name="flush", kind_of_file="test", similarity=0.9
    )
    ranked = rank(plan("flush"), make_recall(use, test, definition))
    assert ranked[0].candidate == definition


def test_tests_weigh_less_unless_asked_for(plan, make_candidate, make_recall):
    source = make_candidate("retry the job\n", "src/a.py")
    test = make_candidate("retry the job\n", "tests/a.py", kind_of_file="test")
    recall = make_recall(source, test)
    first, second = rank(plan("retry job"), recall)
    assert (first.candidate, second.kind_weight) == (source, KIND_WEIGHTS["test"])
    assert {item.kind_weight for item in rank(plan("test retry job"), recall)} == {1.0}
    assert {item.kind_weight for item in rank(plan("retry job kind:test"), recall)} == {1.0}


def test_a_second_chunk_of_a_file_makes_room_for_other_files(plan, make_candidate, make_recall):
    best = make_candidate("retry the job again job\n", "src/a.py", start_line=1)
    again = make_candidate("retry the job at once\n", "src/a.py", start_line=20)
    other = make_candidate("retry a job some other time of day\n", "src/b.py")
    ranked = rank(plan("retry job"), make_recall(best, again, other))
    assert [item.candidate.chunk.path for item in ranked] == ["src/a.py", "src/b.py", "src/a.py"]
    assert [item.repeat_weight for item in ranked] == [1.0, 1.0, REPEAT_WEIGHT]


def test_definitions_asked_for_are_not_lowered_for_being_in_one_file(plan, make_candidate, make_recall):
    overloads = [
        make_candidate(f"void flush(int a{line});\n", "src/a.java", start_line=line, symbol_name="flush")
        for line in (1, 20, 40)
    ]
    ranked = rank(plan("flush"), make_recall(*overloads))
    assert {item.repeat_weight for item in ranked} == {1.0}


def test_prose_weighs_less_than_code_with_the_same_words(plan, make_candidate, make_recall):
    prose = make_candidate("retry the job\n", "src/a.md", symbol_type="documentation")
    code = make_candidate("retry the job\n", "src/b.py")
    assert rank(plan("retry job"), make_recall(prose, code))[0].candidate == code


def test_a_phrase_found_comes_before_its_words(plan, make_candidate, make_recall):
    phrase = make_candidate("x = 'no such key'\n", "src/a.py")
    words = make_candidate("key key such such no no key\n", "src/b.py")
    ranked = rank(plan('"no such key"'), make_recall(words, phrase))
    assert ranked[0].candidate == phrase


def test_equal_scores_are_ordered_by_place(plan, make_candidate, make_recall):
    places = [("b.py", 1), ("a.py", 9), ("a.py", 1)]
    candidates = [make_candidate("retry\n", path, start_line=line) for path, line in places]
    candidates.append(replace(candidates[0], chunk=replace(candidates[0].chunk, repo="other", id="z")))
    order = [
        (item.candidate.chunk.repo, item.candidate.chunk.path, item.candidate.chunk.start_line)
        for item in rank(plan("retry"), make_recall(*candidates))
    ]
    # The second chunk of a.py has the words of the first, and weighs less for coming after it.
    assert order == [("other", "b.py", 1), ("quarry", "a.py", 1), ("quarry", "b.py", 1), ("quarry", "a.py", 9)]


def test_the_order_of_the_engine_does_not_matter(plan, make_candidate, make_recall):
    candidates = [make_candidate(f"retry job {'x ' * size}\n", f"{size}.py", 0.01 * size) for size in range(9)]
    there, back = make_recall(*candidates), make_recall(*reversed(candidates))
    assert [item.id for item in rank(plan("retry job"), there)] == [item.id for item in rank(plan("retry job"), back)]


def test_what_shares_nothing_with_the_query_is_no_match(plan, make_candidate, make_recall):
    far, near = make_candidate("alpha\n", similarity=0.05), make_candidate("beta\n", "b.py", similarity=0.6)
    word = make_candidate("retry\n", "c.py", similarity=None)

    def is_found(query, candidate):
        asked = plan(query)
        return has_match(asked, rank(asked, make_recall(candidate)))

    assert not is_found("retry later", far)
    assert is_found("retry later", near)
    assert is_found("retry", word)
    assert is_found("gamma lang:python", far)
