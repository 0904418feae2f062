"""Who asks: keys of the catalog, the key of the settings, and nobody's machine but one's own."""

from datetime import timedelta

import pytest

from codequarry.search_api.access.authentication import (
    ADMIN,
    FAILURE_SECONDS,
    MAX_AGE_SECONDS,
    MIN_AGE_SECONDS,
    ApiKeys,
    RequestCredentials,
    OwnerWithoutKeys,
    is_loopback,
)
from codequarry.shared.access.grants import OWNER, Grant
from codequarry.shared.access.key_list import add_key, change_key, list_keys
from codequarry.shared.access.keys import moment, new_key, revoked, rotated
from codequarry.shared.errors import StoreUnavailable, Unauthorized, UsageError
from codequarry.shared.settings.config import SettingsModel
from codequarry.shared.store.embedded.store import EmbeddedStore

ADMIN_KEY = "the-key-of-a-compose-file-9f2c"


@pytest.fixture
def store(tmp_path):
    """Give an empty embedded store."""
    opened = EmbeddedStore(tmp_path / "store", 4)
    yield opened
    opened.close()


@pytest.fixture
def clock():
    """Give a clock that a test moves."""
    return {"now": 0.0}


@pytest.fixture
def keys(store, clock):
    """Give a function that makes an authenticator over the store."""

    def make(**sections):
        settings = SettingsModel.model_validate(sections)
        return ApiKeys(settings, lambda: store, OwnerWithoutKeys(settings), lambda: clock["now"])

    return make


def local(token=None):
    return RequestCredentials(token, "127.0.0.1", "localhost:8080")


def refusal(authenticator, asker):
    with pytest.raises(Unauthorized) as refused:
        authenticator.authenticate(asker)
    return str(refused.value)


class TestWithoutAnyKey:
    def test_who_is_at_this_machine_is_its_owner_where_that_is_trusted(self, keys):
        trusting = keys(api={"trust_loopback": True})
        assert trusting.authenticate(local()) is OWNER
        assert trusting.authenticate(local("whatever a client sends")) is OWNER
        assert trusting.authenticate(RequestCredentials(None, "::1", "[::1]:80")) is OWNER

    def test_nobody_is_unless_the_settings_trust_this_machine(self, keys):
        """A proxy that adds no header, and sends its upstream's name as the host, looks just like that."""
        said = refusal(keys(), local())
        assert "codequarry keys create" in said and "--socket PATH or --trust-loopback" in said

    def test_who_opened_the_services_own_socket_is_its_owner_but_not_through_a_proxy(self, keys):
        assert keys().authenticate(RequestCredentials(None, "", "localhost", on_socket=True)) is OWNER
        refusal(keys(), RequestCredentials(None, "", "localhost", is_forwarded=True, on_socket=True))

    @pytest.mark.parametrize(
        "asker",
        [
            RequestCredentials(None, "10.0.0.7", "localhost"),
            RequestCredentials(None, "", "localhost"),
            RequestCredentials(None, "127.0.0.1", "evil.example"),
            RequestCredentials(None, "127.0.0.1", "localhost.evil.example:8080"),
            RequestCredentials(None, "127.0.0.1", ""),
            RequestCredentials(None, "127.0.0.1", "localhost", is_forwarded=True),
        ],
    )
    def test_nobody_else_is_and_no_web_page_that_points_its_name_here(self, keys, asker):
        assert "codequarry keys create" in refusal(keys(api={"trust_loopback": True}), asker)

    def test_unless_something_in_front_checks_who_asks(self, keys):
        opened = keys(api={"open_to_network": True})
        assert opened.authenticate(RequestCredentials(None, "10.0.0.7", "code.example")) is OWNER

    def test_from_the_first_key_on_nobody_gets_in_without(self, keys, store, clock):
        authenticator = keys(api={"trust_loopback": True})
        assert authenticator.authenticate(local()) is OWNER
        key, _ = new_key("ci", ["search"], [Grant("*")])
        add_key(store, key)
        clock["now"] += MAX_AGE_SECONDS + 0.1
        assert "needs a key" in refusal(authenticator, local())
        change_key(store, key.id, revoked)
        clock["now"] += MAX_AGE_SECONDS + 0.1
        assert "needs a key" in refusal(authenticator, local())


