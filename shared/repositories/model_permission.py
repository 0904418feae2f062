"""Permission to send a repository's code to a model on another machine."""

from codequarry.shared.catalog.repositories import list_repositories
from codequarry.shared.embedding.port import Embedder
from codequarry.shared.errors import UsageError
from codequarry.shared.repositories.followed_versions import rules_of
from codequarry.shared.settings.config import SettingsModel
from codequarry.shared.store.port import DocumentStore


def allows_external_model(settings: SettingsModel, origin: str) -> bool:
    """Return whether the settings allow a repository's code to be sent to models on other machines."""
    rules = rules_of(settings, origin)
    return rules is None or rules.external_models


def check_model_allowed(settings: SettingsModel, repo: str, origin: str, embedder: Embedder) -> None:
    """Raise UsageError if the settings keep a repository's code on this machine and the model is on another machine."""
    if embedder.leaves_machine and not allows_external_model(settings, origin):
        raise UsageError(
            f"'{repo}' has external_models = false, but model {embedder.name} is on another machine, so none of its "
            "code was sent; choose a model on this machine ([embedding] model) or set external_models = true"
        )


def check_all_may_leave(settings: SettingsModel, store: DocumentStore, embedder: Embedder) -> None:
    """Raise UsageError if a model is on another machine and any repository in the index must keep its code here."""
    for repository in list_repositories(store):
        check_model_allowed(settings, repository.name, repository.origin, embedder)
