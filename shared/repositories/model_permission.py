"""Which code may be sent to a model on another machine."""

from codequarry.shared.catalog.repositories import list_repositories
from codequarry.shared.embedding.port import Embedder
from codequarry.shared.errors import UsageError
from codequarry.shared.repositories.followed_versions import rules_of
from codequarry.shared.settings.config import SettingsModel
from codequarry.shared.store.port import DocumentStore


def allows_external_model(settings: SettingsModel, origin: str) -> bool:
    """Tell whether the settings let a repository's code go to models on other machines."""
    rules = rules_of(settings, origin)
    return rules is None or rules.external_models


def check_model_allowed(settings: SettingsModel, repo: str, origin: str, embedder: Embedder) -> None:
    """Raise UsageError where the settings keep a repository's code on this machine and the model is elsewhere."""
    if embedder.leaves_machine and not allows_external_model(settings, origin):
        raise UsageError(
            f"'{repo}' has external_models = false, and model {embedder.name} is on another machine: nothing of it was "
            "sent there; choose a model of this machine ([embedding] model) or allow it"
        )


def check_all_may_leave(settings: SettingsModel, store: DocumentStore, embedder: Embedder) -> None:
    """Raise UsageError where a model is elsewhere and must not have the code of any repository of an index."""
    for repository in list_repositories(store):
        check_model_allowed(settings, repository.name, repository.origin, embedder)
