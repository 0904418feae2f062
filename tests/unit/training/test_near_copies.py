import random

from training.near_copies import Fingerprints, signature


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


def test_the_share_of_equal_minima_estimates_the_share_of_equal_runs_of_words():
    words = [f"w{number}" for number in range(3_000)]
    first, second = " ".join(words[:2_000]), " ".join(words[1_000:])
    share = (signature(first) == signature(second)).mean()
    # One third of the runs of both are the same; 64 minima tell it within a few hundredths, and 1/256 by chance.
    assert 0.15 < share < 0.55


def test_nothing_is_near_to_no_code_at_all_and_an_empty_file_is_no_error():
    assert not Fingerprints.of([]).has_near_copy(code(1))
    assert not Fingerprints.of([code(1)]).has_near_copy("")
