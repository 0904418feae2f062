import random
import re
import zlib

import pytest

from training.near_copies import Fingerprints, _runs, signature


def code(seed, lines=200):
    chance = random.Random(seed)
    return "\n".join(f"value_{chance.randrange(10**6)} = compute({chance.randrange(10**6)})" for _ in range(lines))


def test_a_copy_with_small_changes_is_found_but_other_code_is_not(tmp_path):
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
def test_hashing_still_matches_the_stored_fingerprints(text):
    """The stored fingerprints of the evaluation repositories cannot be recomputed: their sources are not here."""
    words = re.findall(r"\w+", text)
    runs = [" ".join(words[at : at + 5]) for at in range(max(1, len(words) - 4))]
    assert _runs([word.encode() for word in words]) == {zlib.crc32(run.encode()) for run in runs}


def test_a_signature_keeps_its_stored_value():
    assert signature(code(1)).tobytes().hex().startswith("f39d0465d14429729cf2f2c6d9a480b0")


def test_equal_minima_estimate_the_share_of_equal_word_runs():
    words = [f"w{number}" for number in range(3_000)]
    first, second = " ".join(words[:2_000]), " ".join(words[1_000:])
    share = (signature(first) == signature(second)).mean()
    # A third of all runs are in both texts; 64 minima estimate it to a few hundredths, with 1/256 equal by chance.
    assert 0.15 < share < 0.55


def test_empty_fingerprints_and_empty_files_match_nothing():
    assert not Fingerprints.of([]).has_near_copy(code(1))
    assert not Fingerprints.of([code(1)]).has_near_copy("")
