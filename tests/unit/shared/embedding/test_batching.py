from hypothesis import given
from hypothesis import strategies as st

from codequarry.shared.embedding.batching import batches
from codequarry.shared.embedding.tokens import count_tokens


def test_both_limits_hold_and_empty_texts_are_left_out() -> None:
    texts = ["a" * 29, "b" * 29, "", "c" * 290, "d", "e", "f"]
    assert list(batches(texts, most_texts=2, most_tokens=20)) == [[0, 1], [3], [4, 5], [6]]
    assert list(batches(["", ""], 10, 10)) == []


@given(texts=st.lists(st.text(max_size=80), max_size=40), most_texts=st.integers(1, 8), most_tokens=st.integers(1, 60))
def test_every_text_is_sent_once_in_order(texts: list[str], most_texts: int, most_tokens: int) -> None:
    found = list(batches(texts, most_texts, most_tokens))
    assert [index for batch in found for index in batch] == [index for index, text in enumerate(texts) if text]
    for batch in found:
        assert 0 < len(batch) <= most_texts
        assert len(batch) == 1 or sum(count_tokens(texts[index]) for index in batch) <= most_tokens
