"""The checks of `codequarry doctor` for a cluster."""

import pytest

from codequarry.shared.store.opensearch.checks import (
    check_blocks,
    check_durability,
    check_health,
    check_indices,
    check_replication,
    check_version,
)
from codequarry.shared.store.opensearch.overview import Cluster, IndexFacts


def facts(alias: str = "code", health: str = "green", **settings: object) -> IndexFacts:
    return IndexFacts(f"{alias}-000001", alias, 1200, 1, health, settings)


@pytest.mark.parametrize(
    ("version", "distribution", "state"),
    [
        ("3.6.0", "opensearch", "ok"),
        ("2.19.1", "opensearch", "ok"),
        ("10.0.0-SNAPSHOT", "opensearch", "ok"),
        ("2.9.0", "opensearch", "fail"),
        ("8.15.0", "elasticsearch", "fail"),
    ],
)
def test_the_server_must_be_opensearch_and_new_enough(version: str, distribution: str, state: str) -> None:
    check = check_version(Cluster("prod", version, distribution))
    assert check.state == state
    assert version in check.message
    assert bool(check.remedy) == (state == "fail")


def test_an_alias_must_point_to_a_single_index() -> None:
    assert check_indices([facts("code"), facts("code-files")], "code").state == "ok"
    check = check_indices([facts("code"), facts("code")], "code")
    assert (check.state, check.message) == ("fail", "alias of several indices: code")
    assert "first write" in check_indices([], "code").message


@pytest.mark.parametrize(
    ("check", "good", "bad"),
    [
        (check_replication, {"index.replication.type": "DOCUMENT"}, {"index.replication.type": "SEGMENT"}),
        (check_durability, {"index.translog.durability": "REQUEST"}, {"index.translog.durability": "async"}),
        (check_blocks, {"index.blocks.write": "false"}, {"index.blocks.read_only_allow_delete": "true"}),
    ],
)
def test_an_unsafe_setting_is_reported_with_its_index(check, good, bad) -> None:
    assert check([facts(), facts("code-files", **good)]).state == "ok"
    finding = check([facts(**good), facts("code-files", **bad)])
    assert finding.state == "fail"
    assert "code-files-000001" in finding.message
    assert "code-000001" not in finding.message
    assert finding.remedy


@pytest.mark.parametrize(("colours", "state"), [("gg", "ok"), ("gy", "warn"), ("yr", "fail")])
def test_missing_copies_are_a_warning_and_missing_data_a_failure(colours: str, state: str) -> None:
    names = {"g": "green", "y": "yellow", "r": "red"}
    found = [facts(f"i{place}", names[colour]) for place, colour in enumerate(colours)]
    assert check_health(found).state == state
