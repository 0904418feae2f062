"""Checks the files of deploy/ without Docker: what every service must have, and that the files fit together."""

import json
import re
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest
import yaml

from codequarry.shared.settings.config import LEAVES, load_settings
from codequarry.shared.settings.sources import variable_of

DEPLOY = Path(__file__).parents[3] / "deploy"
COMPOSE = yaml.safe_load((DEPLOY / "compose.yaml").read_text())
SERVICES = COMPOSE["services"]
OURS = ("api", "worker", "beat")
# Keys of a service that this project uses.
KEYS = {
    "image", "build", "init", "read_only", "user", "tmpfs", "cap_drop", "security_opt", "restart", "secrets", "configs",
    "environment", "command", "ports", "networks", "volumes", "depends_on", "stop_grace_period", "healthcheck",
    "deploy", "ulimits",
}  # fmt: skip
DIGEST = "@sha256:[0-9a-f]{64}"
PORTS = {"api": ["127.0.0.1:8080:8080"], "grafana": ["127.0.0.1:3000:3000"]}


@pytest.mark.parametrize("name", SERVICES)
def test_every_service_has_limits_no_privileges_and_a_health_check(name):
    service = SERVICES[name]
    assert set(service) <= KEYS
    assert re.fullmatch(rf"codequarry|[a-z/]+:v?\d+(\.\d+)+(-alpine)?{DIGEST}", service["image"]), "pinned by digest"
    assert service["user"].isdigit() and service["user"] != "0"
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert service["restart"] == "unless-stopped"
    assert set(service["deploy"]["resources"]["limits"]) == {"cpus", "memory"}
    health = service["healthcheck"]
    assert health["test"][0] in ("CMD", "CMD-SHELL") and {"interval", "timeout", "retries"} <= set(health)


@pytest.mark.parametrize("name", SERVICES)
def test_only_ports_named_in_the_readme_are_published_and_only_to_this_machine(name):
    ports = SERVICES[name].get("ports", [])
    assert ports == PORTS.get(name, [])
    readme = (DEPLOY / "README.md").read_text()
    for port in ports:
        host, number, _ = port.split(":")
        assert f"http://{host}:{number}" in readme


def test_services_use_only_what_is_declared_and_declared_files_exist():
    for kind in ("secrets", "networks"):
        used = {name for service in SERVICES.values() for name in service.get(kind, [])}
        assert used == set(COMPOSE[kind])
    volumes = {mount.partition(":")[0] for service in SERVICES.values() for mount in service.get("volumes", [])}
    assert {volume for volume in volumes if not volume.startswith(".")} == set(COMPOSE["volumes"])
    files = [volume for volume in volumes if volume.startswith(".")]
    files += [config["file"] for config in COMPOSE["configs"].values()]
    for path in files:
        assert (DEPLOY / path).exists(), path
    readme = (DEPLOY / "README.md").read_text()
    for secret in COMPOSE["secrets"].values():
        assert Path(secret["file"]).name in readme, "the README does not say how to create this secret"
    for name, service in SERVICES.items():
        for other, condition in service.get("depends_on", {}).items():
            assert other in SERVICES and condition == {"condition": "service_healthy"}, name


def test_services_join_only_the_networks_they_need():
    """The index has no accounts here, so Grafana, which queries any data source, must not reach it."""
    networks: dict[str, set[str]] = {}
    for name, service in SERVICES.items():
        for network in service["networks"]:
            networks.setdefault(network, set()).add(name)
    assert networks == {
        "store": {"api", "worker", "opensearch"},
        "tasks": {"api", "worker", "beat", "queue"},
        "watching": {"api", "worker", "prometheus", "grafana"},
        "outside": {"api", "worker", "grafana"},
    }
    closed = {name for name, network in COMPOSE["networks"].items() if network == {"internal": True}}
    assert closed == set(networks) - {"outside"}


def test_secrets_come_from_files_that_git_ignores():
    for name, service in SERVICES.items():
        for variable in service.get("environment", {}):
            assert not re.search(r"(PASSWORD|KEY|TOKEN|URL)$", variable), f"{name}: {variable}"
    for secret in COMPOSE["secrets"].values():
        assert secret["file"].startswith("./secrets/")
    assert "/deploy/secrets/" in (DEPLOY.parent / ".gitignore").read_text().splitlines()


