"""Authentication by keys of the catalog, by the admin key of the settings, and by loopback or socket."""

from datetime import timedelta

import pytest

from codequarry.search_api.access.authentication import (
    ADMIN,
    FAILURE_SECONDS,
    MAX_AGE_SECONDS,
    MIN_AGE_SECONDS,
    ApiKeys,
    OwnerWithoutKeys,
    RequestCredentials,
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
    """Return an empty embedded store."""
    opened = EmbeddedStore(tmp_path / "store", 4)
    yield opened
    opened.close()


@pytest.fixture
def clock():
    """Return a clock that the test advances."""
    return {"now": 0.0}


@pytest.fixture
def keys(store, clock):
    """Return a function that makes an authenticator over the store."""

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
    def test_a_loopback_client_is_the_owner_if_loopback_is_trusted(self, keys):
        trusting = keys(api={"trust_loopback": True})
        assert trusting.authenticate(local()) is OWNER
        assert trusting.authenticate(local("whatever a client sends")) is OWNER
        assert trusting.authenticate(RequestCredentials(None, "::1", "[::1]:80")) is OWNER

    def test_a_loopback_client_needs_a_key_by_default(self, keys):
        """A proxy that adds no header and sends `localhost` as the host looks the same as a local client."""
        message = refusal(keys(), local())
        assert "codequarry keys create" in message and "--socket PATH or --trust-loopback" in message

    def test_a_direct_client_of_the_socket_is_the_owner(self, keys):
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
    def test_remote_forwarded_and_rebound_clients_need_a_key(self, keys, asker):
        assert "codequarry keys create" in refusal(keys(api={"trust_loopback": True}), asker)

    def test_open_to_network_admits_every_client(self, keys):
        opened = keys(api={"open_to_network": True})
        assert opened.authenticate(RequestCredentials(None, "10.0.0.7", "code.example")) is OWNER

    def test_the_first_key_closes_the_service_even_after_its_revocation(self, keys, store, clock):
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
    def test_a_key_has_the_scopes_and_grants_of_its_principal(self, keys, store):
        key, token = new_key("ci", ["search"], [Grant("team-*")])
        add_key(store, key)
        principal = keys().authenticate(local(token))
        assert (principal.name, principal.scopes) == (f"ci ({key.id})", {"search"})
        assert principal.sees("team-a", "1") and not principal.sees("core", "2")

    def test_all_wrong_secrets_are_refused_with_the_same_message(self, keys, store):
        key, token = new_key("ci", ["search"], [Grant("*")])
        add_key(store, key)
        authenticator = keys()
        wrong = [token[:-1] + ("A" if token[-1] != "A" else "B"), f"cq_000000000000_{token[16:]}", "x", token + "x"]
        (message,) = {refusal(authenticator, local(secret)) for secret in wrong}
        assert token[16:-1] not in message

    def test_an_expired_key_is_refused(self, keys, store):
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

    def test_a_new_key_is_admitted_soon_and_guesses_cause_few_reads(self, keys, store, clock):
        authenticator = keys()
        add_key(store, new_key("first", ["search"], [Grant("*")])[0])
        refusal(authenticator, local("cq_000000000000_x"))
        key, token = new_key("ci", ["search"], [Grant("*")])
        add_key(store, key)
        refusal(authenticator, local(token))
        clock["now"] += MIN_AGE_SECONDS + 0.01
        assert authenticator.authenticate(local(token)) == key.principal

    def test_both_secrets_of_a_rotated_key_are_admitted(self, keys, store):
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
        # One read for the list of keys, one for recording the last use.
        assert len(reads) == 2
        assert list_keys(store)[0].last_used_at

    def test_without_the_store_only_the_admin_key_is_admitted(self, keys):
        def fail():
            raise StoreUnavailable("down")

        settings = SettingsModel.model_validate({"auth": {"admin_key": ADMIN_KEY}})
        authenticator = ApiKeys(settings, fail, OwnerWithoutKeys(settings))
        with pytest.raises(StoreUnavailable):
            authenticator.authenticate(local())
        assert authenticator.authenticate(local(ADMIN_KEY)) is ADMIN

    def test_a_failed_read_is_remembered_for_other_requests(self, clock):
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
    def test_it_may_do_everything_and_closes_the_service_to_others(self, keys):
        authenticator = keys(auth={"admin_key": ADMIN_KEY})
        assert authenticator.authenticate(RequestCredentials(ADMIN_KEY, "10.0.0.7", "code.example")) is ADMIN
        assert ADMIN.sees_everything
        refusal(authenticator, local())
        refusal(authenticator, local(ADMIN_KEY + "x"))

    def test_a_weak_admin_key_is_refused(self, keys):
        with pytest.raises(UsageError, match="admin_key") as refused:
            keys(auth={"admin_key": "hunter2"})
        assert "hunter2" not in str(refused.value)


def test_the_repr_of_an_asker_hides_the_token():
    assert "cq_" not in repr(local("cq_a_b"))


@pytest.mark.parametrize(("host", "expected"), [("127.0.0.1", True), ("[::1]", True), ("localhost", True), ("", False)])
def test_loopback_hosts_are_recognised(host, expected):
    assert is_loopback(host) is expected
