"""Snapshots as query clauses, compared with the definition in ``snapshots.is_live``."""

from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from codequarry.shared.model import Layer, LayerState, PathGlobs, Snapshot
from codequarry.shared.store.opensearch.clauses import MAX_SNAPSHOT_CLAUSES, count_clauses
from codequarry.shared.store.opensearch.snapshot_clauses import snapshot_parts
from codequarry.shared.versions.snapshots import OPEN, is_live

NUMBERS = st.integers(1, 12)
PATHS = ("a", "b/a", "c")
MASKS = st.frozensets(st.sampled_from(PATHS))
LAYERS = st.builds(
    Layer,
    st.lists(st.integers(1, 4), max_size=3, unique=True).map(tuple),
    NUMBERS,
    st.frozensets(NUMBERS, max_size=4),
    MASKS,
    others=st.just(()) | st.lists(st.builds(LayerState, NUMBERS, MASKS), max_size=5).map(tuple),
)
# The numbers at which each file of each timeline changed.
HISTORIES = st.dictionaries(
    st.tuples(st.integers(1, 4), st.sampled_from(PATHS)), st.lists(NUMBERS, min_size=1, unique=True).map(sorted)
)


def test_two_versions_of_a_file_that_one_number_retired_are_told_apart(holds):
    rows = [{"timeline": 1, "path": "a", "born": born, "died": 9} for born in (2, 5)]
    layer = Layer((1,), 10, others=(LayerState(3), LayerState(6, frozenset("a"))))
    parts = parts_of(Snapshot((layer,)), rows)
    assert [any(holds(part, row) for part in parts) for row in rows] == [True, False]


def rows_of(histories):
    """Return the rows of files that changed at some numbers, each retired by the next."""
    return [
        {"timeline": timeline, "path": path, "born": born, "died": died}
        for (timeline, path), numbers in histories.items()
        for born, died in pairwise([*numbers, OPEN])
    ]


def parts_of(seen, rows):
    """Return the clauses of a snapshot of a store that has some rows."""

    def retired(timeline, after, until, hidden):
        return [
            (row["path"], row["born"], row["died"])
            for row in rows
            if row["timeline"] == timeline and after < row["died"] <= until and row["died"] not in hidden
        ]

    return snapshot_parts(seen, retired)


@settings(max_examples=300)
@given(st.lists(LAYERS, max_size=3), HISTORIES)
def test_the_clauses_match_exactly_the_live_rows(holds, layers, histories):
    rows = rows_of(histories)
    parts = parts_of(Snapshot(tuple(layers)), rows)
    for row in rows:
        expected = any(is_live(layer, **row) for layer in layers)
        assert any(holds(part, row) for part in parts) == expected


def test_a_large_snapshot_is_cut_into_parts_that_share_no_row(holds):
    """Each of three hundred numbers retires two files, of which each state hides one."""
    rows = rows_of({(1, f"{path}{number}"): [1, number] for number in range(2, 302) for path in "ab"})
    masks = [frozenset({f"a{number + 1}"}) for number in range(1, 301)]
    others = tuple(LayerState(number, mask) for number, mask in enumerate(masks, 1))
    # Two files are masked wherever they live; each state before hides the other one.
    everywhere = tuple(LayerState(state.at, frozenset(f"a{number}" for number in range(2, 302))) for state in others)
    for states, parts_expected in ((others, 1), (everywhere, 2)):
        layer = Layer((1,), 301, others=states)
        parts = parts_of(Snapshot((layer,)), rows)
        assert len(parts) >= parts_expected
        assert all(count_clauses(part) <= MAX_SNAPSHOT_CLAUSES for part in parts)
        for row in rows:
            assert sum(holds(part, row) for part in parts) == is_live(layer, **row)


def test_hundreds_of_states_take_few_clauses(holds):
    """A number whose files are all visible takes no clause of its own."""
    rows = rows_of({(1, f"p{number}"): [1, number] for number in range(2, 500)})
    layer = Layer((1,), 500, others=tuple(LayerState(number, frozenset({"other"})) for number in range(1, 500)))
    (part,) = parts_of(Snapshot((layer,)), rows)
    assert count_clauses(part) < 20
    assert all(holds(part, row) for row in rows)


def test_many_layers_with_path_globs_are_cut_into_parts():
    globs = tuple(PathGlobs((f"folder-{number}/",)) for number in range(200))
    layers = tuple(Layer((number,), 5, allowed=globs[number:]) for number in range(10))
    assert len(parts_of(Snapshot(layers), [])) > 3
