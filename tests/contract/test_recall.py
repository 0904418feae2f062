"""The channels of a recall, their limits, and the counts that scores are computed from."""

import numpy as np
import pytest

from codequarry.shared.errors import ModelMismatch
from codequarry.shared.model import Filters, Layer, Snapshot, Tokens
from codequarry.shared.store.records import Recall, RecallQuery

# 7-bit vectors are this close to the exact cosine.
CLOSE = 0.02


@pytest.fixture
def recall(store, snapshot):
    """Return a function that recalls from the store, from timeline 1 unless a snapshot is given."""

    def ask(seen=None, **fields) -> Recall:
        return store.recall(RecallQuery(seen or snapshot(), **fields))

    return ask


def paths(answer: Recall, ids) -> list[str]:
    return [answer.candidates[id].chunk.path for id in ids]


class TestEmpty:
    def test_an_empty_store_answers(self, recall, make_vector):
        answer = recall(vector=make_vector("q"), terms=("a", "b"), symbols=("c",), paths=("d.py",))
        assert (dict(answer.candidates), answer.live_chunks) == ({}, 0)
        assert dict(answer.document_frequencies) == {"a": 0, "b": 0}
        assert set(answer.average_lengths.values()) == {0.0}

    def test_an_empty_query_finds_nothing_but_counts(self, store, recall, make_row, write):
        write(store, make_row())
        answer = recall()
        assert dict(answer.candidates) == {}
        assert answer.live_chunks == 1

    def test_a_snapshot_without_timelines_is_empty(self, store, recall, make_row, write, make_vector):
        write(store, make_row("word"))
        for seen in (Snapshot(()), Snapshot((Layer((), 100),))):
            answer = recall(seen, vector=make_vector("q"), terms=("word",))
            assert (dict(answer.candidates), answer.live_chunks) == ({}, 0)
            assert dict(answer.document_frequencies) == {"word": 0}


class TestVectors:
    def test_the_nearest_chunks_come_first_with_their_cosines(self, store, recall, make_row, write, make_vector):
        rows = [make_row(f"text {number}", f"{number}.py") for number in range(60)]
        write(store, *rows)
        query = make_vector("query")
        cosines = {row.chunk.id: float(make_vector(row.vector_key) @ query) for row in rows}
        answer = recall(vector=query, vector_limit=10)
        assert set(answer.by_vector) == set(sorted(cosines, key=cosines.__getitem__)[-10:])
        found = [answer.candidates[id].similarity for id in answer.by_vector]
        assert found == pytest.approx([cosines[id] for id in answer.by_vector], abs=CLOSE)
        assert found == sorted(found, reverse=True)

    def test_every_candidate_has_its_cosine_if_the_query_has_a_vector(
        self, store, recall, make_row, write, make_vector
    ):
        rows = [make_row(f"text {number}", f"{number}.py") for number in range(30)]
        write(store, *rows, make_row("rare", "rare.py", vector_key="far"))
        query = make_vector("query")
        answer = recall(vector=query, vector_limit=1, terms=("rare",))
        (found,) = answer.by_terms
        assert answer.candidates[found].similarity == pytest.approx(float(make_vector("far") @ query), abs=CLOSE)

    def test_without_a_vector_there_is_no_similarity(self, store, recall, make_row, write):
        write(store, make_row("word"))
        (candidate,) = recall(terms=("word",)).candidates.values()
        assert candidate.similarity is None

    def test_rows_that_share_a_vector_are_all_found(self, store, recall, make_row, write, make_vector):
        write(store, *(make_row("same", f"{number}.py", vector_key="same") for number in range(7)))
        answer = recall(vector=make_vector("same"))
        assert len(answer.by_vector) == 7
        assert {round(candidate.similarity, 1) for candidate in answer.candidates.values()} == {1.0}

    def test_filters_apply_inside_the_vector_search(self, store, recall, make_row, write, make_vector):
        rows = [
            make_row(f"text {number}", f"{number}.py", language="go" if number % 400 == 7 else "python")
            for number in range(2000)
        ]
        write(store, *rows)
        go = Filters(terms=(("language", ("go",)),))
        wanted = {row.chunk.path for row in rows if row.chunk.language == "go"}
        assert len(wanted) == 5
        for seed in range(3):
            answer = recall(vector=make_vector(f"query {seed}"), vector_limit=20, filters=go)
            assert set(paths(answer, answer.by_vector)) == wanted

    def test_dead_and_hidden_neighbours_do_not_use_up_the_limit(
        self, store, recall, make_row, write, make_vector, snapshot
    ):
        near = [make_row("near", f"near{number}.py", vector_key="near", born=2 + number % 2) for number in range(300)]
        write(store, *near, *(make_row(f"far {number}", f"far{number}.py") for number in range(10)))
        store.retire(1, 5, [row.chunk.path for row in near if row.born == 2], [])
        store.refresh()
        answer = recall(snapshot(hidden={3}), vector=make_vector("near"), vector_limit=10)
        assert sorted(paths(answer, answer.by_vector)) == sorted(f"far{number}.py" for number in range(10))

    def test_a_vector_of_another_dimension_is_refused(self, store, recall, make_row, write):
        write(store, make_row())
        with pytest.raises(ModelMismatch):
            recall(vector=np.ones(3, np.float32))


