"""Quoted alternates, which git unquotes, must not lead outside the allowed folders."""

import os

import pytest

from codequarry.ingest.git.local import repository_at
from codequarry.ingest.git.view import served_view
from codequarry.shared.errors import GitError


@pytest.mark.parametrize("line", ['"{pool}/x\\057..\\057..\\057secret"', '"{secret}"/../../{up}{pool}/x'])
def test_a_quoted_path_is_refused(make_repository, tmp_path, line):
    folder = make_repository("borrower", {"a.py": "a = 1\n"}).folder
    pool, secret = tmp_path / "pool", tmp_path / "secret"
    (pool / "x").mkdir(parents=True)
    (folder / ".git/objects/info").mkdir(exist_ok=True)
    up = "../" * 20
    (folder / ".git/objects/info/alternates").write_text(line.format(pool=pool, secret=secret, up=up) + "\n")

    with (
        pytest.raises(GitError, match="a quoted path"),
        served_view(repository_at(folder, dict(os.environ)), (pool,)),
    ):
        pass
