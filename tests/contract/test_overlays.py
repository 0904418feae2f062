"""Snapshots of several layers (rule 12): an overlay and its base answer like a full timeline of the same files."""

import random
from dataclasses import replace

import pytest

from codequarry.shared.model import Filters, Layer, PathGlobs, Snapshot
from codequarry.shared.store.records import RecallQuery

BASE, OVERLAY, FULL = 1, 2, 3


def over(*layers, mask=(), at=100):
    """Return the snapshot of overlays (timeline, number) on BASE at ``at`` with ``mask``."""
    above = tuple(Layer((timeline,), number) for timeline, number in layers)
    return Snapshot((*above, Layer((BASE,), at, mask=frozenset(mask))))


@pytest.fixture
def make_version(make_row):
    """Return a function that makes the rows of a file: two chunks with their own word, name and path."""

    def make(path, blob, **fields):
        return [
            make_row(
                f"common {blob} part{ordinal}",
                path,
                blob=blob,
                ordinal=ordinal,
                symbol_name=f"name_{blob}",
                doc="a doc" if ordinal else "",
                vector_key=f"{path} {blob} {ordinal}",
                **fields,
            )
            for ordinal in range(2)
        ]

    return make


@pytest.fixture
def told(store, make_vector):
    """Return a function that collects everything that a store returns for a snapshot, by every channel and method."""

    def tell(seen, terms=("common", "doc"), paths=(), repo="quarry"):
        query = RecallQuery(
            seen,
            vector=make_vector("query"),
            terms=terms,
            symbols=tuple(f"name_{blob}" for blob in ("a1", "a2", "b1", "c1", "d2")),
            paths=("a.py", "d.py"),
            **dict.fromkeys(("vector_limit", "term_limit", "symbol_limit", "path_limit"), 1000),
        )
        found = store.recall(query)
        versions = sorted((file.path, file.blob) for file in store.files(seen))
        return {
            "nearest": {chunk: round(found.candidates[chunk].similarity, 3) for chunk in found.by_vector},
            "terms": sorted(found.by_terms),
            "symbols": sorted(found.by_symbol),
            "paths": sorted(found.by_path),
            "chunks found": {chunk.id: chunk for chunk in (item.chunk for item in found.candidates.values())},
            "frequencies": found.document_frequencies,
            "live": found.live_chunks,
            "lengths": {name: round(value, 3) for name, value in found.average_lengths.items()},
            "count": store.count(seen, Filters()),
            "in src": store.count(seen, Filters(paths=PathGlobs(("src/",)))),
            "files": versions,
            "some files": sorted((file.path, file.blob) for file in store.files(seen, ["src/a.py", "d.py", "no"])),
            "chunks": {path: store.chunks(seen, path, repo) for path, _ in versions},
            "rows": store.row_counts(seen),
        }

    return tell


