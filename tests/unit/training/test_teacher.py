from dataclasses import replace

import numpy as np
import pytest

from codequarry.shared.embedding.vocabulary import Vocabulary
from training import teacher
from training.augmentation import Augmentation
from training.dataset import KINDS, Dataset, Ragged, encode
from training.learn import PAIRS, TEACHER, learn
from training.learn import VOCABULARY as VOCABULARY_FILE
from training.pairs import Pair
from training.recipe import Course, Member, Recipe
from training.teacher import Teacher, ask_teacher
from training.train import begin, train

_NUMBERS = ["one", "two", "three", "four", "five", "six", "seven", "eight"]
WORDS = ["delete", "remove", "a", "the", "file", "folder", "open", "network", "socket", *_NUMBERS]
VOCABULARY = Vocabulary([*WORDS, *(f"##{letter}" for letter in "abcdefghijklmnopqrstuvwxyz0123456789")])
RECIPE = Recipe()
TEXTS = ("delete the file", "remove the file", "open a network socket", "unlink")


@pytest.fixture
def data():
    return Dataset.join([encode([Pair("doc", "python", "", text, "", "one two") for text in TEXTS], VOCABULARY)])


@pytest.fixture
def answers(data, tmp_path, models_folder, monkeypatch):
    monkeypatch.setattr(teacher, "_OF_A_FILE", 3)
    ask_teacher(RECIPE, data, VOCABULARY, tmp_path / "teacher", models_folder)
    return tmp_path / "teacher"


def test_texts_are_near_by_meaning_not_by_words(data, answers):
    cosines = Teacher.read(RECIPE, data, answers).likeness(data.text_key)
    assert np.allclose(np.diag(cosines), 1, atol=1e-3) and np.allclose(cosines, cosines.T)
    delete, remove, socket, _ = range(4)
    assert cosines[delete, remove] > 0.6 > 0.4 > cosines[delete, socket]


def test_only_missing_files_are_asked_again(data, answers, models_folder):
    files = sorted(answers.iterdir())
    assert len(files) == 2 and all(file.suffix == ".npy" for file in files)
    before = Teacher.read(RECIPE, data, answers).vectors
    files[0].unlink()
    kept = files[1].stat().st_mtime_ns
    ask_teacher(RECIPE, data, VOCABULARY, answers, models_folder)
    assert files[1].stat().st_mtime_ns == kept
    assert np.array_equal(Teacher.read(RECIPE, data, answers).vectors, before)


def test_a_text_gets_the_same_vector_in_any_batch(tmp_path, models_folder):
    """The teacher reads texts sorted by length; each result must return to its own place."""
    texts = [" ".join(WORDS[:length]) for length in (9, 2, 15, 1, 12, 4, 7, 17)] + ["remove one", "open two"]

    def read(texts):
        data = Dataset.join([encode([Pair("doc", "python", "", text, "", text) for text in texts], VOCABULARY)])
        folder = tmp_path / str(len(texts)) / texts[0]
        folder.parent.mkdir(exist_ok=True)
        ask_teacher(RECIPE, data, VOCABULARY, folder, models_folder)
        answers = Teacher.read(RECIPE, data, folder)
        rows = answers.vectors[np.searchsorted(answers.keys, data.text_key)].astype(np.float32)
        return rows / np.linalg.norm(rows, axis=1, keepdims=True)

    together = read(texts)
    alone = np.concatenate([read([text]) for text in texts[:4]])
    assert np.all((together[:4] * alone).sum(axis=1) > 0.97)
    assert np.all((together[:4] @ alone.T).argmax(axis=1) == np.arange(4))


def test_long_texts_are_cut_and_pieces_lose_their_mark(data, monkeypatch):
    monkeypatch.setattr(teacher, "_MOST_TOKENS", 2)
    lists = Ragged.of([VOCABULARY.ids("delete the file"), VOCABULARY.ids("unlink")])
    assert teacher._said(replace(data, parts={"text": lists}), VOCABULARY, np.arange(2)) == ["delete the", "un"]


def test_leftover_files_of_other_texts_are_removed(data, answers, models_folder):
    (answers / "minilm-old.npy").touch()
    (answers / "minilm-one.5.new").touch()
    ask_teacher(RECIPE, data, VOCABULARY, answers, models_folder)
    assert len(list(answers.iterdir())) == 2


