import json
from pathlib import Path

import pytest

from codequarry.shared.errors import UnknownName, UsageError
from codequarry.shared.known_models import ONNX_FILES, TABLE_FILES
from codequarry.shared.settings.config import LEAVES, LoadedSettings, SettingsModel, load_settings
from codequarry.shared.settings.sources import variable_of, without_accounts


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Use a working folder without a settings file, and a separate home."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "user"))
    return tmp_path


def load(*assignments: str, **variables: str) -> LoadedSettings:
    return load_settings(assignments, variables={f"CODEQUARRY_{name}": value for name, value in variables.items()})


def test_without_any_source_every_setting_is_its_default(folder: Path) -> None:
    loaded = load()
    assert loaded.settings == SettingsModel(home=folder / "user" / ".codequarry")
    assert (loaded.sources, loaded.file) == ({}, None)


def test_a_later_source_wins_and_is_named(folder: Path) -> None:
    (folder / "codequarry.toml").write_text('store = "opensearch"\n[api]\nhost = "file"\nport = 1\nthreads = 2\n')
    loaded = load("api.port=3", API__HOST="environment", API__PORT="2")
    assert (loaded.settings.api.host, loaded.settings.api.port, loaded.settings.api.threads) == ("environment", 3, 2)
    assert loaded.sources == {
        "store": str(folder / "codequarry.toml"),
        "api.host": "CODEQUARRY_API__HOST",
        "api.port": "command line",
        "api.threads": str(folder / "codequarry.toml"),
    }


def test_flags_that_were_not_given_change_nothing() -> None:
    loaded = load_settings(overrides={"api.host": None, "api.port": 9000}, variables={})
    assert (loaded.settings.api.host, loaded.settings.api.port) == ("127.0.0.1", 9000)


def test_the_settings_file_is_searched_in_three_places_in_order(folder: Path) -> None:
    home, named = folder / "home", folder / "named.toml"
    home.mkdir()
    (home / "config.toml").write_text("[api]\nport = 3\n")
    assert load(HOME=str(home)).settings.api.port == 3
    (folder / "codequarry.toml").write_text("[api]\nport = 2\n")
    assert load(HOME=str(home)).settings.api.port == 2
    named.write_text("[api]\nport = 1\n")
    loaded = load(HOME=str(home), CONFIG=str(named))
    assert (loaded.settings.api.port, loaded.file) == (1, named)


def test_a_named_file_must_exist() -> None:
    with pytest.raises(UsageError, match=r"CODEQUARRY_CONFIG names .*missing\.toml, which does not exist"):
        load(CONFIG="missing.toml")


@pytest.mark.parametrize(
    ("variable", "message"),
    [
        ("FOO", "unknown setting 'CODEQUARRY_FOO' in the environment"),
        (
            "EMBEDDING__MODLE",
            "unknown setting 'CODEQUARRY_EMBEDDING__MODLE' in the environment; did you mean CODEQUARRY_EMBEDDING__MO",
        ),
        ("CHUNKING", "unknown setting 'CODEQUARRY_CHUNKING' in the environment"),
        ("API__PORT_FILE", "unknown setting 'CODEQUARRY_API__PORT_FILE' in the environment"),
    ],
)
def test_an_unknown_variable_is_reported_with_similar_names(variable: str, message: str) -> None:
    with pytest.raises(UnknownName) as raised:
        load(**{variable: "1"})
    assert str(raised.value).startswith(message)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "modle = 1",
            "unknown setting 'modle' in {file}; did you mean embedding.model or reranking.model or",
        ),
        ("[embedding]\nmodle = 1", "unknown setting 'embedding.modle' in {file}; did you mean embedding.model"),
        ("[embeding]\nmodel = 1", "unknown setting 'embeding' in {file}; did you mean embedding?"),
        ("[[path_rules]]\nglob = 'a'\ntag = 'b'", "unknown setting 'path_rules.0.tag' in {file}"),
        ("embedding = 1", "'embedding' in {file} is a table; write [embedding] and its settings below"),
        ("embedding = ", "{file} is not valid TOML: Invalid value"),
    ],
)
def test_an_invalid_file_is_refused_with_key_and_file(folder: Path, text: str, message: str) -> None:
    file = folder / "codequarry.toml"
    file.write_text(text)
    with pytest.raises(UsageError) as raised:
        load()
    assert str(raised.value).startswith(message.format(file=file))


def test_an_invalid_value_is_one_line_with_key_value_source_and_reason() -> None:
    with pytest.raises(UsageError) as raised:
        load(EMBEDDING__BATCH_SIZE="many")
    assert str(raised.value).splitlines() == [
        "setting embedding.batch_size = 'many' (CODEQUARRY_EMBEDDING__BATCH_SIZE) is invalid: "
        "it should be a valid integer, unable to parse string as an integer"
    ]


def test_an_invalid_value_of_a_secret_is_not_shown() -> None:
    with pytest.raises(UsageError) as raised:
        load(GIT__TOKENS='["hunter2"]')
    assert "git.tokens" in str(raised.value)
    assert "hunter2" not in str(raised.value)


def test_settings_that_contradict_each_other_are_refused() -> None:
    with pytest.raises(UsageError, match=r"\[chunking\]: overlap_tokens must be below target_tokens"):
        load("chunking.overlap_tokens=400")