class TestOverlay:
    def test_it_answers_like_a_full_timeline_of_the_same_files(self, store, make_version, write, told):
        """Of four files one is edited, one deleted, one added and one unchanged."""
        kept = {"src/a.py": "a1", "b.py": "b1", "c.py": "c1"}
        for path, blob in kept.items():
            write(store, *make_version(path, blob, timeline=BASE))
        write(store, *make_version("src/a.py", "a2", timeline=OVERLAY, born=9))
        write(store, *make_version("d.py", "d2", timeline=OVERLAY, born=9))
        for path, blob in {"src/a.py": "a2", "c.py": "c1", "d.py": "d2"}.items():
            write(store, *make_version(path, blob, timeline=FULL, born=10))
        branch = told(over((OVERLAY, 9), mask={"src/a.py", "b.py", "d.py"}))
        assert branch == told(Snapshot((Layer((FULL,), 10),)))
        assert branch["files"] == [("c.py", "c1"), ("d.py", "d2"), ("src/a.py", "a2")]
        assert branch["live"] == branch["count"] == branch["frequencies"]["common"] == len(branch["nearest"]) == 6
        assert told(over())["files"] == [("b.py", "b1"), ("c.py", "c1"), ("src/a.py", "a1")]

    @pytest.mark.parametrize("seed", range(3))
    def test_random_overlays_at_any_transaction_answer_like_full_timelines(
        self, store, make_version, write, told, seed
    ):
        rng, names = random.Random(seed), ["src/a.py", "b.py", "c.py", "d.py", "src/deep/a.py"]
        blobs, number, trees = ["a1", "a2", "b1", "c1", "d2"], 10, {BASE: [(10, {})], OVERLAY: [(10, {})]}
        for timeline in (BASE, BASE, BASE, OVERLAY, OVERLAY):
            number += 1
            changed = {name: rng.choice([*blobs, None]) for name in rng.sample(names, 3)}
            tree = {**trees[timeline][-1][1], **changed}
            for path, blob in changed.items():
                if blob:
                    write(store, *make_version(path, blob, timeline=timeline, born=number))
            store.retire(timeline, number, list(changed), [])
            trees[timeline].append((number, {path: blob for path, blob in tree.items() if blob}))
        store.refresh()
        for full, (base, (top, above)) in enumerate(((b, o) for b in trees[BASE] for o in trees[OVERLAY]), FULL):
            mask = {*above, *rng.sample(names, 1)}
            tree = {path: blob for path, blob in base[1].items() if path not in mask} | above
            for path, blob in tree.items():
                write(store, *make_version(path, blob, timeline=full, born=2))
            layers = over((OVERLAY, top), mask=mask, at=base[0])
            assert told(layers) == told(Snapshot((Layer((full,), 2),)))
            assert told(replace(layers, layers=layers.layers[::-1]))["rows"] == dict.fromkeys(tree.items(), 2)

    def test_a_mask_can_have_ten_thousand_paths(self, store, make_version, write, told):
        names = [f"src/module {number}/file_{number}.py" for number in range(10_000)]
        for number in range(0, 10_000, 400):
            write(store, *make_version(names[number], "b1", timeline=BASE))
        write(store, *make_version("outside.py", "c1", timeline=BASE))
        write(store, *make_version(names[400], "a2", timeline=OVERLAY, born=9))
        seen = told(over((OVERLAY, 9), mask=names))
        assert seen["files"] == [("outside.py", "c1"), (names[400], "a2")]
        assert seen["live"] == seen["count"] == len(seen["nearest"]) == len(seen["terms"]) == 4
        assert told(over((OVERLAY, 9), mask=names[1:]))["live"] == 6

    def test_a_field_filter_applies_to_both_layers(self, store, make_version, write):
        write(store, *make_version("a.py", "a1", timeline=BASE, language="go"))
        write(store, *make_version("b.py", "b1", timeline=BASE, language="python"))
        write(store, *make_version("c.py", "c1", timeline=OVERLAY, language="go"))
        seen = over((OVERLAY, 9), mask={"c.py"})
        in_go = Filters(terms=(("language", ("go",)),))
        assert store.count(seen, in_go) == 4
        found = store.recall(RecallQuery(seen, in_go, terms=("common",)))
        assert sorted({candidate.chunk.path for candidate in found.candidates.values()}) == ["a.py", "c.py"]
        assert found.document_frequencies == {"common": 6}