def test_comments_inside_code_are_not_read(tmp_path, models_folder):
    pairs = [Pair(kind, "python", "", text, "", text) for kind, text in zip(KINDS, TEXTS, strict=True)]
    dataset = Dataset.join([encode(pairs, VOCABULARY)])
    ask_teacher(RECIPE, dataset, VOCABULARY, tmp_path / "teacher", models_folder)
    answers = Teacher.read(RECIPE, dataset, tmp_path / "teacher")
    without = dataset.text_key[dataset.kind != KINDS.index("comment")]
    assert answers.keys.tolist() == sorted(without)
    assert len(answers.vectors) == 3


def test_an_unknown_text_is_an_error(data, answers):
    with pytest.raises(KeyError, match="has not read"):
        Teacher.read(RECIPE, data, answers).likeness(np.array([5]))


def test_the_teacher_brings_words_together_that_share_no_code():
    """Each text has its own code, so the pairs teach nothing; only the teacher knows that one and two are near."""
    texts = [f"{first} {second}" for first in WORDS[9:13] for second in WORDS[13:]]
    pairs = [Pair("doc", "python", "", text, "", " ".join(f"x{letter}" for letter in text)) for text in texts]
    # The teacher does not know the comments and must not be asked for them.
    comments = [Pair("comment", "python", "", f"a {text}", "", f"open {text}") for text in texts]
    many = Dataset.join([encode(pairs, VOCABULARY), encode(comments, VOCABULARY)])
    keys = np.unique(many.text_key[many.kind == KINDS.index("doc")])
    by_first = {key: WORDS[9:13].index(text.split()[0]) // 2 for key, text in zip(many.text_key, texts, strict=False)}
    guide = Teacher(keys, np.array([[127, 0] if by_first[key] else [0, 127] for key in keys], np.int8))
    recipe = Recipe(dimension=16, batch=16, block=4, text_dropout=0.0, short_share=0.0, question_share=0.0)

    def cosine_of_one_and_two(weight, guide):
        given = replace(recipe, teacher_weight=weight)
        weights = begin(many, len(VOCABULARY.tokens), given, 1)
        train(
            many,
            weights,
            Augmentation(given, ((),), ((),), len(VOCABULARY.tokens)),
            Course(60, 0.02),
            1,
            print,
            guide,
        )
        one, two, three = weights.rows[9:12] / np.linalg.norm(weights.rows[9:12], axis=1, keepdims=True)
        return one @ two - one @ three

    assert cosine_of_one_and_two(1.0, guide) > cosine_of_one_and_two(0.0, guide) + 0.3


def test_a_batch_of_only_comments_is_learned_without_the_teacher():
    comments = [Pair("comment", "python", "", f"{word} file", "", f"open {word}") for word in WORDS[9:]]
    data = Dataset.join([encode(comments, VOCABULARY)])
    recipe, knows_nothing = Recipe(dimension=4, batch=8, block=4), Teacher(np.zeros(0, int), np.zeros((0, 2), np.int8))
    weights = begin(data, len(VOCABULARY.tokens), recipe, 1)
    before = weights.rows.copy()
    augmentation = Augmentation(recipe, ((),), ((),), len(VOCABULARY.tokens))
    train(data, weights, augmentation, Course(3, 0.02), 1, print, knows_nothing)
    assert not np.array_equal(weights.rows, before)


def test_pairs_without_a_taught_kind_are_an_error(data, tmp_path, models_folder):
    with pytest.raises(ValueError, match="no pair is of a kind that is taught: comment"):
        ask_teacher(Recipe(taught_kinds=("comment",)), data, VOCABULARY, tmp_path, models_folder)


def test_a_taught_member_learns_other_rows_than_an_untaught_member(data, tmp_path, models_folder):
    data.write(tmp_path / PAIRS)
    VOCABULARY.write(tmp_path / VOCABULARY_FILE)
    ask_teacher(RECIPE, data, VOCABULARY, tmp_path / TEACHER, models_folder)

    def learned(*members):
        learn(tmp_path, 1, Recipe(dimension=8, batch=4, block=2, members=members))
        rows = [np.load(tmp_path / f"part-1-{number}.npz")["rows"] for number in range(2)]
        for number in range(2):
            (tmp_path / f"part-1-{number}.npz").unlink()
        return rows

    course = Course(3, 0.01)
    taught, plain = learned(Member(course, taught=True), Member(course)), learned(Member(course), Member(course))
    assert not np.array_equal(taught[0], plain[0])
    assert np.array_equal(taught[1], plain[1])