@pytest.mark.parametrize("assignment", ["reranking.weight=1.5", "reranking.candidate_count=201"])
def test_settings_of_the_second_stage_have_limits(assignment: str) -> None:
    with pytest.raises(UsageError, match=f"setting {assignment.partition('=')[0]} .*should be less than or equal to"):
        load(assignment)


def test_a_pair_without_an_equals_sign_is_refused() -> None:
    with pytest.raises(UsageError, match=r"'api\.port' is not a setting; write KEY=VALUE"):
        load("api.port")


def test_an_empty_variable_is_unset() -> None:
    assert load(EMBEDDING__API_KEY="", FOO="").settings.embedding.api_key is None


def test_lists_are_written_with_commas_or_as_json() -> None:
    assert load(OPENSEARCH__URLS="http://a:1, http://b:2").settings.opensearch.urls == ("http://a:1", "http://b:2")
    assert load(OPENSEARCH__URLS='["http://a:1"]').settings.opensearch.urls == ("http://a:1",)
    rules = load(PATH_RULES='[{"glob": "services/*/**", "tags": ["service"]}]').settings.path_rules
    assert [(rule.glob, rule.tags) for rule in rules] == [("services/*/**", ("service",))]


def test_paths_are_relative_to_the_file_or_the_working_folder(folder: Path) -> None:
    (folder / "conf").mkdir()
    file = folder / "conf" / "settings.toml"
    file.write_text('home = "data"\n[git]\nca_file = "~/ca.pem"\n')
    loaded = load(CONFIG=str(file), OPENSEARCH__CA_FILE="ca.pem").settings
    assert loaded.home == folder / "conf" / "data"
    assert loaded.git.ca_file == folder / "user" / "ca.pem"
    assert loaded.opensearch.ca_file == folder / "ca.pem"


def lay_model(folder: Path, *files: str) -> Path:
    folder.mkdir(parents=True)
    for file in files:
        (folder / file).touch()
    return folder


@pytest.mark.parametrize("section", ["embedding", "reranking"])
def test_a_model_in_a_folder_gets_its_full_path_and_other_names_stay(folder: Path, section: str) -> None:
    def named(name: str) -> str:
        return load(f"{section}.model={name}").settings.model_dump()[section]["model"]

    mine = lay_model(folder / "mine", *TABLE_FILES)
    other = lay_model(folder / "org/other", *ONNX_FILES)
    own = lay_model(folder / "user/own", *ONNX_FILES)
    lay_model(folder / "minilm", *ONNX_FILES)
    lay_model(folder / "part", *ONNX_FILES[:1])
    assert [named(name) for name in ("mine", "./mine", "org/other", "~/own")] == [*map(str, (mine, mine, other, own))]
    for name in ("minilm", "part", "org/none", "~nobody-here/x", "x" * 300):
        assert named(name) == name


def test_a_model_path_is_relative_to_its_file_unless_a_server_is_set(folder: Path) -> None:
    mine = lay_model(folder / "conf/mine", *TABLE_FILES)
    lay_model(folder / "mine", *TABLE_FILES)
    file = folder / "conf/settings.toml"
    file.write_text('[embedding]\nmodel = "mine"\n')
    assert load(CONFIG=str(file)).settings.embedding.model == str(mine)
    assert load(CONFIG=str(file), EMBEDDING__BASE_URL="http://127.0.0.1:9/v1").settings.embedding.model == "mine"


def test_a_secret_is_read_from_the_file_named_by_a_variable(folder: Path) -> None:
    (folder / "key").write_text("s3cret\n")
    loaded = load(EMBEDDING__API_KEY_FILE="key")
    assert loaded.settings.embedding.api_key is not None
    assert loaded.settings.embedding.api_key.get_secret_value() == "s3cret"
    assert loaded.sources == {"embedding.api_key": "CODEQUARRY_EMBEDDING__API_KEY_FILE"}


def test_a_secret_given_twice_is_refused(folder: Path) -> None:
    (folder / "key").write_text("s3cret\n")
    with pytest.raises(UsageError, match="set CODEQUARRY_GIT__TOKEN or CODEQUARRY_GIT__TOKEN_FILE, not both"):
        load(GIT__TOKEN="a", GIT__TOKEN_FILE="key")


def test_a_secret_file_that_cannot_be_read_is_named() -> None:
    with pytest.raises(UsageError, match="CODEQUARRY_GIT__TOKEN_FILE names missing, which cannot be read"):
        load(GIT__TOKEN_FILE="missing")


def test_credentials_in_urls_are_masked() -> None:
    assert without_accounts(["https://me:pw@host:9200/x", 3]) == ["https://********@host:9200/x", 3]
    assert without_accounts([{"origin": "https://me:pw@host/x"}]) == [{"origin": "https://********@host/x"}]


def test_every_setting_has_its_own_variable() -> None:
    """Dotted keys and variables correspond one to one."""
    assert len({variable_of(key) for key in LEAVES}) == len(LEAVES)


def test_every_default_can_be_written_back_as_an_assignment() -> None:
    defaults = SettingsModel().model_dump(mode="json")
    pairs = []
    for key in LEAVES:
        value = defaults
        for part in key.split("."):
            value = value[part]
        if value is not None:
            pairs.append(f"{key}={value if isinstance(value, str) else json.dumps(value)}")
    loaded = load(*pairs)
    assert loaded.settings == load().settings
    assert len(loaded.sources) == len(pairs)
