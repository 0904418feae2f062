"""Memory and processor time of a process include its children."""

import os
import subprocess
import sys

from bench.acceptance.processes import memory_of, processor_seconds, tree


def test_a_child_belongs_to_the_tree_and_has_memory() -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as child:
        assert child.pid in tree(os.getpid())
        assert memory_of(os.getpid()) > 1_000_000
        child.communicate(b"\n")


def test_an_ended_process_has_no_memory() -> None:
    with subprocess.Popen([sys.executable, "-c", ""]) as child:
        child.wait()
        assert memory_of(child.pid) == 0


def test_processor_time_includes_running_and_ended_children() -> None:
    before = processor_seconds(os.getpid())
    busy = "import time\nwhile time.process_time() < 0.3: pass\nprint(flush=True)\ninput()"
    with subprocess.Popen([sys.executable, "-c", busy], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdout
        child.stdout.readline()
        assert processor_seconds(child.pid) >= 0.25
        assert processor_seconds(os.getpid()) - before >= 0.25
        child.communicate(b"\n")
    assert processor_seconds(os.getpid()) - before >= 0.25