class TestStrides:
    @pytest.fixture
    def strided(self, store, make_row, write):
        """Write a chunk of three strides among fifty others, and return its rows."""
        rows = [
            make_row("long needle text", "long.py", stride=(index, 3), vector_key=f"stride {index}")
            for index in range(3)
        ]
        write(store, *rows, *(make_row(f"text {number}", f"{number}.py") for number in range(50)))
        return rows

    def test_a_chunk_is_ranked_once_by_its_best_stride(self, strided, recall, make_vector):
        for index in range(3):
            answer = recall(vector=make_vector(f"stride {index}"), vector_limit=5)
            assert answer.by_vector[0] == strided[0].chunk.id
            assert len(set(answer.by_vector)) == len(answer.by_vector) == 5
            found = answer.candidates[strided[0].chunk.id]
            assert found.similarity == pytest.approx(1, abs=CLOSE)
            assert found.is_stride
            assert found.chunk == strided[index].chunk
            assert found.tokens == strided[0].tokens

    def test_a_chunk_found_by_a_word_has_the_similarity_of_its_best_stride(self, strided, recall, make_vector):
        query = make_vector("stride 2")
        answer = recall(vector=query, vector_limit=1, terms=("needle",))
        assert answer.by_terms == (strided[0].chunk.id,)
        assert answer.candidates[strided[0].chunk.id].similarity == pytest.approx(1, abs=CLOSE)

    def test_without_a_vector_the_first_stride_is_returned(self, strided, recall):
        (found,) = recall(terms=("needle",)).candidates.values()
        assert found.chunk == strided[0].chunk

    def test_other_chunks_are_not_strides(self, strided, recall):
        answer = recall(terms=("text",))
        flags = [candidate.is_stride for candidate in answer.candidates.values() if candidate.chunk.path != "long.py"]
        assert flags == [False] * 50

    def test_strides_do_not_use_up_the_limit(self, store, recall, make_row, write, make_vector):
        rows = [make_row("long", "long.py", stride=(index, 40), vector_key="near") for index in range(40)]
        write(store, *rows, *(make_row(f"text {number}", f"{number}.py") for number in range(9)))
        assert len(recall(vector=make_vector("near"), vector_limit=10).by_vector) == 10


class TestTerms:
    def test_any_term_in_any_field_matches(self, store, recall, make_row, write):
        for name in ("symbol", "signature", "path", "doc", "body"):
            write(store, make_row("x", f"{name}.py", tokens=Tokens(**{name: f"before {name}word after"})))
        asked = tuple(f"{name}word" for name in ("symbol", "signature", "path", "doc", "body"))
        answer = recall(terms=(*asked, "nowhere"))
        assert len(answer.by_terms) == 5
        assert dict(answer.document_frequencies) == {**dict.fromkeys(asked, 1), "nowhere": 0}

    @pytest.mark.parametrize(
        "token", ["größe", "日本語", "naïve", "ﬁle", "i̇stanbul", "москва", "x" * 64, "café", "2026"]
    )
    def test_tokens_match_exactly(self, store, recall, make_row, write, token):
        others = [token + "s", token[:-1], "grosse", "naive", "file", "istanbul", "cafe\u0301", "cafe"]
        write(store, make_row("x", "a.py", tokens=Tokens(body=f"before {token} after")))
        write(store, make_row("x", "b.py", tokens=Tokens(body=" ".join(other for other in others if other != token))))
        answer = recall(terms=(token,))
        assert paths(answer, answer.by_terms) == ["a.py"]
        assert answer.document_frequencies[token] == 1

    def test_operators_of_query_languages_are_ordinary_tokens(self, store, recall, make_row, write):
        words = ("and", "or", "not", "near", "to", "the", "null", "true")
        write(store, make_row("x", tokens=Tokens(body=" ".join(words))))
        assert set(recall(terms=words).document_frequencies.values()) == {1}

    def test_the_best_match_survives_a_small_limit(self, store, recall, make_row, write):
        rows = [make_row("x", f"{number}.py", tokens=Tokens(body="common words here")) for number in range(80)]
        best = make_row("x", "best.py", tokens=Tokens(symbol="rare", body="common rare words"))
        write(store, *rows, best)
        assert recall(terms=("common", "rare"), term_limit=1).by_terms == (best.chunk.id,)

    def test_a_repeated_term_counts_once(self, store, recall, make_row, write):
        write(store, make_row("word"))
        answer = recall(terms=("word", "word"))
        assert (len(answer.by_terms), dict(answer.document_frequencies)) == (1, {"word": 1})

    def test_a_query_can_have_hundreds_of_terms(self, store, recall, make_row, write):
        write(store, make_row("x", tokens=Tokens(body=" ".join(f"w{number}" for number in range(400)))))
        answer = recall(terms=tuple(f"w{number}" for number in range(0, 800, 2)))
        assert len(answer.by_terms) == 1
        assert sum(answer.document_frequencies.values()) == 200


