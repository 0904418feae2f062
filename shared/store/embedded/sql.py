"""Helpers for SQLite queries."""

import json
from collections.abc import Collection, Sequence
from typing import Any

import apsw

LISTED = "(SELECT value FROM json_each(?))"
"""The operand of ``IN`` for a list of any length, bound to the result of ``as_json``."""


def fetch(connection: apsw.Connection, query: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
    """Run a statement to completion and return its rows."""
    return connection.execute(query, values).fetchall()


def fetch_first(connection: apsw.Connection, query: str, values: Sequence[Any] = ()) -> list[Any]:
    """Run a statement and return the first column of every row."""
    return [row[0] for row in fetch(connection, query, values)]


def as_json(values: Collection[str] | Collection[int]) -> str:
    """Return a list in the form that ``LISTED`` takes."""
    return json.dumps(list(values))
