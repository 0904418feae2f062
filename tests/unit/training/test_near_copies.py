import random
import re
import zlib

import pytest

from training.near_copies import Fingerprints, _runs, signature


def code(seed, lines=200):
    chance = random.Random(seed)
    return "\n".join(f"value_{chance.randrange(10**6)} = compute({chance.randrange(10**6)})" for _ in range(lines))


def test_a_copy_with_small_changes_is_found_and_other_code_is_not(tmp_path):
    own = [code(seed) for seed in range(20)]
    Fingerprints.of(own).write(tmp_path / "kept.npz")
    kept = Fingerprints.read(tmp_path / "kept.npz")
    lines = own[3].split("\n")
    changed = "\n".join(["# copied", *lines[:90], *lines[94:]])
    assert kept.has_near_copy(own[3])
    assert kept.has_near_copy(changed)
    assert not kept.has_near_copy("\n".join(lines[:60] + code(99).split("\n")))
    assert not kept.has_near_copy(code(99))


@pytest.mark.parametrize(
    "text", ["", "a", "one två tre", "a b c d e", "a b c d e f", code(1), "né(中);  x_1 ٣ q\n" * 4]
)
def test_what_is_hashed_stays_as_the_kept_fingerprints_were_made(text):
    """Those of the code bases that are measured can't be made anew: their sources are not here."""
    words = re.findall(r"\w+", text)
    runs = [" ".join(words[at : at + 5]) for at in range(max(1, len(words) - 4))]
    assert _runs([word.encode() for word in words]) == {zlib.crc32(run.encode()) for run in runs}


def test_a_signature_stays_as_it_was():
    assert signature(code(1)).tobytes().hex().startswith("f39d0465d14429729cf2f2c6d9a480b0")


def test_the_share_of_equal_minima_estimates_the_share_of_equal_runs_of_words():
    words = [f"w{number}" for number in range(3_000)]
    first, second = " ".join(words[:2_000]), " ".join(words[1_000:])
    share = (signature(first) == signature(second)).mean()
    # One third of the runs of both are the same; 64 minima tell it within a few hundredths, and 1/256 by chance.
    assert 0.15 < share < 0.55


def test_nothing_is_near_to_no_code_at_all_and_an_empty_file_is_no_error():
    assert not Fingerprints.of([]).has_near_copy(code(1))
    assert not Fingerprints.of([code(1)]).has_near_copy("")