@pytest.mark.parametrize("name", OURS)
def test_environment_of_our_services_loads_as_settings(name, tmp_path):
    environment = dict(SERVICES[name]["environment"])
    known = (
        {variable_of(key) for key in LEAVES} | {f"{variable_of(key)}_FILE" for key in LEAVES} | {"CODEQUARRY_CONFIG"}
    )
    assert set(environment) <= known
    for secret, text in (("admin_key", "k" * 32), ("queue_url", "redis://:p@queue:6379/0")):
        (tmp_path / secret).write_text(text)
    for variable, value in environment.items():
        environment[variable] = value.replace("/run/secrets", str(tmp_path))
    environment["CODEQUARRY_CONFIG"] = str(DEPLOY / "codequarry.toml")
    settings = load_settings(variables=environment).settings
    assert settings.opensearch.urls == ("http://opensearch:9200",)
    assert settings.queue.url.get_secret_value() == "redis://:p@queue:6379/0"
    assert settings.metrics.port == 9100


def test_the_image_is_slim_unprivileged_and_complete():
    lines = (DEPLOY / "Dockerfile").read_text().replace("\\\n", " ").splitlines()
    steps = [line.split(maxsplit=1) for line in lines if line and not line.startswith("#")]
    stages = [rest for step, rest in steps if step == "FROM"]
    assert len(stages) == 2 and all(re.match(rf"python:3\.\d+-slim-[a-z]+{DIGEST}", stage) for stage in stages)
    installs = [rest for step, rest in steps if step == "RUN" and "pip install" in rest]
    assert [("--require-hashes" in rest, "--no-deps" in rest) for rest in installs] == [(True, True), (False, True)]
    last = steps[[index for index, (step, _) in enumerate(steps) if step == "FROM"][-1] :]
    found = {step: rest for step, rest in last}
    assert found["USER"] == SERVICES["api"]["user"]
    assert " git " in found["RUN"] and "--no-install-recommends" in found["RUN"]
    assert [step for step, _ in last].index("USER") > [step for step, _ in last].index("RUN")
    assert json.loads(found["CMD"]) == SERVICES["api"]["command"][:2]
    health = json.loads(found["HEALTHCHECK"].partition("CMD ")[2])
    assert health == SERVICES["api"]["healthcheck"]["test"][1:]
    assert not any(step in ("ADD", "ARG") for step, _ in steps)


def test_the_build_context_holds_only_the_packages():
    ignored = (DEPLOY.parent / ".dockerignore").read_text().splitlines()
    kept = {line[1:] for line in ignored if line.startswith("!")}
    project = tomllib.loads((DEPLOY.parent / "pyproject.toml").read_text())
    folders = set(project["tool"]["setuptools"]["package-dir"].values())
    assert kept == folders | {"pyproject.toml", "README.md", "LICENSE", "deploy/locks/service.txt"}
    assert ignored[0] == "*"


def test_prometheus_scrapes_our_services_on_the_metrics_port():
    config = yaml.safe_load((DEPLOY / "prometheus" / "prometheus.yml").read_text())
    port = tomllib.loads((DEPLOY / "codequarry.toml").read_text())["metrics"]["port"]
    found = {job["job_name"]: job["dns_sd_configs"][0] for job in config["scrape_configs"]}
    assert {name: lookup["names"] for name, lookup in found.items()} == {
        "codequarry-api": ["api"],
        "codequarry-worker": ["worker"],
    }
    assert {lookup["port"] for lookup in found.values()} == {port}
    for file in config["rule_files"]:
        assert (DEPLOY / "prometheus" / file).exists()


def test_every_alert_is_tested_firing_and_not_firing():
    groups = yaml.safe_load((DEPLOY / "prometheus" / "alerts.yml").read_text())["groups"]
    alerts = {rule["alert"] for group in groups for rule in group["rules"]}
    tests = yaml.safe_load((DEPLOY / "prometheus" / "alerts_test.yml").read_text())["tests"]
    moments = [(case["alertname"], bool(case.get("exp_alerts"))) for test in tests for case in test["alert_rule_test"]]
    assert set(moments) == {(alert, fires) for alert in alerts for fires in (True, False)}
    # If Prometheus is installed, its own tool checks both files.
    if promtool := shutil.which("promtool"):
        folder = DEPLOY / "prometheus"
        subprocess.run([promtool, "check", "config", "prometheus.yml"], cwd=folder, check=True)
        subprocess.run([promtool, "test", "rules", "alerts_test.yml"], cwd=folder, check=True)
