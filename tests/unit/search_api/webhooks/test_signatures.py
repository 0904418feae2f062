"""A delivery needs a valid signature, in each format that code hosts send."""

import base64
import hmac
from hashlib import sha256

import pytest
from werkzeug.datastructures import Headers

from codequarry.search_api.webhooks import generic as generic_provider
from codequarry.search_api.webhooks import gitea, github
from codequarry.search_api.webhooks import gitlab as gitlab_provider
from codequarry.search_api.webhooks.provider import SignedDelivery
from codequarry.shared.errors import Unauthorized

BODY = b'{"ref": "refs/heads/main"}'
SECRETS = ["old secret", "new secret"]
NOW = 1_700_000_000


def with_headers(check):
    """Return a check that takes headers, body, secrets and optionally the time."""
    return lambda headers, body, secrets, now=NOW, tolerance=300: check(
        SignedDelivery(Headers(headers), body, secrets, now, tolerance)
    )


check_github, check_gitea = with_headers(github.check_github), with_headers(gitea.check_gitea)
check_gitlab, check_generic = with_headers(gitlab_provider.check_gitlab), with_headers(generic_provider.check_generic)


def hexadecimal(secret, signed=BODY):
    return hmac.new(secret.encode(), signed, sha256).hexdigest()


def standard(key, identifier="msg_1", timestamp=NOW, body=BODY):
    digest = hmac.new(key, f"{identifier}.{timestamp}.".encode() + body, sha256).digest()
    signature = "v1," + base64.b64encode(digest).decode()
    return {"webhook-id": identifier, "webhook-timestamp": str(timestamp), "webhook-signature": signature}


def generic(secret, identifier="run-1", timestamp=NOW, body=BODY):
    signed = f"{identifier}.{timestamp}.".encode() + body
    return {
        "X-Codequarry-Delivery": identifier,
        "X-Codequarry-Timestamp": str(timestamp),
        "X-Codequarry-Signature": f"sha256={hexadecimal(secret, signed)}",
    }


def gitlab(headers, body=BODY, secrets=SECRETS):
    return check_gitlab(headers, body, secrets, NOW, 300)


def test_the_example_in_the_documentation_of_github_is_accepted():
    signature = "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17"
    check_github({"X-Hub-Signature-256": signature}, b"Hello, World!", ["It's a Secret to Everybody"])


@pytest.mark.parametrize("secret", SECRETS)
def test_every_configured_secret_is_accepted(secret):
    fitting = [
        check_github({"X-Hub-Signature-256": f"sha256={hexadecimal(secret)}"}, BODY, SECRETS),
        check_gitea({"X-Gitea-Signature": hexadecimal(secret)}, BODY, SECRETS),
        check_gitea({"X-Forgejo-Signature": hexadecimal(secret)}, BODY, SECRETS),
        gitlab({"X-Gitlab-Token": secret}),
        gitlab(standard(secret.encode())),
        check_generic(generic(secret), BODY, SECRETS, NOW, 300),
    ]
    assert fitting == [SECRETS.index(secret)] * 6


def test_the_example_of_the_standard_webhooks_specification_is_accepted():
    """Secret, identifier, time and body are those in the tests of its libraries."""
    headers = {
        "webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek",
        "webhook-timestamp": "1614265330",
        "webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
    }
    check_gitlab(headers, b'{"test": 2432232314}', ["whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"], 1614265330, 300)


def test_one_of_several_standard_signatures_is_enough():
    headers = standard(b"new secret")
    headers["webhook-signature"] = f"v1,AAAA v2,xyz {headers['webhook-signature']}"
    gitlab(headers)


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"X-Hub-Signature-256": ""},
        {"X-Hub-Signature-256": "sha256="},
        {"X-Hub-Signature-256": f"sha256={hexadecimal('another')}"},
        {"X-Hub-Signature-256": hexadecimal("new secret")},
        {"X-Hub-Signature-256": f"sha1={hexadecimal('new secret')}"},
        {"X-Hub-Signature-256": "sha256=\u00e9"},
        {"X-Hub-Signature": f"sha256={hexadecimal('new secret')}"},
    ],
)
def test_an_invalid_signature_of_github_is_refused(headers):
    with pytest.raises(Unauthorized):
        check_github(headers, BODY, SECRETS)


def test_a_changed_body_is_refused():
    for check in (
        lambda: check_github({"X-Hub-Signature-256": f"sha256={hexadecimal('new secret')}"}, BODY + b" ", SECRETS),
        lambda: check_gitea({"X-Gitea-Signature": hexadecimal("new secret")}, BODY + b" ", SECRETS),
        lambda: gitlab(standard(b"new secret"), BODY + b" "),
        lambda: check_generic(generic("new secret"), BODY + b" ", SECRETS, NOW, 300),
    ):
        with pytest.raises(Unauthorized, match="matches none"):
            check()


@pytest.mark.parametrize("header", ["webhook-id", "webhook-timestamp", "webhook-signature"])
def test_another_identifier_time_or_signature_is_refused(header):
    with pytest.raises(Unauthorized):
        gitlab({**standard(b"new secret"), header: "1"})


@pytest.mark.parametrize("timestamp", [NOW - 301, NOW + 301])
def test_an_old_or_future_signature_is_refused(timestamp):
    with pytest.raises(Unauthorized, match="too long ago"):
        gitlab(standard(b"new secret", timestamp=timestamp))
    with pytest.raises(Unauthorized, match="too long ago"):
        check_generic(generic("new secret", timestamp=timestamp), BODY, SECRETS, NOW, 300)


def test_a_valid_token_does_not_excuse_a_wrong_signature():
    with pytest.raises(Unauthorized):
        gitlab({**standard(b"another"), "X-Gitlab-Token": "new secret"})


@pytest.mark.parametrize("token", ["", "new", "new secret ", "another"])
def test_a_wrong_token_of_gitlab_is_refused(token):
    with pytest.raises(Unauthorized):
        gitlab({"X-Gitlab-Token": token})
