"""Secrets are masked, other text is not, and every other character keeps its position."""

import os
import subprocess
import sys
import time

import pytest

from codequarry.ingest.secrets.allow_list import Allowed, parse_allow_file
from codequarry.ingest.secrets.masking import mask
from codequarry.ingest.secrets.policy import SecretRules
from codequarry.shared.errors import UsageError
from codequarry.shared.settings.secrets import SecretSettings
from tests.gate.planted import planted


@pytest.mark.parametrize("sample", planted(), ids=lambda sample: sample.kind)
def test_every_kind_of_secret_is_masked(sample):
    masked = mask(sample.text, sample.path)
    assert [secret for secret in sample.secrets if secret in masked.text] == []


@pytest.mark.parametrize("sample", planted(), ids=lambda sample: sample.kind)
def test_masking_keeps_every_other_character_in_place(sample):
    masked = mask(sample.text, sample.path)
    assert len(masked.text) == len(sample.text)
    assert all(new in (old, "*") for new, old in zip(masked.text, sample.text, strict=True))
    assert [at for at, sign in enumerate(masked.text) if sign in "\r\n"] == [
        at for at, sign in enumerate(sample.text) if sign in "\r\n"
    ]


NO_SECRETS = [
    'password = ""',
    'password = "<password>"',
    'password = "${DB_PASSWORD}"',
    'password = "{{ db_password }}"',
    'password = "xxxxxxxx"',
    'password = "********"',
    'password = "changeme"',
    'password = "your-password-here"',
    'password = os.environ["DB_PASSWORD"]',
    'password = os.getenv("DB_PASSWORD")',
    "password = get_password(user1)",
    "password: str",
    "password: str = Field(min_length=12)",
    "connect(user=user, password=password)",
    "connect(user=user1, password=password1)",
    'password_field = "user_password_2"',
    'PASSWORD_RESET_URL = "/account/reset2"',
    'label = {"password": "Password must have 8 characters"}',
    '{"password": {"type": "string"}}',
    "  password: string",
    "token = tokens[index2]",
    'token_type = "bearer2"',
    'token = "access_token_v2"',
    'Token = "TOKEN_KIND_2"',
    'secret_name = "prod/db/credentials1"',
    'get_secret("prod/db/password1")',
    'secretKeyRef: {name: "db-secret-1", key: "password"}',
    'id = "3f0c0b5e-8f5e-4a4c-9d4e-2f6f0c1d7a55"',
    'commit = "9fceb02d0ae598e95dc970b74767f19372d61af8"',
    '"integrity": "sha512-9GhJQGpXa2kxxGMNyIZrOr8BvM4vVvTEq5GwXGY0n8fpo0MB9GZ6rNIFwdyyR4p5Fwnr8OCKlpmm3nRAnfVYIg=="',
    "url = http://user:password@host/",
    "url = https://${USER}:${TOKEN}@host/",
    "url = https://host:8080/path@v2.1.0",
    "git@github.com:owner/name2.git",
    "key = cache_key(user, 12)",
    'primary_key = "user_id_2"',
    '"-----BEGIN PRIVATE KEY-----" in text and "-----END PRIVATE KEY-----" in text',
    "Authorization: Bearer <token>",
    "Authorization: Basic dXNlcjpwYXNzd29yZA==",  # user:password
    'ghp = "ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"',
    "uses: actions/checkout@11bd71901bbe5b1630ceea73d27597364c9af683",
    'assert parse("a=1;b=2") == {"a": "1", "b": "2"}',
    "$token = $this->token2;",
    "To see more, just pass `NODE_DEBUG=koa*` to it.",
    "password := r.FormValue(passwordKey2)",
    'hash = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"',
]


@pytest.mark.parametrize("path", ["a.py", "a.yaml", "a.md", ""])
@pytest.mark.parametrize("line", NO_SECRETS)
def test_text_without_secrets_is_unchanged(line, path):
    assert mask(f"x = 1\n{line}\ny = 2\n", path).text == f"x = 1\n{line}\ny = 2\n"


def test_a_secret_is_masked_everywhere_in_the_file():
    text = 'api_key = "q8Zr4Tn1Vw6Yx3Ks9Lm2"\n# was q8Zr4Tn1Vw6Yx3Ks9Lm2 before\n'
    assert "q8Zr4" not in mask(text, "a.py").text


