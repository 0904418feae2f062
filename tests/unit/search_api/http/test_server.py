import subprocess
import sys
from contextlib import closing

import pytest

from codequarry.search_api.http.connections.worker import PatientWorker
from codequarry.search_api.http.server import check_host, gunicorn_options, has_keys
from codequarry.shared.access.grants import Grant
from codequarry.shared.access.key_list import add_key
from codequarry.shared.access.keys import new_key
from codequarry.shared.errors import UsageError
from codequarry.shared.settings.config import SettingsModel
from codequarry.shared.store.factory import open_store


def settings(**api):
    return SettingsModel.model_validate({"api": api})


@pytest.mark.parametrize("host", ["127.0.0.1", "127.8.8.8", "::1", "[::1]", "localhost"])
def test_loopback_is_open(host):
    check_host(settings(host=host), lambda: False)


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "10.0.0.1", "example.org", ""])
def test_the_network_is_closed_unless_the_settings_open_it(host):
    with pytest.raises(UsageError, match="open_to_network"):
        check_host(settings(host=host), lambda: False)
    check_host(settings(host=host, open_to_network=True), lambda: False)


def test_with_a_key_the_service_may_listen_on_the_network():
    check_host(settings(host="0.0.0.0"), lambda: True)
    by_settings = SettingsModel.model_validate({"api": {"host": "0.0.0.0"}, "auth": {"admin_key": "a" * 40}})
    check_host(by_settings, lambda: False)


def test_has_keys_reads_the_index(tmp_path):
    empty = SettingsModel.model_validate({"home": tmp_path / "home"})
    assert not has_keys(empty)
    with closing(open_store(empty, 4)) as store:
        assert not has_keys(empty)
        add_key(store, new_key("ci", ["search"], [Grant("*")])[0])
        assert has_keys(empty)


def test_the_settings_become_gunicorn_options():
    options = gunicorn_options(settings(host="::1", port=81, threads=3, workers=2))
    assert options["bind"] == ["[::1]:81"]
    assert (options["threads"], options["workers"], options["worker_class"]) == (3, 2, PatientWorker)


# Threads that briefly need arrays of many sizes and keep a small array each time, as a cache does.
SCRIPT = """
import resource, sys, threading
import numpy as np
from codequarry.search_api.http.server import keep_memory_flat

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
    """Return the growth of a process in megabytes."""
    done = subprocess.run([sys.executable, "-c", SCRIPT, how], capture_output=True, text=True, check=True)
    return int(done.stdout)


def test_memory_freed_by_threads_returns_to_the_system():
    assert grown("flat") < 15