class TestSeveralVersions:
    def test_a_mask_applies_only_to_its_repository(self, store, make_version, write, told):
        """Two repositories have the same paths; a branch of each replaces a different path."""
        for timeline, repo in ((BASE, "one"), (5, "two")):
            for path in ("a.py", "b.py"):
                write(store, *make_version(path, "b1", timeline=timeline, repo=repo))
        write(store, *make_version("a.py", "a2", timeline=OVERLAY, born=9, repo="one"))
        write(store, *make_version("b.py", "d2", timeline=6, born=8, repo="two"))
        seen = Snapshot(
            (
                Layer((OVERLAY,), 9),
                Layer((BASE,), 3, mask=frozenset({"a.py"})),
                Layer((6,), 8),
                Layer((5,), 3, mask=frozenset({"b.py"})),
            )
        )
        assert sorted((file.repo, file.path, file.blob) for file in store.files(seen)) == [
            ("one", "a.py", "a2"),
            ("one", "b.py", "b1"),
            ("two", "a.py", "b1"),
            ("two", "b.py", "d2"),
        ]
        assert told(seen)["live"] == store.count(seen, Filters()) == 8
        for repo, path, blob in (("one", "a.py", "a2"), ("two", "a.py", "b1"), ("two", "b.py", "d2")):
            assert {chunk.blob for chunk in store.chunks(seen, path, repo)} == {blob}

    def test_a_branch_is_searched_beside_the_heads_of_other_repositories(self, store, make_version, write, told):
        for timeline in (BASE, 5, 6, 7):
            write(store, *make_version("a.py", "a1", timeline=timeline, repo=f"r{timeline}"))
        write(store, *make_version("a.py", "a2", timeline=OVERLAY, repo=f"r{BASE}"))
        seen = Snapshot((Layer((5, 6), 3), Layer((OVERLAY,), 3), Layer((BASE,), 3, mask=frozenset({"a.py"}))))
        assert sorted((file.repo, file.blob) for file in store.files(seen)) == [
            ("r1", "a2"),
            ("r5", "a1"),
            ("r6", "a1"),
        ]
        assert told(seen)["live"] == 6

    def test_a_row_shared_by_two_versions_is_counted_once(self, store, make_version, write, told):
        """Two branches over the same base: rows that neither changes are live in two layers."""
        for path in ("a.py", "b.py", "c.py"):
            write(store, *make_version(path, "b1", timeline=BASE))
        write(store, *make_version("a.py", "a2", timeline=OVERLAY))
        write(store, *make_version("b.py", "d2", timeline=5))
        seen = Snapshot((*over((OVERLAY, 9), mask={"a.py"}).layers, *over((5, 9), mask={"b.py"}).layers))
        answer = told(seen)
        assert answer["live"] == answer["count"] == 10
        assert answer["rows"] == {
            (path, blob): 2
            for path, blob in (("a.py", "a2"), ("a.py", "b1"), ("b.py", "b1"), ("b.py", "d2"), ("c.py", "b1"))
        }
        assert len(store.chunks(seen, "c.py", "quarry")) == 2

    def test_the_same_chunk_in_two_versions_is_one_candidate(self, store, make_version, write, told):
        """Both branches made the same change: the same chunks are live in two timelines."""
        write(store, *make_version("a.py", "a1", timeline=BASE))
        for timeline in (OVERLAY, 5):
            write(store, *make_version("a.py", "a2", timeline=timeline, born=timeline))
        seen = Snapshot((*over((OVERLAY, 9), (5, 9), mask={"a.py"}).layers,))
        answer = told(seen)
        for channel in ("nearest", "terms", "symbols", "paths"):
            assert len(answer[channel]) == len(set(answer[channel])) == 2, channel
        assert len(answer["chunks found"]) == 2
        assert [chunk.ordinal for chunk in store.chunks(seen, "a.py", "quarry")] == [0, 1]

    def test_the_same_chunk_of_several_strides_is_one_candidate(self, store, make_row, write, make_vector):
        """The best stride counts, from whichever timeline it is read."""
        for timeline in (OVERLAY, 5):
            write(
                store,
                *(
                    make_row("long common", timeline=timeline, stride=(index, 3), vector_key=f"stride {index}")
                    for index in range(3)
                ),
            )
        seen = over((OVERLAY, 9), (5, 9))
        found = store.recall(RecallQuery(seen, vector=make_vector("stride 2"), terms=("common",)))
        (candidate,) = found.candidates.values()
        assert candidate.similarity == pytest.approx(1, abs=0.02)
        assert candidate.chunk.stride_info.stride_index == 2
        assert candidate.tokens.body == "long common"
        assert found.by_vector == found.by_terms == (candidate.chunk.id,)

    def test_shared_chunks_do_not_use_up_the_limit(self, store, make_row, write, make_vector):
        """The limit counts chunks: rows of the same chunk count once."""
        for timeline in (OVERLAY, 5, 6, 7):
            write(
                store,
                *(make_row(f"text {number}", f"{number}.py", timeline=timeline, born=timeline) for number in range(30)),
            )
        seen = over((OVERLAY, 9), (5, 9), (6, 9), (7, 9))
        found = store.recall(RecallQuery(seen, vector=make_vector("query"), vector_limit=20))
        assert len(set(found.by_vector)) == len(found.by_vector) == 20