def test_positions_count_characters_not_bytes():
    masked = mask('größe = "ß€𝄞"\npassword = "pä55wörd!x"\nende = 1\n', "a.py")
    assert masked.text == 'größe = "ß€𝄞"\npassword = "**********"\nende = 1\n'
    (secret,) = masked.secrets
    assert masked.touches(secret.start, secret.start + 1)
    assert not masked.touches(0, secret.start)
    assert not masked.touches(secret.end, secret.end + 1)


def test_a_private_key_counts_once():
    keys = [sample for sample in planted() if "key" in sample.kind.lower() and "BEGIN" in sample.text]
    assert len(keys) > 5
    found = {sample.kind: mask(sample.text, sample.path).counts.by_rule for sample in keys}
    assert found == {sample.kind: {"private-key": 1} for sample in keys}


def test_rules_paths_and_hashes_can_be_allowed():
    text = 'password = "hunter2"\n'
    digest = "f52fbd32b2b3b86ff88ef6c490628285f482af15ddcb29541f94bcf526a3f6c7"  # printf %s hunter2 | sha256sum
    assert mask(text, "a.py", Allowed(hashes=frozenset({digest}))).text == text
    assert mask(text, "a.py", Allowed(rules=frozenset({"assigned-password"}))).text == text
    assert mask(text, "tests/data/a.py", Allowed(paths=("/tests/data/",))).text == text
    assert mask(text, "src/a.py", Allowed(paths=("/tests/data/",))).text != text


def test_allowed_paths_are_matched_in_linear_time():
    """They may be hostile: with backtracking, the first pattern takes hours."""
    hostile = Allowed(paths=("*a" * 12 + "*b", "[", "!" + "*a" * 12))
    assert mask('password = "hunter2"\n', "a" * 240, hostile).counts.total == 1


def test_an_invalid_pattern_of_the_settings_is_refused():
    with pytest.raises(UsageError, match=r"secrets.allow_paths: '\[' is not a valid"):
        SecretRules.of(SecretSettings(allow_paths=("[",)))


def test_new_rules_for_patterns_change_only_the_rules_that_hold_patterns(monkeypatch):
    """Otherwise every file of every repository would be read again."""
    with_paths, without = SecretRules.of(SecretSettings(allow_paths=("a",))), SecretRules.of(SecretSettings())
    before = with_paths.digest, without.digest
    monkeypatch.setattr("codequarry.ingest.secrets.policy.GLOBS_VERSION", 99)
    assert with_paths.digest != before[0]
    assert without.digest == before[1]


def test_an_allowed_folder_can_have_a_folder_taken_out():
    allowed = parse_allow_file(["path: /tests/", "path: !/tests/real/", "path: a\\ "])
    assert allowed.allows_path("tests/x.pem")
    assert not allowed.allows_path("tests/real/x.pem")
    assert allowed.allows_path("a ")


def test_an_allow_file_names_paths_rules_and_hashes():
    allowed = parse_allow_file(["# ours", "", "path: tests/*.pem", "rule:jwt", "hash: ABC", "other: x"])
    assert allowed == Allowed(("tests/*.pem",), frozenset({"jwt"}), frozenset({"abc"}))


@pytest.mark.parametrize(
    "text", ["password=" * 100_000, "-----BEGIN PRIVATE KEY-----" * 30_000, "a:" * 400_000, "eyJ" * 300_000]
)
def test_masking_takes_linear_time(text):
    started = time.process_time()
    mask(text, "a.yaml")
    assert time.process_time() - started < 20


def test_a_secret_gets_the_same_rule_in_every_process():
    """Several rules find this secret, and the order of sets differs between processes."""
    text = 'aws_secret_access_key = "hG8dkF2mQ0pLr5sT7uVwXyZ1aB3cD4eF6gH8iJ9k"\n'
    code = f"from codequarry.ingest.secrets.masking import mask; print(mask({text!r}).secrets)"
    outputs = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": str(seed)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in range(4)
    }
    assert len(outputs) == 1 and "Secret(" in outputs.pop()
