"""Memory is measured over a process and all its children."""

import os
import subprocess
import sys

from bench.acceptance.processes import memory_of, tree


def test_a_child_is_part_of_the_tree_and_has_memory() -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as child:
        assert child.pid in tree(os.getpid())
        assert memory_of(os.getpid()) > 1_000_000
        child.communicate(b"\n")


def test_a_process_that_is_gone_has_none() -> None:
    with subprocess.Popen([sys.executable, "-c", ""]) as child:
        child.wait()
        assert memory_of(child.pid) == 0