class TestSiblings:
    """Versions of one repository, in which most changed files have the same declarations as before."""

    @pytest.fixture
    def ask(self, store, make_vector):
        def recall(seen, limit=3):
            limits = dict.fromkeys(("vector_limit", "term_limit", "symbol_limit", "path_limit"), limit)
            query = RecallQuery(
                seen, vector=make_vector("query"), terms=("common",), symbols=("name",), paths=("app.py",), **limits
            )
            return store.recall(query)

        return recall

    @pytest.fixture
    def write_copies(self, store, make_row, write):
        """Write one file in which the same text has other neighbours in each version, and two other texts."""

        def write_all(timelines, repo="quarry"):
            for timeline in timelines:
                row = make_row(
                    "common", blob=f"{timeline}", timeline=timeline, symbol_name="name", vector_key="same", repo=repo
                )
                write(store, row)
            for number in range(2):
                row = make_row(
                    f"common other {number}", f"{number}/app.py", symbol_name="name", timeline=timelines[0], repo=repo
                )
                write(store, row)

        return write_all

    def test_the_same_text_uses_up_the_limit_of_a_channel_once(self, ask, write_copies):
        write_copies(range(1, 41))
        layers = (Layer(tuple(range(1, 41)), 9),)
        found = ask(Snapshot(layers, siblings=(tuple(range(1, 41)),)))
        for channel in (found.by_vector, found.by_terms, found.by_symbol, found.by_path):
            assert sorted(found.candidates[chunk].chunk.text for chunk in channel) == [
                "common", "common other 0", "common other 1",
            ]  # fmt: skip
        assert found.live_chunks == found.document_frequencies["common"] == 42

    def test_the_same_text_in_another_repository_is_another_candidate(self, ask, write_copies):
        write_copies(range(1, 11))
        write_copies(range(11, 21), repo="fork")
        groups = tuple(range(1, 11)), tuple(range(11, 21))
        found = ask(Snapshot((Layer((*groups[0], *groups[1]), 9),), siblings=groups), limit=20)
        texts = sorted((candidate.chunk.repo, candidate.chunk.text) for candidate in found.candidates.values())
        assert texts == sorted(
            (repo, text) for repo in ("quarry", "fork") for text in ("common", "common other 0", "common other 1")
        )


class TestAllowedPaths:
    def test_a_caller_limited_to_paths_gets_the_answers_of_an_index_of_these_paths(
        self, store, make_version, write, told
    ):
        tree = {"src/a.py": "a1", "src/secret/b.py": "b1", "c.py": "c1", "d.py": "d2"}
        for path, blob in tree.items():
            write(store, *make_version(path, blob, timeline=BASE))
        for path in ("src/a.py", "d.py"):
            write(store, *make_version(path, tree[path], timeline=FULL))
        grants = PathGlobs(("src/",), ("src/secret/",)), PathGlobs(("d.*",))
        allowed = told(Snapshot((Layer((BASE,), 100, allowed=grants),)))
        assert allowed == told(Snapshot((Layer((FULL,), 100),)))
        assert allowed["files"] == [("d.py", "d2"), ("src/a.py", "a1")]
        assert store.chunks(Snapshot((Layer((BASE,), 100, allowed=grants),)), "c.py", "quarry") == []

    def test_each_layer_has_its_own_allowed_paths(self, store, make_version, write, told):
        write(store, *make_version("a.py", "a1", timeline=BASE), *make_version("b.py", "b1", timeline=BASE))
        write(store, *make_version("c.py", "c1", timeline=5), *make_version("d.py", "d2", timeline=5))
        only = (PathGlobs(("a.py", "d.py")),)
        assert told(Snapshot((Layer((BASE,), 9), Layer((5,), 9, allowed=only))))["files"] == [
            ("a.py", "a1"),
            ("b.py", "b1"),
            ("d.py", "d2"),
        ]

    def test_a_grant_that_matches_no_path_allows_nothing(self, store, make_version, write, told):
        write(store, *make_version("a.py", "a1", timeline=BASE))
        seen = told(Snapshot((Layer((BASE,), 9, allowed=(PathGlobs(exclude=("**",)),)),)))
        assert (seen["files"], seen["live"], seen["frequencies"]) == ([], 0, {"common": 0, "doc": 0})
