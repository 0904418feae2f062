"""Pairing removed with added pieces of code, and how alike two pieces are."""

from collections import Counter

import pytest

from codequarry.search_api.search.likeness import containment, fingerprint, fingerprint_of, likeness, shared_lines
from codequarry.search_api.search.moves import Counterparts, Prints, alike_pieces, pair_up

RETRY = "def {name}(job, attempt):\n    delay = base_delay * 2 ** attempt\n    scheduler.enqueue(job, delay)\n"
FLUSH = "def {name}(buffer):\n    buffer.write_to(disk)\n    buffer.clear()\n"


@pytest.fixture
def piece(make_chunk):
    """Return a function that makes a function of the given text, which names itself."""

    def make(path, name, text=RETRY, **fields):
        names = {"symbol_name": name, "qualified_name": name, "defines": (name,), **fields}
        return make_chunk(text.format(name=name), path, id=f"{path}:{name}", **names)

    return make


def told(candidates, renamed=None, is_real=lambda _: True):
    found = pair_up([Counterparts(*pair) for pair in candidates], renamed or {}, is_real, Prints())
    return {(pieces.before.id, pieces.after.id) for pieces in found}


def test_a_declared_name_does_not_count(piece):
    one, other = fingerprint_of(piece("a.py", "retry")), fingerprint_of(piece("a.py", "again"))
    assert likeness(one, other) == containment(one, other) == 1


def test_likeness_is_the_share_of_neighbouring_tokens():
    assert likeness(fingerprint("a b c d"), fingerprint("a b c d")) == 1
    assert 0 < likeness(fingerprint("a b c d"), fingerprint("d c a b")) < 0.5
    assert likeness(fingerprint("a b"), fingerprint("c d")) == 0
    assert containment(fingerprint("b c d e"), fingerprint("a b c d e f")) > likeness(
        fingerprint("b c d e"), fingerprint("a b c d e f")
    )
    assert likeness(fingerprint(""), fingerprint("")) <= 1


def test_files_are_compared_by_the_text_of_their_lines():
    """Short lines, such as closing brackets, are alike everywhere."""
    assert shared_lines(Counter(["}", "one long line"]), Counter(["}", "another long line"])) < 0.1
    assert shared_lines(Counter(["a line", "a line"]), Counter(["a line"])) == pytest.approx(2 / 3)
    assert shared_lines(Counter(), Counter()) == 0


def test_equal_code_goes_before_the_same_name(piece):
    old = piece("a.py", "retry")
    equal, named = piece("b.py", "retry"), piece("c.py", "retry", RETRY + "    log(job)\n")
    assert told([(old, named), (old, equal)]) == {(old.id, equal.id)}


def test_each_piece_has_one_counterpart(piece):
    first, second, new = piece("a.py", "retry"), piece("b.py", "retry_soon"), piece("c.py", "retry")
    assert told([(first, new), (second, new)]) == {(first.id, new.id)}


def test_a_piece_that_is_still_there_is_passed_over(piece):
    first, second, new = piece("a.py", "retry"), piece("b.py", "retry"), piece("c.py", "retry")
    gone = lambda pieces: pieces.before is second  # noqa: E731
    assert told([(first, new), (second, new)], is_real=gone) == {(second.id, new.id)}


def test_parts_share_the_piece_that_holds_them(piece):
    one, other = piece("a.py", "retry"), piece("a.py", "flush", FLUSH)
    both = piece(
        "b.py", "both", one.text + other.text, symbol_name=None, qualified_name=None, defines=("retry", "flush")
    )
    assert told([(one, both), (other, both)]) == {(one.id, both.id), (other.id, both.id)}


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("def {name}(self):\n    return self.size\n", "def {name}(self):\n    return self.name\n"),
        ("def {name}():\n    pass\n", "def {name}():\n    pass\n"),
        (RETRY, FLUSH),
    ],
)
def test_code_that_says_little_or_something_else_is_not_renamed(piece, before, after):
    assert told([(piece("a.py", "old", before), piece("a.py", "new", after))]) == set()


def test_a_function_may_become_a_method_but_not_a_class(piece):
    old = piece("a.py", "retry")
    edited = RETRY.replace("base_delay * 2 ** attempt", "self.delays[attempt]").replace("enqueue", "add")
    assert told([(old, piece("b.py", "Jobs.retry", edited, symbol_name="retry", symbol_type="method"))])
    assert not told([(old, piece("b.py", "retry", edited, symbol_type="class"))])


def test_in_a_renamed_file_less_must_be_alike(piece):
    old = piece("a.py", "retry")
    new = piece("b.py", "retry", "def {name}(job, attempt):\n    job.tries += 1\n    return queue.put(job, attempt)\n")
    assert told([(old, new)]) == set()
    assert told([(old, new)], {"a.py": "b.py"}) == {(old.id, new.id)}


def test_the_likeliest_pieces_come_first(piece):
    old = piece("a.py", "retry")
    others = [piece("b.py", f"flush{number}", FLUSH) for number in range(8)]
    pairs = list(alike_pieces([old], [*others, piece("b.py", "again")], Prints()))
    assert pairs[0].after.id == "b.py:again"
    assert len(pairs) <= 5
    assert list(alike_pieces([], others, Prints())) == list(alike_pieces([old], [], Prints())) == []
