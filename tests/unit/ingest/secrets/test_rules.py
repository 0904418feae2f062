import tomllib
from importlib.resources import files

import pytest

from codequarry.ingest.secrets.engine import compiled
from codequarry.ingest.secrets.policy import RULE_FILES


def entries():
    folder = files("codequarry.ingest.secrets")
    return [rule for name in RULE_FILES for rule in tomllib.loads((folder / name).read_text("utf-8"))["rules"]]


@pytest.mark.parametrize("rule", entries(), ids=lambda rule: rule["id"])
def test_every_pattern_compiles_and_matches_no_empty_text(rule):
    assert compiled(rule["regex"].encode()).search(b"") is None
