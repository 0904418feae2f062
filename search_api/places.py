"""Repositories named by where they come from or where they are checked out, each at a version of its own."""

import socket
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from codequarry.search_api.missing import listed
from codequarry.search_api.request import RepositoryVersion
from codequarry.search_api.selection import Selection
from codequarry.search_api.versions import Asked, VersionQuery
from codequarry.shared.errors import NotIndexed, UsageError
from codequarry.shared.head import Head
from codequarry.shared.origins import origin_identity
from codequarry.shared.refs import Ref
from codequarry.shared.repositories import Repository

LATEST, WORKSPACE = "latest", "workspace"
_LOOPBACK = frozenset({"", "localhost", "127.0.0.1", "::1"})


@dataclass(frozen=True, slots=True)
class Directory:
    """What repositories are looked up in; local paths only below ``roots``."""

    head: Head
    repositories: Mapping[str, Repository]
    roots: Sequence[Path] = ()


def versions_of(asked: Sequence[RepositoryVersion], directory: Directory, selection: Selection) -> Selection:
    """Return the selection of repositories each at its own version.

    NotIndexed names all that are unknown; UsageError for a path that may not be asked for, and where the filters name
    repositories or versions too.
    """
    if selection.repos or selection.version:
        raise UsageError("give repositories and versions in 'repos' or in the filters, not in both")
    found, unknown = [], []
    for one in asked:
        name = _name(one, directory)
        if name is None:
            unknown.append(_shown(one))
        else:
            found.append((name, _version(one, name, directory)))
    if unknown:
        known = listed(sorted(directory.repositories)) or "none"
        raise NotIndexed(f"not in the index: {listed(unknown)}; indexed: {known}")
    return replace(selection, versions=tuple(found))


def _name(asked: RepositoryVersion, directory: Directory) -> str | None:
    """Return the name of a repository in the index."""
    if asked.name:
        return asked.name if asked.name in directory.repositories else None
    if asked.origin:
        return _with_origin(_identity(asked.origin), directory)
    folder = _folder(asked, directory)
    by_origin = _with_origin(origin_identity(str(folder)), directory)
    return by_origin or next((repo for repo, path in _workspaces(directory) if Path(path).resolve() == folder), None)


def _with_origin(identity: str, directory: Directory) -> str | None:
    fitting = [name for name, one in directory.repositories.items() if _is_at(one, identity)]
    return min(fitting, default=None)


def _is_at(repository: Repository, identity: str) -> bool:
    try:
        return origin_identity(repository.origin) == identity
    except ValueError:
        return False


def _identity(origin: str) -> str:
    try:
        return origin_identity(origin)
    except ValueError as error:
        raise UsageError(f"originUri can't be read: {error}") from None


def _version(asked: RepositoryVersion, name: str, directory: Directory) -> VersionQuery:
    if asked.version == LATEST:
        return VersionQuery()
    if asked.version != WORKSPACE:
        return VersionQuery((Asked("ref", asked.version),))
    folders = [path for repo, path in _workspaces(directory) if repo == name]
    if asked.path:
        folder = _folder(asked, directory)
        fitting = [path for path in folders if Path(path).resolve() == folder] or [str(folder)]
        return VersionQuery((Asked("ref", Ref("workspace", fitting[0]).key),))
    if len(folders) != 1:
        there = f"; there are {listed(folders)}" if folders else "; none is indexed"
        raise UsageError(f"which working tree of {name}? give checkoutPath{there}")
    return VersionQuery((Asked("ref", Ref("workspace", folders[0]).key),))


def _workspaces(directory: Directory) -> Iterator[tuple[str, str]]:
    """Yield the repository and the folder of every working tree that is indexed."""
    for state in directory.head.timelines.values():
        if state.ref and state.published and (ref := Ref.of_key(state.ref)).kind == "workspace":
            yield state.repo, ref.value


def _folder(asked: RepositoryVersion, directory: Directory) -> Path:
    """Return a folder of this machine with its links resolved; UsageError where it may not be asked for."""
    if asked.host.lower() not in _LOOPBACK | {socket.gethostname().lower()}:
        raise UsageError(f"checkoutHost '{asked.host}' is another machine; name the repository by its originUri")
    if not directory.roots:
        raise UsageError("local paths are off here; name the repository by its originUri, or set api.local_roots")
    folder = Path(asked.path).resolve()
    if not any(folder.is_relative_to(root.expanduser().resolve()) for root in directory.roots):
        raise UsageError(f"'{asked.path}' is below none of the folders of api.local_roots")
    return folder


def _shown(asked: RepositoryVersion) -> str:
    """Return what an error calls a repository: never a user or a password of its URL."""
    return asked.name or (_identity(asked.origin) if asked.origin else asked.path)