class TestCounts:
    @pytest.fixture
    def mixed(self, store, make_row, write):
        """Write two chunks that count in timeline 1, and chunks that don't: dead, unpublished, of another timeline."""
        write(
            store,
            make_row("x", "a.py", tokens=Tokens(symbol="word", body="word word other")),
            make_row("x", "b.py", tokens=Tokens(doc="other", body="one two three four five"), language="go"),
            make_row("x", "dead.py", tokens=Tokens(body="word dead")),
            make_row("x", "open.py", born=50, tokens=Tokens(body="word open")),
            make_row("x", "late.py", born=101, tokens=Tokens(body="word late")),
            make_row("x", "secret.py", timeline=9, repo="hidden", tokens=Tokens(body="word secret")),
        )
        store.retire(1, 3, ["dead.py"], [])
        store.refresh()

    def test_only_live_chunks_count(self, mixed, recall, snapshot):
        asked = ("word", "other", "dead", "open", "late", "secret")
        answer = recall(snapshot(hidden={50}), terms=asked)
        assert dict(answer.document_frequencies) == {
            "word": 1,
            "other": 2,
            "dead": 0,
            "open": 0,
            "late": 0,
            "secret": 0,
        }
        assert answer.live_chunks == 2
        assert dict(answer.average_lengths) == pytest.approx(
            {"symbol": 0.5, "signature": 0.0, "path": 0.0, "doc": 0.5, "body": 4.0}
        )
        assert paths(answer, answer.by_terms)[0] == "a.py"
        assert len(answer.by_terms) == 2

    def test_filters_do_not_change_the_counts(self, mixed, recall, snapshot):
        seen = snapshot(hidden={50})
        filtered = recall(seen, terms=("word", "other"), filters=Filters(terms=(("language", ("go",)),)))
        assert paths(filtered, filtered.by_terms) == ["b.py"]
        assert dict(filtered.document_frequencies) == {"word": 1, "other": 2}
        assert filtered.live_chunks == 2
        assert filtered.average_lengths == recall(seen, terms=("word",)).average_lengths

    def test_more_timelines_count_more(self, mixed, recall, snapshot):
        answer = recall(snapshot(1, 9, hidden={50}), terms=("word", "secret"))
        assert dict(answer.document_frequencies) == {"word": 2, "secret": 1}
        assert answer.live_chunks == 3

    def test_strides_count_once(self, store, recall, make_row, write):
        rows = [make_row("x", tokens=Tokens(body="word two"), stride=(index, 3)) for index in range(3)]
        write(store, *rows, make_row("y", "b.py", tokens=Tokens(body="word two three four")))
        answer = recall(terms=("word",))
        assert (answer.live_chunks, dict(answer.document_frequencies)) == (2, {"word": 2})
        assert answer.average_lengths["body"] == pytest.approx(3)


