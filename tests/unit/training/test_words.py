from collections import Counter

from training.pairs import Pair
from training.words import choose_tokens, count_words, sum_words


def test_whole_words_come_first_then_the_most_useful_pieces():
    often = Counter({"parse": 90, "token": 80, "only": 70, **{f"xyzzy{letter}": 5 for letter in "abcdefghij"}})
    spread = Counter({"parse": 9, "token": 8, "only": 1})
    tokens = choose_tokens(often, spread, entries=400)
    assert tokens[:2] == ["parse", "token"] and "only" not in tokens, "a word of one package must not become a token"
    assert {"##a", "##z", "##0"} <= set(tokens), "every letter and digit needs a token"
    assert "##xyzzy" in tokens
    assert len(set(tokens)) == len(tokens) <= 400


def test_words_are_counted_in_all_parts_and_spread_once_per_package():
    pair = Pair("doc", "python", "a/parse.py", "Parse the thing", "", "def parse_thing(): ...")
    often, spread = sum_words([count_words([pair, pair]), count_words([pair])])
    assert often["parse"] == 9 and spread["parse"] == 2
