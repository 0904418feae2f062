"""What a snapshot sees: the filters of the stores against the definition in ``snapshots.is_live``."""

import random
from dataclasses import dataclass, field, replace

import pytest

from codequarry.shared.model import ChunkRow, Filters, Layer, LayerState, PathGlobs, Snapshot
from codequarry.shared.store.records import RecallQuery
from codequarry.shared.versions.snapshots import OPEN, is_live

PATHS = [f"p{number}.py" for number in range(8)]
TIMELINES = (1, 2, 3)
GRANTS = ((PathGlobs(("p[0-3].py",)),), (PathGlobs(exclude=("p1.py",)), PathGlobs(("p1.*",))))


@dataclass
class Model:
    """The expected contents of the store: each row with its ``died``."""

    rows: list[tuple[ChunkRow, int]] = field(default_factory=list)

    def create(self, row: ChunkRow) -> None:
        if row.id not in {known.id for known, _ in self.rows}:
            self.rows.append((row, OPEN))

    def retire(self, timeline: int, number: int, paths: set[str], aborted: set[int]) -> int:
        due = [
            row.timeline == timeline
            and row.chunk.path in paths
            and row.born < number
            and (died == OPEN or died in aborted)
            for row, died in self.rows
        ]
        self.rows = [(row, number if dies else died) for (row, died), dies in zip(self.rows, due, strict=True)]
        return sum(due)

    def undo(self, timeline: int, number: int) -> None:
        self.rows = [
            (row, OPEN if row.timeline == timeline and died == number else died)
            for row, died in self.rows
            if (row.timeline, row.born) != (timeline, number)
        ]

    def live(self, seen: Snapshot) -> list[ChunkRow]:
        return [
            row
            for row, died in self.rows
            if any(is_live(layer, row.timeline, row.born, died, row.chunk.path) for layer in seen.layers)
        ]


@pytest.fixture
def check(store, make_vector):
    """Return a function that compares every way of reading with the expected live rows."""

    def compare(seen: Snapshot, expected: list[ChunkRow]) -> None:
        wanted = sorted(row.chunk.id for row in expected)
        assert len(set(wanted)) == len(wanted)
        answer = store.recall(
            RecallQuery(seen, vector=make_vector("q"), terms=("common",), vector_limit=500, term_limit=500)
        )
        assert sorted(answer.by_vector) == wanted
        assert sorted(answer.by_terms) == wanted
        assert answer.document_frequencies["common"] == answer.live_chunks == len(wanted)
        assert store.count(seen, Filters()) == len(wanted)
        files = sorted((file.timeline, file.born, file.path) for file in store.files(seen))
        assert files == sorted({(row.timeline, row.born, row.chunk.path) for row in expected})

    return compare


def random_layer(rng: random.Random) -> Layer:
    hidden = frozenset(rng.sample(range(1, 40), rng.choice((0, 0, 1, 5))))
    mask = frozenset(rng.sample(PATHS, rng.choice((0, 0, 1, 3))))
    allowed = rng.choice(((), (), *GRANTS))
    others = [
        LayerState(rng.randint(0, 40), frozenset(rng.sample(PATHS, rng.choice((0, 2, 5)))))
        for _ in range(rng.choice((0, 0, 1, 4)))
    ]
    timelines = tuple(rng.sample(TIMELINES, rng.randint(1, 3)))
    return Layer(timelines, rng.randint(0, 40), hidden, mask, allowed, tuple(others))


class TestAgainstTheDefinition:
    @pytest.mark.parametrize("seed", range(4))
    def test_random_histories_agree_with_is_live(self, store, make_row, write, check, seed):
        rng, model = random.Random(seed), Model()
        for number in range(1, 40):
            timeline, paths = rng.choice(TIMELINES), rng.sample(PATHS, rng.randint(1, 4))
            rows = [
                make_row(f"common {number} {path}", path, timeline=timeline, born=number, repo=f"r{timeline}.{number}")
                for path in paths
            ]
            aborted = set(rng.sample(range(1, 40), 3))
            if rng.random() < 0.8:
                write(store, *rows)
                for row in rows:
                    model.create(row)
            if rng.random() < 0.7:
                retired = store.retire(timeline, number, paths, aborted)
                assert retired == 2 * model.retire(timeline, number, set(paths), aborted)
            if rng.random() < 0.25:
                undone = rng.randint(1, number)
                store.refresh()
                store.undo(timeline, undone)
                model.undo(timeline, undone)
            store.refresh()
        for _ in range(25):
            seen = Snapshot((random_layer(rng),))
            check(seen, model.live(seen))

    def test_two_layers_are_seen_together(self, store, make_row, write, check):
        base = [make_row(f"common base {path}", path, timeline=1, repo="base") for path in PATHS]
        overlay = [
            make_row(f"common new {path}", path, timeline=2, born=5, repo="over") for path in (*PATHS[:3], "added.py")
        ]
        write(store, *base, *overlay)
        mask = frozenset((*PATHS[:4], "added.py"))
        seen = Snapshot((Layer((2,), 5), Layer((1,), 4, mask=mask)))
        check(seen, [*overlay, *base[4:]])
        check(replace(seen, layers=seen.layers[::-1]), [*overlay, *base[4:]])
        check(Snapshot((Layer((2,), 4), Layer((1,), 4, mask=mask))), base[4:])

    def test_layers_have_their_own_hidden_numbers(self, store, make_row, write, check):
        rows = [
            make_row(f"common {born}", f"{born}.py", timeline=born % 2 + 1, born=born, repo=f"r{born}")
            for born in range(10)
        ]
        write(store, *rows)
        seen = Snapshot((Layer((1,), 8, frozenset({2, 4})), Layer((2,), 6, frozenset({3}))))
        check(seen, [rows[born] for born in (0, 6, 8, 1, 5)])


