import os
import subprocess
import sys

import pytest

from codequarry.ingest.transaction.holder import NO_HOLDER, describe_holder, has_ended, new_holder, retire_holder


@pytest.fixture
def holder():
    name = new_holder()
    yield name
    retire_holder(name)


def other_process(code: str) -> str:
    return f"from codequarry.ingest.transaction.holder import new_holder; print(new_holder(), flush=True); {code}"


def test_a_run_is_alive_until_it_retires(holder):
    assert not has_ended(holder)
    retire_holder(holder)
    assert has_ended(holder)


def test_two_runs_of_a_process_have_different_names(holder):
    other = new_holder()
    retire_holder(other)
    assert other != holder
    assert has_ended(other)
    assert not has_ended(holder)


def test_an_ended_process_is_gone_and_a_running_process_is_not():
    process = subprocess.Popen(
        [sys.executable, "-c", other_process("input()")], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout and process.stdin
    name = process.stdout.readline().strip()
    assert not has_ended(name)
    process.kill()
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    assert has_ended(name), "a zombie counts as gone"
    process.wait()
    assert has_ended(name)
    process.stdout.close()
    process.stdin.close()


def test_a_reused_process_id_is_noticed(holder):
    host, machine, _, started, nonce = holder.split(" ")
    parent = os.getppid()
    assert has_ended(f"{host} {machine} {parent} {int(started) + 1} {nonce}")


def test_processes_of_other_machines_and_containers_never_count_as_gone(holder):
    host, machine, _, started, nonce = holder.split(" ")
    assert not has_ended(f"elsewhere {machine} 999999999 {started} {nonce}")
    assert not has_ended(f"{host} other/pid:[1] 999999999 {started} {nonce}")
    assert not has_ended("a name of another form")


def test_the_empty_holder_counts_as_gone():
    assert has_ended(NO_HOLDER)


def test_a_holder_is_shown_as_process_and_host(holder):
    assert describe_holder(holder) == f"process {os.getpid()} on {holder.split(' ')[0]}"
    assert describe_holder("someone") == "someone"