class TestKeys:
    def test_a_key_is_its_principal(self, keys, store):
        key, token = new_key("ci", ["search"], [Grant("team-*")])
        add_key(store, key)
        principal = keys().authenticate(local(token))
        assert (principal.name, principal.scopes) == (f"ci ({key.id})", {"search"})
        assert principal.sees("team-a", "1") and not principal.sees("core", "2")

    def test_any_other_secret_is_refused_in_the_same_words(self, keys, store):
        key, token = new_key("ci", ["search"], [Grant("*")])
        add_key(store, key)
        authenticator = keys()
        wrong = [token[:-1] + ("A" if token[-1] != "A" else "B"), f"cq_000000000000_{token[16:]}", "x", token + "x"]
        (said,) = {refusal(authenticator, local(one)) for one in wrong}
        assert token[16:-1] not in said

    def test_a_key_that_is_over_is_refused(self, keys, store):
        key, token = new_key("old", ["search"], [Grant("*")], expires_at=moment(timedelta(hours=-1)))
        add_key(store, key)
        assert "expired" in refusal(keys(), local(token))

    def test_a_revoked_key_stops_within_seconds(self, keys, store, clock):
        key, token = new_key("ci", ["search"], [Grant("*")])
        add_key(store, key)
        authenticator = keys()
        authenticator.authenticate(local(token))
        change_key(store, key.id, revoked)
        clock["now"] += MAX_AGE_SECONDS + 0.1
        refusal(authenticator, local(token))
        assert MAX_AGE_SECONDS <= 5

    def test_a_new_key_gets_in_at_once_and_guesses_do_not_make_the_service_read_all_the_time(self, keys, store, clock):
        authenticator = keys()
        add_key(store, new_key("first", ["search"], [Grant("*")])[0])
        refusal(authenticator, local("cq_000000000000_x"))
        key, token = new_key("ci", ["search"], [Grant("*")])
        add_key(store, key)
        refusal(authenticator, local(token))
        clock["now"] += MIN_AGE_SECONDS + 0.01
        assert authenticator.authenticate(local(token)) == key.principal

    def test_both_secrets_of_a_rotated_key_get_in(self, keys, store):
        key, old = new_key("ci", ["search"], [Grant("*")])
        changed, new = rotated(key, timedelta(hours=1))
        add_key(store, changed)
        assert keys().authenticate(local(old)) == keys().authenticate(local(new))

    def test_the_keys_are_not_read_for_every_request(self, keys, store, clock):
        key, token = new_key("ci", ["search"], [Grant("*")])
        add_key(store, key)
        reads = []

        def counted():
            reads.append(1)
            return store

        authenticator = ApiKeys(SettingsModel(), counted, OwnerWithoutKeys(SettingsModel()), lambda: clock["now"])
        for _ in range(5):
            authenticator.authenticate(local(token))
        # One for the list, one for the note of its use.
        assert len(reads) == 2
        assert list_keys(store)[0].last_used_at

    def test_where_the_store_does_not_answer_nobody_gets_in(self, keys):
        def fail():
            raise StoreUnavailable("down")

        settings = SettingsModel.model_validate({"auth": {"admin_key": ADMIN_KEY}})
        authenticator = ApiKeys(settings, fail, OwnerWithoutKeys(settings))
        with pytest.raises(StoreUnavailable):
            authenticator.authenticate(local())
        assert authenticator.authenticate(local(ADMIN_KEY)) is ADMIN

    def test_those_who_waited_for_a_store_that_is_away_do_not_wait_one_after_the_other(self, clock):
        calls = []

        def fail():
            calls.append(1)
            raise StoreUnavailable("nobody at 10.1.2.3")

        settings = SettingsModel.model_validate({"auth": {"admin_key": ADMIN_KEY}})
        authenticator = ApiKeys(settings, fail, OwnerWithoutKeys(settings), lambda: clock["now"])
        for _ in range(3):
            with pytest.raises(StoreUnavailable) as refused:
                authenticator.authenticate(local())
            assert "10.1.2.3" not in str(refused.value)
        assert len(calls) == 1
        clock["now"] += FAILURE_SECONDS + 0.1
        with pytest.raises(StoreUnavailable):
            authenticator.authenticate(local())
        assert len(calls) == 2


class TestKeyOfTheSettings:
    def test_it_may_do_and_see_everything_and_closes_the_service_to_all_others(self, keys):
        authenticator = keys(auth={"admin_key": ADMIN_KEY})
        assert authenticator.authenticate(RequestCredentials(ADMIN_KEY, "10.0.0.7", "code.example")) is ADMIN
        assert ADMIN.sees_everything
        refusal(authenticator, local())
        refusal(authenticator, local(ADMIN_KEY + "x"))

    def test_one_that_could_be_guessed_is_refused(self, keys):
        with pytest.raises(UsageError, match="admin_key") as refused:
            keys(auth={"admin_key": "hunter2"})
        assert "hunter2" not in str(refused.value)


def test_a_token_is_in_no_description_of_who_asks():
    assert "cq_" not in repr(local("cq_a_b"))


@pytest.mark.parametrize(("host", "expected"), [("127.0.0.1", True), ("[::1]", True), ("localhost", True), ("", False)])
def test_loopback(host, expected):
    assert is_loopback(host) is expected
