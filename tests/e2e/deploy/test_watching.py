"""Panels and alert rules against what service, worker and beat export when run by the commands of compose.yaml."""

import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from codequarry.shared.catalog.repositories import RefHead, list_repositories, save_ref_head
from codequarry.shared.jobs.job import JobRequest
from codequarry.shared.jobs.job_list import read_job, submit
from codequarry.shared.telemetry.instruments import METRICS
from tests.e2e.deploy.installation import DEPLOY, free_port, until

# Prometheus adds these labels to every series, and exports `up` itself.
OF_PROMETHEUS = {"job", "instance"}
SELECTOR = re.compile(r"\b(codequarry_\w+|up)\b(?:\{([^}]*)\})?")
MATCHER = re.compile(r"(\w+)\s*(=~|=|!=|!~)\s*\"([^\"]*)\"")
GROUPING = re.compile(r"\b(?:by|on)\s*\(([^)]*)\)")


def panels() -> Iterator[tuple[str, str]]:
    """Yield every expression of the dashboards, with its place."""
    for path in sorted((DEPLOY / "grafana" / "dashboards").glob("*.json")):
        for panel in json.loads(path.read_text())["panels"]:
            for target in panel["targets"]:
                yield f"{path.stem}: {panel['title']}", target["expr"]


def alerts() -> Iterator[tuple[str, str]]:
    """Yield every expression of the alert rules, with its name."""
    for group in yaml.safe_load((DEPLOY / "prometheus" / "alerts.yml").read_text())["groups"]:
        for rule in group["rules"]:
            assert set(rule) == {"alert", "expr", "for", "labels", "annotations"}
            assert rule["labels"]["severity"] in ("warning", "critical")
            yield rule["alert"], rule["expr"]


# Its masking is counted.
PASSWORD = "x7Kq2vL9mT4w"
EXPRESSIONS = [*panels(), *alerts()]


@pytest.fixture(scope="module")
def exported(installation, store) -> dict[str, list[dict[str, str]]]:
    """Make everything happen once that is counted, and return all series: name to the labels of each."""
    folder = installation.folder / "core"
    origin = repository(folder, f'PASSWORD = "{PASSWORD}"\n\n\ndef retry_later(job):\n    return job\n')
    status, added = installation.ask("/repos", {"origin": origin})
    assert status == 202, added
    ended(store, added["job_id"], "done")
    repository(folder, "def retry_later(job, again):\n    return again\n")
    [known] = list_repositories(store)
    ended(store, submit(store, JobRequest(known.name, known.origin))[0].id, "done")
    ended(store, submit(store, JobRequest("lost", str(folder / "nowhere")))[0].id, "failed")
    status, answer = installation.ask("/search-code", {"query": "retry_later"})
    assert status == 200 and answer["results"] and answer["degraded"] == []
    save_ref_head(store, RefHead(known.name, "", "f" * 40, "2026-01-01T00:00:00+00:00"))
    installation.embeddings.shutdown()
    installation.embeddings.server_close()
    assert installation.ask("/search-code", {"query": "retry_later"})[1]["degraded"] == ["embedding"]
    broken = free_port()
    (installation.folder / "broken").mkdir()
    (installation.folder / "broken" / "store").write_text("no folder")
    variables = {"CODEQUARRY_HOME": str(installation.folder / "broken"), "CODEQUARRY_METRICS__PORT": str(broken)}
    installation.start("api", "--port", str(free_port()), **variables)
    until(
        lambda: "codequarry_store_errors_total" in installation.samples(broken),
        "the broken service exports no store errors",
    )
    until(
        lambda: "codequarry_repository_behind_seconds" in installation.samples(installation.metrics["api"]),
        "the repository that is behind is not named",
    )
    found: dict[str, list[dict[str, str]]] = {}
    for port in (*installation.metrics.values(), broken):
        for name, labels in installation.samples(port).items():
            found.setdefault(name, []).extend(labels)
    return found


def repository(folder: Path, text: str) -> str:
    """Commit a file to a repository, which is made if it does not exist, and return its origin."""
    folder.mkdir(exist_ok=True)
    (folder / "retry.py").write_text(text)
    git = ["git", "-C", str(folder), "-c", "user.name=Test", "-c", "user.email=test@example.org"]
    for arguments in (["init", "--quiet", "-b", "main"], ["add", "."], ["commit", "--quiet", "-m", "change"]):
        subprocess.run([*git, *arguments], check=True, capture_output=True)
    return str(folder)


def ended(store, job_id: str, state: str) -> None:
    """Wait until a job has ended in this state."""
    job = until(lambda: (job := read_job(store, job_id)) and job.is_finished and job, f"job {job_id} did not end")
    assert job.state == state, job


@pytest.mark.parametrize(("place", "expression"), EXPRESSIONS, ids=[place for place, _ in EXPRESSIONS])
def test_every_expression_uses_exported_series_and_labels(place, expression, exported):
    grouped = {label.strip() for labels in GROUPING.findall(expression) for label in labels.split(",") if label.strip()}
    known: set[str] = set()
    for name, selector in SELECTOR.findall(expression):
        matchers = MATCHER.findall(selector)
        assert len(matchers) == selector.count("=") + selector.count("!~"), f"{place}: {selector} is not understood"
        if name == "up":
            assert {label for label, _, _ in matchers} <= OF_PROMETHEUS
            known |= OF_PROMETHEUS
            continue
        assert name in exported, f"{place}: {name} is not exported"
        known |= {label for labels in exported[name] for label in labels} | OF_PROMETHEUS
        for label, operator, value in matchers:
            values = {labels[label] for labels in exported[name] if label in labels}
            for wanted in value.split("|") if operator == "=~" else [value]:
                assert wanted in values, f'{place}: {name} has no {label}="{wanted}", only {sorted(values)}'
    assert known, f"{place}: the expression uses no series"
    assert grouped <= known, f"{place}: {grouped - known} are not labels"


def test_exactly_the_declared_metrics_are_exported_with_their_labels(exported):
    for metric in METRICS:
        name = f"{metric.exported}_bucket" if metric.kind == "histogram" else metric.exported
        labels = set(metric.labels) | ({"le"} if metric.kind == "histogram" else set())
        assert {frozenset(series) for series in exported.get(name, [])} == {frozenset(labels)}, name
    declared = tuple(metric.name for metric in METRICS)
    assert all(name.startswith(declared) for name in exported if name.startswith("codequarry_"))


def test_labels_are_bounded(exported):
    values = {
        label: {series[label] for labels in exported.values() for series in labels if label in series}
        for label in ("repo",)
    }
    assert values == {"repo": {"core"}}
    text = json.dumps(exported)
    for secret in ("retry", "k" * 40, "nowhere", PASSWORD):
        assert secret not in text


def test_every_metric_is_used_by_a_panel_or_rule():
    asked = {name for _, expression in EXPRESSIONS for name, _ in SELECTOR.findall(expression)}
    shown = {re.sub(r"_(bucket|sum|count)$", "", name) for name in asked}
    assert {metric.exported for metric in METRICS} - shown == set(), "a metric that no panel or rule uses"
