from collections import Counter

from training.pairs import Pair
from training.words import choose_tokens, count_words, sum_words


def test_whole_words_come_first_and_pieces_save_the_most_for_the_others():
    often = Counter({"parse": 90, "token": 80, "only": 70, **{f"xyzzy{letter}": 5 for letter in "abcdefghij"}})
    spread = Counter({"parse": 9, "token": 8, "only": 1})
    tokens = choose_tokens(often, spread, entries=400)
    assert tokens[:2] == ["parse", "token"] and "only" not in tokens, "a word of one package is a name of its own"
    assert {"##a", "##z", "##0"} <= set(tokens), "every letter and digit can be written"
    assert "##xyzzy" in tokens
    assert len(set(tokens)) == len(tokens) <= 400


def test_words_are_counted_over_all_parts_of_a_pair_and_once_for_each_package():
    pair = Pair("doc", "python", "a/parse.py", "Parse the thing", "", "def parse_thing(): ...")
    often, spread = sum_words([count_words([pair, pair]), count_words([pair])])
    assert often["parse"] == 9 and spread["parse"] == 2