class TestHiddenNumbers:
    def test_an_open_transaction_is_invisible_and_then_visible_as_a_whole(self, store, make_row, write, check):
        old = [make_row(f"common old {path}", path, repo="old") for path in PATHS]
        new = [make_row(f"common new {path}", path, born=7, repo="new") for path in PATHS[:4]]
        write(store, *old, *new)
        store.retire(1, 7, PATHS[:5], [])
        store.refresh()
        check(Snapshot((Layer((1,), 8, frozenset({7})),)), old)
        check(Snapshot((Layer((1,), 8),)), [*new, *old[5:]])
        check(Snapshot((Layer((1,), 6),)), old)

    def test_thousands_of_hidden_numbers_are_allowed(self, store, make_row, write, check):
        rows = [make_row(f"common {born}", f"{born}.py", born=born, repo=f"r{born}") for born in range(1, 60)]
        write(store, *rows)
        hidden = frozenset(range(2, 9000, 2))
        check(Snapshot((Layer((1,), 10_000, hidden),)), [row for row in rows if row.born % 2])


class TestMany:
    def test_a_layer_can_have_a_thousand_timelines(self, store, make_row, write, check, make_file):
        rows = [
            make_row(f"common {number}", "src/app.py", timeline=number, born=number + 1, repo=f"r{number}")
            for number in range(1, 1201, 7)
        ]
        write(store, *rows)
        timelines = tuple(range(1, 2001, 2))
        check(Snapshot((Layer(timelines, 5000),)), [row for row in rows if row.timeline % 2])

    def test_a_mask_can_have_five_thousand_paths(self, store, make_row, write, check):
        names = [f"src/some folder/module_{number}/file_{number}.py" for number in range(0, 10_000, 50)]
        rows = [make_row(f"common {name}", name) for name in names]
        write(store, *rows)
        mask = frozenset(f"src/some folder/module_{number}/file_{number}.py" for number in range(5000))
        check(Snapshot((Layer((1,), 10, mask=mask),)), rows[100:])

    def test_a_mask_matches_whole_paths(self, store, make_row, write, check):
        rows = [make_row(f"common {name}", name) for name in ("a", "a/b.py", "A/b.py", "a/b.py.txt")]
        write(store, *rows)
        check(Snapshot((Layer((1,), 10, mask=frozenset({"a/b.py", "nothing", "b.py"})),)), [rows[0], *rows[2:]])

    def test_a_layer_can_have_hundreds_of_states(self, store, make_row, write, check):
        """One file changes with every number; each state hides most files."""
        rows = []
        for number in range(1, 301):
            path = PATHS[number % 7]
            store.retire(1, number, [path], [])
            row = make_row(f"common {number}", path, timeline=1, born=number)
            write(store, row)
            rows.append((row, number, number + 7 if number + 7 <= 300 else OPEN))
        kept = make_row("common kept", PATHS[7], timeline=1, born=1)
        write(store, kept)
        rows.append((kept, 1, OPEN))
        others = tuple(
            LayerState(number, frozenset(PATHS[(number + place) % 8] for place in range(6)))
            for number in range(3, 300, 2)
        )
        layer = Layer((1,), 299, frozenset({40, 41}), frozenset(PATHS[2:5]), others=others)
        expected = [row for row, born, died in rows if is_live(layer, 1, born, died, row.chunk.path)]
        assert 100 < len(expected) < 290
        check(Snapshot((layer,)), expected)

    def test_what_an_open_transaction_retired_is_seen_in_older_states_once_it_is_published(
        self, store, make_row, write, check
    ):
        """A store may remember what a published transaction retired, but not what an open one did so far."""
        rows = [make_row(f"common {path}", path, timeline=1, born=1) for path in PATHS[:2]]
        write(store, *rows)
        store.retire(1, 5, [PATHS[0]], [])
        store.refresh()
        open_layer = Layer((1,), 6, frozenset({5}), others=(LayerState(2),))
        check(Snapshot((open_layer,)), rows)
        store.retire(1, 5, [PATHS[1]], [])
        store.refresh()
        check(Snapshot((replace(open_layer, hidden=frozenset()),)), rows)
        check(Snapshot((Layer((1,), 6),)), [])
