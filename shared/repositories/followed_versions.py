"""The versions of a repository that are kept up to date: those that the settings name or that are indexed."""

import os
from collections.abc import Sequence
from fnmatch import fnmatchcase
from urllib.parse import urlsplit

from pydantic import SecretStr

from codequarry.shared.catalog.repositories import Repository
from codequarry.shared.errors import UsageError
from codequarry.shared.jobs.job import JobRequest, Trigger
from codequarry.shared.origins import identity_if_readable
from codequarry.shared.settings.commentary import CommentarySettings
from codequarry.shared.settings.config import SettingsModel
from codequarry.shared.settings.triggers import RepositoryGroup, RepositorySettings, TokenReference
from codequarry.shared.versions.head import Head
from codequarry.shared.versions.refs import NAMED_KINDS, Ref

GITHUB, GITHUB_API, GITLAB = "github.com", "api.github.com", "gitlab.com"

Rules = RepositorySettings | RepositoryGroup


def rules_of(settings: SettingsModel, origin: str) -> Rules | None:
    """Return the settings of the repository at an origin or of its group, or None if they name neither."""
    identity = identity_if_readable(origin)
    repositories = (repository for repository in settings.repositories if repository.identity == identity)
    host, _, path = identity.partition("/")
    groups = (group for group in settings.repository_groups if host == host_of_group(group) and in_group(path, group))
    return next(repositories, None) or next(groups, None)


def host_of_group(group: RepositoryGroup) -> str:
    """Return the host that a group's repositories are cloned from."""
    if group.api_url is None:
        return GITHUB if group.github_org else GITLAB
    place = urlsplit(group.api_url).netloc.lower().rpartition("@")[2]
    return GITHUB if place == GITHUB_API else place


def in_group(path: str, group: RepositoryGroup) -> bool:
    """Return whether a group includes the repository at a path on its host; case is ignored, as on code hosts."""
    path, top = path.lower(), (group.github_org or group.gitlab_group or "").strip("/").lower()
    if not path.startswith(f"{top}/"):
        return False
    names = (path, path.removeprefix(f"{top}/"))

    def fits(patterns: Sequence[str]) -> bool:
        return any(fnmatchcase(name, pattern.lower()) for pattern in patterns for name in names)

    return (not group.include or fits(group.include)) and not fits(group.exclude)


def is_named(rules: Rules | None, ref: Ref) -> bool:
    """Return whether a repository's settings name a version."""
    if rules is None:
        return False
    if ref.kind == "pull":
        return rules.pulls
    if ref.kind not in ("branch", "tag"):
        return False
    return any(map(ref.fits, rules.refs))


def indexed_refs(head: Head, repo: str) -> frozenset[Ref]:
    """Return the indexed versions of a repository besides its default branch that have a name at the origin."""
    states = (head.timelines[key] for key in head.of_repo(repo))
    refs = (Ref.of_key(state.ref) for state in states if state.ref and not state.gone)
    return frozenset(ref for ref in refs if ref.kind in NAMED_KINDS)


def version_request(
    repository: Repository, ref: Ref | None, trigger: Trigger, priority: int, commit: str = "", by: str = ""
) -> JobRequest:
    """Return the request to index a version; ``ref`` is None for the default branch."""
    return JobRequest(
        repository.name,
        repository.origin,
        ref.key if ref else "",
        (ref,) if ref else (),
        trigger=trigger,
        priority=priority,
        commit=commit,
        requested_by=by,
        guarded=repository.guarded,
        repo_id=repository.id,
    )


def settings_for(settings: SettingsModel, origin: str, host: str) -> SettingsModel:
    """Return the settings with the patterns, the token and the permissions of one repository."""
    rules = rules_of(settings, origin)
    if rules is None:
        return settings
    settings = with_permitted_commentary(settings, origin)
    scan, git = settings.scan, settings.git
    if isinstance(rules, RepositorySettings):
        include = scan.include if rules.include is None else rules.include
        scan = scan.model_copy(update={"include": include, "exclude": (*scan.exclude, *rules.exclude)})
    if token := read_token(rules):
        git = git.model_copy(update={"tokens": {**git.tokens, host: token}})
    return settings.model_copy(update={"scan": scan, "git": git})


def with_permitted_commentary(settings: SettingsModel, origin: str) -> SettingsModel:
    """Return the settings without commentary if a repository has ``external_models = false``.

    That is so even if the server of the language model is on this machine: it may pass on what it is sent.
    """
    rules = rules_of(settings, origin)
    if rules is None or rules.external_models or not settings.commentary.enabled:
        return settings
    return settings.model_copy(update={"commentary": CommentarySettings()})


def read_token(reference: TokenReference) -> SecretStr | None:
    """Return the token that a setting refers to, or None if it refers to none; raise UsageError if it can't be read."""
    if reference.token_variable:
        value = os.environ.get(reference.token_variable, "")
        if not value:
            raise UsageError(f"token_variable names {reference.token_variable}, which is not set")
        return SecretStr(value)
    if reference.token_file:
        try:
            return SecretStr(reference.token_file.read_text(encoding="utf-8").strip())
        except (OSError, UnicodeDecodeError):
            raise UsageError(f"token_file names {reference.token_file}, which cannot be read") from None
    return None
