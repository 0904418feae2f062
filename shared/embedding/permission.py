"""Which code may be sent to a model on another machine."""

from codequarry.shared.embedding.port import Embedder
from codequarry.shared.errors import UsageError
from codequarry.shared.settings.config import SettingsModel
from codequarry.shared.triggers.following import rules_of


def check_model_place(settings: SettingsModel, repo: str, origin: str, embedder: Embedder) -> None:
    """Raise UsageError where the settings keep a repository's code on this machine and the model is elsewhere."""
    rules = rules_of(settings, origin)
    if rules and not rules.external_models and embedder.leaves_machine:
        raise UsageError(
            f"'{repo}' has external_models = false, and model {embedder.name} is on another machine: nothing of it was "
            "sent there; choose a model of this machine ([embedding] model) or allow it"
        )
