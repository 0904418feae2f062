from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

from codequarry.shared.embedding.vocabulary import Vocabulary
from training.augmentation import Augmentation, bag
from training.dataset import Dataset, encode
from training.learn import learn, made_of
from training.make import forget_other
from training.merge import merge
from training.pairs import Pair
from training.questions import FORMS, question_tokens
from training.recipe import Course, Member, Recipe
from training.train import Taught, Weights, batches, begin, loss_and_gradient, train

WORDS = [f"word{letter}" for letter in "abcdefghijklmnopqrstuvwxyz"] + [
    f"code{letter}" for letter in "abcdefghijklmnopqrstuvwxyz"
]
VOCABULARY = Vocabulary([*WORDS, *(f"##{letter}" for letter in "abcdefghijklmnopqrstuvwxyz0123456789")])


def synthetic(number, packages=4):
    """Yield pairs whose text and code share only what can be learned: worda goes with codea."""
    chance = np.random.default_rng(5)
    for _ in range(packages):
        pairs = []
        for _ in range(number // packages):
            letters = "".join(chance.choice(list("abcdefghijklmnopqrstuvwxyz"), size=3, replace=False))
            text, code = (" ".join(kind + letter for letter in letters) for kind in ("word", "code"))
            pairs.append(Pair("doc", "python", "", text, "", code))
        yield pairs


# No random augmentation: everything learned comes from the pairs.
PLAIN = Recipe(dimension=32, batch=128, block=8, code_dropout=0.0, doc_share=0.0, question_share=0.0, short_share=0.0)


def every(packages):
    return Dataset.join([encode(pairs, VOCABULARY) for pairs in packages])


def learned(data, recipe, course, seed, report=lambda *_: None):
    tokens = len(VOCABULARY.tokens)
    weights = begin(data, tokens, recipe, seed)
    train(data, weights, Augmentation(recipe, question_tokens(VOCABULARY), ((),), tokens), course, seed, report)
    return weights


def found(weights):
    """Return the share of words whose own code is nearest."""
    unit = weights.rows / np.linalg.norm(weights.rows, axis=1, keepdims=True)
    return ((unit[:26] @ unit[26:52].T).argmax(axis=1) == np.arange(26)).mean()


SHARES = np.array(
    [[0, 0.1, 0.2, 0.3, 0.4], [1, 0, 0, 0, 0], [0.5, 0.5, 0, 0, 0], [0.2] * 3 + [0, 0.4], [0.25] * 4 + [0]]
)


SOME = Taught(np.array([0, 2, 4]), np.array([[0, 0.3, 0.7], [1, 0, 0], [0.5, 0.5, 0]]), 5.0, 0.7)


@pytest.mark.parametrize("taught", [None, Taught(np.arange(5), SHARES, 5.0, 0.7), SOME])
def test_the_gradient_matches_the_numeric_slope_of_the_loss(taught):
    chance = np.random.default_rng(1)
    weights = Weights(chance.standard_normal((9, 4)), chance.standard_normal(9) / 4)
    texts, codes = (sparse.csr_matrix(np.maximum(chance.standard_normal((5, 9)), 0)) for _ in range(2))
    same = np.zeros((5, 5), dtype=bool)
    same[0, 3] = same[3, 0] = True
    step = 1e-6

    def slope_of(change):
        return (loss_at(change, step) - loss_at(change, -step)) / (2 * step)

    def loss_at(change, by):
        moved = Weights(weights.rows.copy(), weights.log_query.copy())
        return loss_and_gradient(moved, texts, codes, change(moved, by) or 3.0, same, taught)[0]

    def move_row(row, column):
        def change(moved, by):
            moved.rows[row, column] += by

        return change

    def move_query_weight(row):
        def change(moved, by):
            moved.log_query[row] += by

        return change

    _, found = loss_and_gradient(weights, texts, codes, 3.0, same, taught)
    for at, row in enumerate(found.tokens):
        for column in range(4):
            assert found.rows[at, column] == pytest.approx(slope_of(move_row(row, column)), abs=1e-6)
        assert found.log_query[at] == pytest.approx(slope_of(move_query_weight(row)), abs=1e-6)
    assert found.log_scale == pytest.approx(slope_of(lambda _, by: 3.0 * np.exp(by)), abs=1e-6)


def test_training_brings_pairs_together(tmp_path):
    data = every(synthetic(2_000))
    data.write(tmp_path / "train.npz")
    data = Dataset.read(tmp_path / "train.npz")
    reports = []
    weights = learned(data, PLAIN, Course(12, 0.01), 1, lambda *report: reports.append(report))
    assert found(weights) > 0.9
    assert reports[-1][1] < reports[0][1] and 0 < reports[-1][0] <= 1


def test_the_same_seed_gives_the_same_model():
    data = every(synthetic(400))
    recipe = Recipe(dimension=8, batch=64, block=8)
    first, second, other = (learned(data, recipe, Course(1, 0.01), seed) for seed in (1, 1, 2))
    assert np.array_equal(first.rows, second.rows) and not np.array_equal(first.rows, other.rows)
    assert np.array_equal(first.log_query, second.log_query)


def test_separately_trained_tables_merge_without_growing():
    data = every(synthetic(1_000))
    tables = [learned(data, PLAIN, Course(6, 0.01), seed) for seed in (1, 2, 3)]
    occurrences = np.bincount(
        np.concatenate([part.flat for part in data.parts.values()]), minlength=len(VOCABULARY.tokens)
    )
    merged = merge(tables, occurrences)
    assert merged.rows.shape == tables[0].rows.shape
    assert found(merged) >= max(map(found, tables)) > 0.5
    assert np.allclose(merged.log_query, np.mean([table.log_query for table in tables], axis=0))


def test_merging_a_single_table_only_rotates_it():
    chance = np.random.default_rng(1)
    table = Weights(chance.standard_normal((9, 4)).astype(np.float32), np.zeros(9, np.float32))
    merged = merge([table], np.arange(9))
    assert np.allclose(merged.rows @ merged.rows.T, table.rows @ table.rows.T, atol=1e-4)


def stage_to_learn(folder: Path, packages):
    every(packages).write(folder / "train.npz")
    VOCABULARY.write(folder / "vocabulary.txt")


TWO = replace(PLAIN, members=(Member(), Member(Course(2, 0.01))))


def test_training_continues_from_finished_members(tmp_path):
    stage_to_learn(tmp_path, synthetic(600))
    _, first = learn(tmp_path, 7, TWO)
    kept, other = tmp_path / "part-7-0.npz", tmp_path / "part-7-1.npz"
    stamp = kept.stat().st_mtime_ns
    other.unlink()
    _, again = learn(tmp_path, 7, TWO)
    assert kept.stat().st_mtime_ns == stamp and np.array_equal(first.rows, again.rows)


def test_a_changed_recipe_or_changed_pairs_discard_finished_members(tmp_path):
    stage_to_learn(tmp_path, synthetic(600))
    part, model = tmp_path / "part-7-0.npz", tmp_path / "model-7"

    def lay(recipe):
        forget_other(tmp_path, recipe)
        left = part.exists(), model.exists()
        part.touch()
        model.mkdir(exist_ok=True)
        return left

    assert lay(TWO) == (False, False) and lay(TWO) == (True, True)
    assert lay(replace(TWO, scale=9.0)) == (False, False)
    stage_to_learn(tmp_path, synthetic(400))
    assert lay(replace(TWO, scale=9.0)) == (False, False) and lay(replace(TWO, scale=9.0)) == (True, True)
    (tmp_path / "learned-from").unlink()
    assert lay(replace(TWO, scale=9.0)) == (False, False), "without a record, the part must be learned again"
    assert made_of(tmp_path, TWO) != made_of(tmp_path, PLAIN)


def test_a_batch_is_made_of_blocks_of_one_package():
    data = every(synthetic(800))
    recipe = Recipe(batch=64, block=8)
    seen = []
    for which in batches(data, recipe, np.random.default_rng(1)):
        blocks = data.package[which].reshape(-1, recipe.block)
        assert (blocks == blocks[:, :1]).mean() > 0.9
        seen += which.tolist()
    assert len(seen) == len(set(seen)) >= len(data) - recipe.batch


def test_a_token_weighs_the_square_root_of_its_count():
    counted = bag(np.array([0, 0, 0, 0, 1]), np.array([2, 2, 2, 2, 0], np.int32), (2, 3))
    assert counted.toarray().tolist() == [[0, 0, 2], [1, 0, 0]]


def test_duplicate_pairs_count_once():
    pair = Pair("doc", "go", "a.go", "Opens the archive", "", "func Open() {}")
    data = every([[pair, pair], [pair]])
    assert len(data) == 1 and data.languages == ("go",)


def test_questions_are_put_in_every_form():
    assert len(question_tokens(VOCABULARY)) == len(FORMS) and all(question_tokens(VOCABULARY))
