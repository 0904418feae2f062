"""Memory that is freed goes back to the system."""

import subprocess
import sys

# Threads that need arrays of many sizes for a moment, and keep something small from each time, as a cache does.
SCRIPT = """
import resource, sys, threading
import numpy as np
from codequarry.shared.allocation import keep_memory_flat

if sys.argv[1] == "flat":
    assert keep_memory_flat() is (sys.platform == "linux" and "glibc" in __import__("platform").libc_ver())

def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * resource.getpagesize()

kept = []
def work(number):
    chance = np.random.default_rng(number)
    for _ in range(60):
        arrays = [np.ones(int(chance.integers(100_000, 1_500_000)) // 8) for _ in range(12)]
        kept.append(np.ones(50))
        del arrays

work(0)
before = resident()
threads = [threading.Thread(target=work, args=(number,)) for number in range(12)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print((resident() - before) // 1_000_000)
"""


def grown(how: str) -> int:
    """Return by how many megabytes a process grew."""
    done = subprocess.run([sys.executable, "-c", SCRIPT, how], capture_output=True, text=True, check=True)
    return int(done.stdout)


def test_arrays_that_threads_freed_are_not_kept():
    assert grown("flat") < 15