class TestSymbols:
    def test_a_name_is_found_where_it_is_defined_in_any_case(self, store, recall, make_row, write):
        write(
            store,
            make_row("x", "name.py", symbol_name="getUserById"),
            make_row("x", "qualified.py", qualified_name="app.users.GetUserById"),
            make_row("x", "rust.rs", qualified_name="app::users::getuserbyid"),
            make_row("x", "defines.py", defines=("Other", "GETUSERBYID")),
            make_row("x", "longer.py", symbol_name="getUserByIdOrNone"),
            make_row("x", "mentions.py", references=("getUserById",), calls=("getUserById",)),
            make_row("x", "inside.py", qualified_name="getUserById.inner"),
        )
        answer = recall(symbols=("getuserbyid",))
        assert sorted(paths(answer, answer.by_symbol)) == ["defines.py", "name.py", "qualified.py", "rust.rs"]

    def test_any_of_several_names_matches_including_non_ascii_names(self, store, recall, make_row, write):
        write(store, make_row("x", "a.py", symbol_name="Größe"), make_row("x", "b.py", symbol_name="operator+="))
        answer = recall(symbols=("größe", "operator+=", "nothing"))
        assert sorted(paths(answer, answer.by_symbol)) == ["a.py", "b.py"]

    def test_the_definition_survives_a_small_limit(self, store, recall, make_row, write):
        rows = [make_row("x", f"{number}.py", defines=("parse",)) for number in range(30)]
        write(store, *rows, make_row("x", "parse.py", symbol_name="parse", defines=("parse",)))
        answer = recall(symbols=("parse",), symbol_limit=1)
        assert paths(answer, answer.by_symbol) == ["parse.py"]


class TestPaths:
    def test_a_path_is_found_by_its_last_whole_names(self, store, recall, make_row, write):
        for name in ("shared/store/Port.py", "other/port.py", "support.py", "port.py/readme", "store/port.pyi"):
            write(store, make_row("x", name))
        for tail, expected in (
            ("port.py", ["other/port.py", "shared/store/Port.py"]),
            ("store/port.py", ["shared/store/Port.py"]),
            ("shared/store/port.py", ["shared/store/Port.py"]),
            ("ort.py", []),
            ("tore/port.py", []),
            ("store", []),
        ):
            answer = recall(paths=(tail,))
            assert sorted(paths(answer, answer.by_path)) == expected

    def test_all_chunks_of_the_file_are_found(self, store, recall, make_row, write):
        write(store, *(make_row("x", "src/a.py", ordinal=number) for number in range(5)), make_row("x", "src/b.py"))
        assert len(recall(paths=("a.py",)).by_path) == 5

    def test_special_characters_match_literally(self, store, recall, make_row, write):
        names = ["a/we[i]rd*.py", "a/line\nbreak.py", "a/ünï.py", 'a/quote".py']
        write(store, *(make_row("x", name) for name in names))
        for name in names:
            answer = recall(paths=(name.removeprefix("a/").lower(),))
            assert paths(answer, answer.by_path) == [name]


class TestTogether:
    def test_a_chunk_found_by_several_channels_is_one_candidate(self, store, recall, make_row, write, make_vector):
        row = make_row("needle text", "src/needle.py", symbol_name="needle")
        write(store, row, make_row("other"))
        answer = recall(
            vector=make_vector(row.vector_key),
            vector_limit=1,
            terms=("needle",),
            symbols=("needle",),
            paths=("needle.py",),
        )
        assert list(answer.candidates) == [row.chunk.id]
        assert answer.by_vector == answer.by_terms == answer.by_symbol == answer.by_path == (row.chunk.id,)

    def test_every_channel_keeps_its_limit(self, store, recall, make_row, write, make_vector):
        write(store, *(make_row("word", f"{number}/app.py", symbol_name="name") for number in range(30)))
        answer = recall(
            vector=make_vector("q"),
            terms=("word",),
            symbols=("name",),
            paths=("app.py",),
            vector_limit=4,
            term_limit=5,
            symbol_limit=6,
            path_limit=7,
        )
        found = (answer.by_vector, answer.by_terms, answer.by_symbol, answer.by_path)
        assert [len(ids) for ids in found] == [4, 5, 6, 7]
        assert set(answer.candidates) == {id for ids in found for id in ids}

    def test_every_channel_is_filtered(self, store, recall, make_row, write, make_vector):
        write(
            store,
            make_row("word", "python/app.py", symbol_name="name", vector_key="k"),
            make_row("word", "go/app.py", symbol_name="name", vector_key="k", language="go"),
        )
        answer = recall(
            vector=make_vector("k"),
            terms=("word",),
            symbols=("name",),
            paths=("app.py",),
            filters=Filters(terms=(("language", ("go",)),)),
        )
        for ids in (answer.by_vector, answer.by_terms, answer.by_symbol, answer.by_path):
            assert paths(answer, ids) == ["go/app.py"]
