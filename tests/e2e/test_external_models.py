"""`external_models = false`: a repository's code is never sent to a model on another machine."""

from typing import Any

import pytest

from codequarry.shared.embedding.openai_compatible import OpenAICompatibleEmbedder
from codequarry.shared.errors import UsageError
from codequarry.shared.repositories.model_permission import check_model_allowed
from codequarry.shared.settings.config import EmbeddingSettings, SettingsModel
from codequarry.shared.settings.triggers import RepositorySettings

ORIGIN = "https://example.org/secret/code"
ELSEWHERE = {"CODEQUARRY_EMBEDDING__MODEL": "text-embedding-3-small", "CODEQUARRY_EMBEDDING__API_KEY": "no-real-key"}


@pytest.mark.parametrize(
    ("url", "leaves"),
    [
        ("http://127.0.0.1:8080/v1", False),
        ("http://localhost:8080/v1", False),
        ("http://[::1]:8080/v1", False),
        ("http://10.0.0.5:8080/v1", True),
        ("https://models.example.org/v1", True),
    ],
)
def test_a_server_on_this_machine_is_not_an_external_model(url: str, leaves: bool) -> None:
    embedder = OpenAICompatibleEmbedder(EmbeddingSettings(model="some-model", base_url=url, dimensions=8))
    settings = SettingsModel(repositories=(RepositorySettings(origin=ORIGIN, external_models=False),))
    try:
        assert embedder.leaves_machine is leaves
        check_model_allowed(settings, "other", "https://example.org/open/code", embedder)
        if leaves:
            with pytest.raises(UsageError, match="external_models = false"):
                check_model_allowed(settings, "code", f"{ORIGIN}.git", embedder)
        else:
            check_model_allowed(settings, "code", ORIGIN, embedder)
    finally:
        embedder.close()


def test_neither_indexing_nor_a_migration_sends_the_code_away(workspace: Any) -> None:
    repository = workspace.indexed("secret", {"a.py": "def a():\n    return 1\n"})
    (workspace.folder / "home" / "config.toml").write_text(
        f'[[repositories]]\norigin = "{repository.folder}"\nexternal_models = false\n'
    )
    for also in ((), ("--dry-run",)):
        outcome = workspace.run("migrate", "--model", "text-embedding-3-small", *also, variables=ELSEWHERE)
        assert outcome.code == 2
        assert "'secret' has external_models = false" in outcome.error
    assert workspace.run("search", "function a").code == 0
    workspace.run("repos", "rm", "secret", "--yes")
    for also in ((), ("--dry-run",)):
        outcome = workspace.run("index", repository.folder, *also, variables=ELSEWHERE)
        assert outcome.code == 2
        assert "external_models = false" in outcome.err
