"""Lists the repositories that the settings select from a GitHub organisation or GitLab group."""

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from urllib.parse import quote

from codequarry.ingest.remotes.hosting.client import ApiClient, WaitFor
from codequarry.shared.errors import NotAtOrigin
from codequarry.shared.repositories.followed_versions import host_of_group, in_group, read_token
from codequarry.shared.settings.config import SettingsModel
from codequarry.shared.settings.triggers import RepositoryGroup

GITHUB_API, GITLAB_API = "https://api.github.com", "https://gitlab.com/api/v4"
PAGE = "per_page=100"


@dataclass(frozen=True, slots=True)
class Hosted:
    """A repository as its code host lists it; ``path`` is its full name there."""

    path: str
    origin: str
    archived: bool = False
    fork: bool = False
    empty: bool = False


def list_group(group: RepositoryGroup, settings: SettingsModel, pause: WaitFor = time.sleep) -> list[Hosted]:
    """Return the repositories that a group's settings select, sorted by path.

    Raise NotAtOrigin for an unknown group, GitError if its host does not answer, UsageError if its token is unreadable.
    """
    host = host_of_group(group)
    token = read_token(group) or settings.git.tokens.get(host) or settings.git.token
    api = group.api_url or (GITHUB_API if group.github_org else GITLAB_API)
    client = ApiClient(api, settings.git, token, pause)
    listed = _github(client, group.github_org) if group.github_org else _gitlab(client, group.gitlab_group or "")
    wanted = {hosted.path: hosted for hosted in listed if _is_wanted(hosted, group)}
    return [wanted[path] for path in sorted(wanted)]


def _is_wanted(hosted: Hosted, group: RepositoryGroup) -> bool:
    if hosted.empty or (hosted.archived and not group.archived) or (hosted.fork and not group.forks):
        return False
    return in_group(hosted.path, group)


def _github(client: ApiClient, name: str) -> Iterator[Hosted]:
    """Yield the repositories of an organisation or, at a different API path, of a user's account."""
    quoted = quote(name, safe="")
    try:
        listed = [body for page in client.pages(f"orgs/{quoted}/repos?{PAGE}&type=all") for body in page]
    except NotAtOrigin:
        listed = [body for page in client.pages(f"users/{quoted}/repos?{PAGE}&type=owner") for body in page]
    return map(_of_github, listed)


def _of_github(body: Mapping[str, object]) -> Hosted:
    empty = body.get("size") == 0 or bool(body.get("disabled"))
    return _hosted(body, "full_name", "clone_url", fork=bool(body.get("fork")), empty=empty)


def _gitlab(client: ApiClient, path: str) -> Iterator[Hosted]:
    for page in client.pages(f"groups/{quote(path, safe='')}/projects?{PAGE}&include_subgroups=true&order_by=id"):
        yield from map(_of_gitlab, page)


def _of_gitlab(body: Mapping[str, object]) -> Hosted:
    fork, empty = bool(body.get("forked_from_project")), bool(body.get("empty_repo"))
    return _hosted(body, "path_with_namespace", "http_url_to_repo", fork=fork, empty=empty)


def _hosted(body: Mapping[str, object], path: str, origin: str, *, fork: bool, empty: bool) -> Hosted:
    named, url = str(body.get(path) or ""), str(body.get(origin) or "")
    # A repository without an address can't be cloned; it may have been taken down.
    return Hosted(named, url, bool(body.get("archived")), fork, empty or not url)
