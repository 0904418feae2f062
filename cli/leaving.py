"""Files that a command is given, and models on other machines: some code is not to leave this one."""

from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from codequarry.shared.errors import CodequarryError, GitError, UsageError

if TYPE_CHECKING:
    from codequarry.shared.embedding.port import Embedder
    from codequarry.shared.settings.config import SettingsModel


def check_files_may_leave(settings: "SettingsModel", embedder: "Embedder", paths: Iterable[str]) -> None:
    """Raise UsageError where a file lies in a checkout of a repository whose code stays here, and the model does not.

    git is asked only where the settings name such a repository.
    """
    rules = (*settings.repositories, *settings.repository_groups)
    if not embedder.leaves_machine or all(one.external_models for one in rules):
        return
    from codequarry.ingest.git.mirrors import open_environment
    from codequarry.shared.embedding.permission import check_model_place

    environment = open_environment(settings.git, settings.home)
    for path in paths:
        for origin in _origins_of(path, environment):
            check_model_place(settings, path, origin, embedder)


def _origins_of(path: str, environment: dict[str, str]) -> Iterator[str]:
    """Yield where the repository may come from that a file lies in; UsageError where nothing tells."""
    from codequarry.ingest.git.checkout import open_checkout
    from codequarry.ingest.git.origins import parse_origin

    folder = Path(path).resolve().parent
    try:
        places = open_checkout(folder, environment).places()
    except GitError:
        # Git's own folder, or one that is damaged.
        if any((one / ".git").exists() for one in (folder, *folder.parents)):
            raise UsageError(
                f"'{path}' lies in a repository that git can't read: it might be one with external_models = false, and "
                "nothing of it was sent; choose a model of this machine ([embedding] model)"
            ) from None
        return
    yield from places
    for place in places:
        with suppress(CodequarryError):
            yield parse_origin(place).url  # a clone of a folder may name it by a link
