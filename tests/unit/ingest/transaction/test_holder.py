import os
import subprocess
import sys

import pytest

from codequarry.ingest.transaction.holder import NO_HOLDER, has_ended, new_holder, retire_holder, describe_holder


@pytest.fixture
def holder():
    name = new_holder()
    yield name
    retire_holder(name)


def other_process(code: str) -> str:
    return f"from codequarry.ingest.transaction.holder import new_holder; print(new_holder(), flush=True); {code}"


def test_this_run_is_at_work_until_it_says_otherwise(holder):
    assert not has_ended(holder)
    retire_holder(holder)
    assert has_ended(holder)


def test_two_runs_of_one_process_have_two_names(holder):
    other = new_holder()
    retire_holder(other)
    assert other != holder
    assert has_ended(other)
    assert not has_ended(holder)


def test_a_process_that_ended_is_gone_and_one_that_runs_is_not():
    process = subprocess.Popen(
        [sys.executable, "-c", other_process("input()")], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout and process.stdin
    name = process.stdout.readline().strip()
    assert not has_ended(name)
    process.kill()
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    assert has_ended(name), "a zombie works no more"
    process.wait()
    assert has_ended(name)
    process.stdout.close()
    process.stdin.close()


def test_a_reused_process_id_is_noticed(holder):
    host, machine, _, started, nonce = holder.split(" ")
    parent = os.getppid()
    assert has_ended(f"{host} {machine} {parent} {int(started) + 1} {nonce}")


def test_nothing_is_known_of_other_machines_and_containers(holder):
    host, machine, _, started, nonce = holder.split(" ")
    assert not has_ended(f"elsewhere {machine} 999999999 {started} {nonce}")
    assert not has_ended(f"{host} other/pid:[1] 999999999 {started} {nonce}")
    assert not has_ended("a name of another form")


def test_a_lease_that_was_given_back_belongs_to_nobody():
    assert has_ended(NO_HOLDER)


def test_a_holder_is_named_by_process_and_host(holder):
    assert describe_holder(holder) == f"process {os.getpid()} on {holder.split(' ')[0]}"
    assert describe_holder("someone") == "someone"
