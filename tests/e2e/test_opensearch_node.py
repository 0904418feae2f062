"""The real node: it answers, runs without privileges, starts only once, and has what the store needs."""

import json
import os
import shutil
import urllib.request
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil
import pytest

from codequarry.cli import main as cli
from codequarry.opensearch.node import NodePlan, find, start, stop

pytestmark = pytest.mark.opensearch


def ask(url: str) -> object:
    with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(url, timeout=30) as answer:
        return json.load(answer)


@pytest.fixture
def second(opensearch_node, opensearch_node_plan: NodePlan) -> Iterator[NodePlan]:
    """Yield a plan for another node from the same assembled home, and remove that node afterwards."""
    plan = replace(opensearch_node_plan, name=f"second-{os.getpid()}", heap="512m")
    yield plan
    stop(plan, remove_data=True)


def test_the_node_answers_with_its_version_and_the_vector_plugin(opensearch_node) -> None:
    body = ask(opensearch_node.url)
    assert isinstance(body, dict)
    assert body["version"]["number"] == opensearch_node.node.version
    plugins = ask(f"{opensearch_node.url}/_cat/plugins?format=json")
    assert isinstance(plugins, list)
    assert {plugin["component"] for plugin in plugins} == {"opensearch-knn"}


def test_the_node_does_not_run_as_root_and_listens_only_on_this_machine(opensearch_node) -> None:
    process = psutil.Process(opensearch_node.node.pid)
    assert process.uids().real != 0
    listening = {c.laddr.ip for c in process.net_connections("inet") if c.status == psutil.CONN_LISTEN}
    assert {ip.removeprefix("::ffff:") for ip in listening} == {"127.0.0.1"}
    assert Path(opensearch_node.node.log).is_file()


def test_two_starts_at_once_start_one_node_and_a_stopped_node_keeps_its_data(opensearch_node, second: NodePlan) -> None:
    with ThreadPoolExecutor(2) as pool:
        node, other = pool.map(lambda _: start(second, lambda _: None), range(2))
    assert node == other
    assert node.pid != opensearch_node.node.pid
    assert find(second) == node
    before = ask(node.url)
    assert stop(second) == node
    assert not psutil.pid_exists(node.pid)
    assert find(second) is None
    after = ask(start(second, lambda _: None).url)
    assert isinstance(before, dict) and isinstance(after, dict)
    assert after["cluster_uuid"] == before["cluster_uuid"]


def test_stopping_a_node_does_not_affect_others_and_can_remove_its_data(opensearch_node, second: NodePlan) -> None:
    node = start(second, lambda _: None)
    assert stop(second, remove_data=True) == node
    assert not Path(node.folder).exists()
    assert find(NodePlan(second.folder, Path(opensearch_node.node.folder).name)) == opensearch_node.node
    assert stop(second) is None


@pytest.fixture
def command(opensearch_node, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys) -> Iterator[Callable[..., Any]]:
    """Yield a function that runs `codequarry opensearch … --json` on a separate folder with the node's parts."""
    assembled = next(Path(opensearch_node.node.folder).parent.glob("opensearch-*"))
    folder = assembled.parent / f"cli-{os.getpid()}"
    folder.mkdir()
    (folder / assembled.name).symlink_to(assembled)
    monkeypatch.setenv("CODEQUARRY_HOME", str(tmp_path))

    def run(*arguments: str, url: str = "") -> Any:
        if url:
            monkeypatch.setenv("CODEQUARRY_OPENSEARCH__URLS", url)
        own = ("--folder", str(folder)) if arguments[0] != "init" else ()
        assert cli.run(["opensearch", *arguments, *own, "--json"]) == 0
        return json.loads(capsys.readouterr().out)

    yield run
    stop(NodePlan(folder), remove_data=True)
    shutil.rmtree(folder)


def test_the_commands_start_show_prepare_and_stop_a_node(command: Callable[..., Any]) -> None:
    node = command("start", "--port", "0", "--heap", "512m")
    assert command("start", "--port", "0") == node
    status = command("status", url=node["url"])
    assert (status["node"], status["cluster"]["version"], status["indices"]) == (node, node["version"], [])
    printed = command("init", "--print")
    assert list(printed) == command("init")["made"]
    assert command("init") == {"made": []}
    shown = command("status")["indices"]
    assert [index["name"] for index in shown] == sorted(printed)
    assert {index["documents"] for index in shown} == {0}
    assert command("stop") == {"stopped": True, "node": node}
    assert command("stop") == {"stopped": False, "node": None}


def test_a_cluster_that_does_not_answer_is_one_line_and_exit_code_1(monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    monkeypatch.setenv("CODEQUARRY_OPENSEARCH__URLS", "http://127.0.0.1:9")
    assert cli.run(["opensearch", "status"]) == 1
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert "codequarry opensearch start" in error


@pytest.mark.parametrize("arguments", [["start", "--port", "70000"], ["start", "--heap", "much"], ["begin"], []])
def test_wrong_usage_is_exit_code_2(arguments: list[str]) -> None:
    assert cli.run(["opensearch", *arguments]) == 2
