"""The arrays that follow the change log."""

import numpy as np
import pytest

from codequarry.shared.store.embedded import columns as module
from codequarry.shared.store.embedded.columns import (
    EMPTY,
    RECORD,
    ColumnCache,
    fold,
    fold_if_long,
    log_added,
    log_deleted,
    log_died,
)
from codequarry.shared.versions.snapshots import OPEN


def records(*rows, timeline=1):
    made = np.zeros(len(rows), RECORD)
    made["row"], made["timeline"], made["died"], made["first"] = rows, timeline, OPEN, True
    made["lengths"] = np.array(rows)[:, None]
    return made


def described(columns):
    return [(int(row), int(columns.died[row]), columns.lengths[row].tolist()) for row in columns.rows()]


@pytest.fixture
def history(connection):
    """Log rows that are added, retired, revived and deleted; return the described rows that remain."""
    log_added(connection, records(1, 2, 3))
    log_died(connection, [1, 2], 7)
    log_added(connection, records(5, 6))
    log_died(connection, [1])
    log_deleted(connection, [3, 5])
    return [(1, OPEN, [1] * 5), (2, 7, [2] * 5), (6, OPEN, [6] * 5)]


class TestLog:
    def test_the_arrays_match_the_log(self, connection, history):
        assert described(ColumnCache().refreshed(connection)) == history

    def test_refreshing_step_by_step_gives_the_same_result(self, connection):
        cache, steps = ColumnCache(), []
        log_added(connection, records(1, 2))
        steps.append(cache.refreshed(connection))
        log_died(connection, [2], 9)
        steps.append(cache.refreshed(connection))
        log_deleted(connection, [1])
        steps.append(cache.refreshed(connection))
        assert [columns.died[2] for columns in steps] == [OPEN, 9, 9]
        assert [len(columns.rows()) for columns in steps] == [2, 2, 1]
        assert described(steps[-1]) == described(ColumnCache().refreshed(connection))

    def test_older_columns_do_not_change_while_rows_are_appended(self, connection):
        cache, held, expected = ColumnCache(), [], []
        for row in range(1, 200):
            log_added(connection, records(row))
            if row % 7 == 0:
                log_died(connection, [row // 2], row)
            if row % 11 == 0:
                log_deleted(connection, [row // 3])
            held.append(cache.refreshed(connection))
            expected.append(described(held[-1]))
        assert [described(columns) for columns in held] == expected
        assert described(held[-1]) == described(ColumnCache().refreshed(connection))
        # Most changes copied none of the immutable columns.
        assert len({id(columns.lengths.base) for columns in held}) < 20

    def test_changes_that_may_be_undone_are_not_appended_to_cached_columns(self, connection):
        cache = ColumnCache()
        log_added(connection, records(*range(1, 9)))
        kept = cache.refreshed(connection)
        connection.execute("SAVEPOINT undone")
        log_added(connection, records(9, timeline=5))
        tried = cache.including_own_changes(connection)
        connection.execute("ROLLBACK TO undone")
        assert tried.lengths.base is not kept.lengths.base
        log_added(connection, records(10))
        assert [row for row, _, _ in described(cache.refreshed(connection))] == [*range(1, 9), 10]

    def test_without_changes_refreshing_returns_the_same_object(self, connection, history):
        cache = ColumnCache()
        assert cache.refreshed(connection) is cache.refreshed(connection)

    def test_empty_changes_are_not_logged(self, connection):
        log_died(connection, [], 3)
        log_deleted(connection, [])
        assert ColumnCache().refreshed(connection) is EMPTY

    def test_own_changes_are_seen_but_not_cached(self, connection, history):
        cache = ColumnCache()
        assert described(cache.including_own_changes(connection)) == history
        assert cache._columns is EMPTY


class TestFold:
    def test_a_folded_log_gives_every_reader_the_same_rows(self, connection, history):
        behind = ColumnCache()
        log_added(connection, records(9))
        fold(connection, ColumnCache().refreshed(connection))
        assert connection.execute("SELECT count(*) FROM change").get == 1
        fresh = ColumnCache().refreshed(connection)
        assert described(fresh) == [*history, (9, OPEN, [9] * 5)]
        assert described(behind.refreshed(connection)) == described(fresh)
        log_died(connection, [9], 11)
        assert described(behind.refreshed(connection))[-1] == (9, 11, [9] * 5)

    def test_a_reader_in_the_middle_of_a_folded_log_starts_again(self, connection, history):
        half = ColumnCache()
        half.refreshed(connection)
        log_deleted(connection, [2])
        fold(connection, ColumnCache().refreshed(connection))
        assert described(half.refreshed(connection)) == [history[0], history[2]]

    def test_a_long_log_is_folded(self, connection, monkeypatch):
        monkeypatch.setattr(module, "FOLD_AFTER", 10)
        for row in range(1, 40):
            log_added(connection, records(row))
            fold_if_long(connection, ColumnCache())
            assert connection.execute("SELECT count(*) FROM change").get <= 12
        assert len(ColumnCache().refreshed(connection).rows()) == 39

    def test_an_empty_log_is_not_folded(self, connection):
        fold_if_long(connection, ColumnCache())
        assert ColumnCache().refreshed(connection) is EMPTY
