"""Hits for tests of the command line."""

from collections.abc import Callable
from dataclasses import fields
from typing import Any

import pytest

from codequarry.search_api.answers.hits import CodeChunk, Hit


@pytest.fixture
def make_hit() -> Callable[..., Hit]:
    """Return a function that makes a hit with the given fields; the others have neutral values."""

    def make(**given: Any) -> Hit:
        names = {field.name for field in fields(CodeChunk)}
        values: dict[str, Any] = {name: () if name.endswith("s") else None for name in names}
        texts = ("id", "repo", "path", "text", "context", "doc", "blob", "content_hash")
        values |= dict.fromkeys(texts, "") | {"language": "python", "symbol_type": "function", "kind_of_file": "source"}
        values |= {"score": 0.5, "start_line": 1, "end_line": 1, "start_char": 0, "end_char": 0, "masked": False}
        values |= {"ref": "main", "branch": "main", "commit": "c" * 40, "url": None, "is_stride": False}
        values |= {"introduced_commit": None, "code_owners": (), "file_history_is_partial": False}
        return Hit(**values | given)

    return make
