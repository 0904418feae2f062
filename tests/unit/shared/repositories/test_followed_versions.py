"""Settings of single repositories."""

import pytest

from codequarry.shared.errors import UnknownName, UsageError
from codequarry.shared.repositories.followed_versions import is_named, read_token, rules_of, settings_for
from codequarry.shared.settings.config import SettingsModel, load_settings
from codequarry.shared.settings.triggers import RepositorySettings, TokenReference
from codequarry.shared.versions.refs import Ref

ORIGIN = "https://git.example/owner/core"


def settings(**fields):
    common = {"scan": {"include": ["*.py"], "exclude": ["/old/"]}}
    return SettingsModel.model_validate(common | {"repositories": [{"origin": f"{ORIGIN}.git", **fields}]})


def test_a_repository_is_found_by_any_spelling_of_its_origin(tmp_path, monkeypatch):
    assert rules_of(settings(), "git@git.example:owner/core") is not None
    assert rules_of(settings(), "https://git.example/owner/other") is None
    monkeypatch.chdir(tmp_path)
    local = SettingsModel.model_validate({"repositories": [{"origin": "./core"}]})
    assert rules_of(local, str(tmp_path / "core")) is not None


def test_patterns_match_branches_tags_or_both():
    rules = RepositorySettings(origin=ORIGIN, refs=("release/*", "refs/tags/v*"))
    named = [Ref("branch", "release/1"), Ref("tag", "release/1"), Ref("tag", "v1")]
    unnamed = [Ref("branch", "v1"), Ref("branch", "main"), Ref("pull", "1"), Ref("commit", "1" * 40)]
    assert all(is_named(rules, ref) for ref in named)
    assert not any(is_named(rules, ref) for ref in unnamed)
    assert not is_named(None, named[0])


def test_patterns_and_token_of_a_repository_apply_only_to_it(monkeypatch):
    monkeypatch.setenv("CORE_TOKEN", "secret")
    own = settings(include=["*.go"], exclude=["/testdata/"], token_variable="CORE_TOKEN")
    found = settings_for(own, ORIGIN, "git.example")
    assert (found.scan.include, found.scan.exclude) == (("*.go",), ("/old/", "/testdata/"))
    assert found.git.tokens["git.example"].get_secret_value() == "secret"
    assert settings_for(own, "https://git.example/owner/other", "git.example") is own
    assert settings_for(settings(), ORIGIN, "git.example").scan.include == ("*.py",)


def test_a_token_is_read_from_its_file_or_variable(tmp_path, monkeypatch):
    path = tmp_path / "token"
    path.write_text("secret\n")
    token = read_token(TokenReference(token_file=path))
    assert token is not None and token.get_secret_value() == "secret"
    assert read_token(TokenReference()) is None
    monkeypatch.delenv("NO_SUCH", raising=False)
    for reference in (TokenReference(token_variable="NO_SUCH"), TokenReference(token_file=tmp_path / "none")):
        with pytest.raises(UsageError, match=r"NO_SUCH|none"):
            read_token(reference)


@pytest.mark.parametrize("field", ["roots", "credentials"])
def test_unknown_fields_of_a_repository_are_refused_by_name(field):
    with pytest.raises(UnknownName, match=field):
        load_settings([f'repositories=[{{"origin": "{ORIGIN}", "{field}": true}}]'], variables={})


@pytest.mark.parametrize(
    "repositories",
    [
        [{"origin": ORIGIN}, {"origin": "git@git.example:owner/core.git"}],
        [{"origin": ORIGIN, "name": "a"}, {"origin": f"{ORIGIN}2", "name": "a"}],
        [{"origin": ORIGIN, "name": "a b"}],
        [{"origin": ORIGIN, "token_variable": "A", "token_file": "/b"}],
        [{"origin": ORIGIN, "token_file": "relative"}],
        [{"origin": "https://someone:secret@git.example/owner/core"}],
        [{"origin": "https://git.example:port/owner/core"}],
    ],
)
def test_invalid_repositories_are_refused(repositories):
    with pytest.raises(ValueError):
        SettingsModel.model_validate({"repositories": repositories})


def test_a_password_in_an_origin_is_refused_without_being_repeated():
    with pytest.raises(UsageError) as refused:
        load_settings(['repositories=[{"origin": "https://someone:secret@git.example/core"}]'], variables={})
    assert "secret" not in str(refused.value)
    assert "token_variable" in str(refused.value)
