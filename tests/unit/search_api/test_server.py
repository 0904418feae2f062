import pytest

from codequarry.search_api.server import check_host, gunicorn_options
from codequarry.shared.config import SettingsModel
from codequarry.shared.errors import UsageError


def settings(**api):
    return SettingsModel.model_validate({"api": api})


@pytest.mark.parametrize("host", ["127.0.0.1", "127.8.8.8", "::1", "[::1]", "localhost"])
def test_loopback_is_open(host):
    check_host(settings(host=host))


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "10.0.0.1", "example.org", ""])
def test_the_network_is_closed_unless_the_settings_open_it(host):
    with pytest.raises(UsageError, match="open_to_network"):
        check_host(settings(host=host))
    check_host(settings(host=host, open_to_network=True))


def test_gunicorn_is_told_what_the_settings_say():
    options = gunicorn_options(settings(host="::1", port=81, threads=3, workers=2))
    assert options["bind"] == ["[::1]:81"]
    assert (options["threads"], options["workers"], options["worker_class"]) == (3, 2, "gthread")
