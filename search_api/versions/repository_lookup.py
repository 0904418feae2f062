"""Lookup of repositories by name, origin or checkout, each with its own version."""

import os
import socket
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from codequarry.search_api.query.request import RepositoryVersion
from codequarry.search_api.query.selection import Selection
from codequarry.search_api.query.version_query import VersionQuery, VersionSpecifier
from codequarry.search_api.versions.missing_version import listed
from codequarry.search_api.versions.workspaces import workspaces
from codequarry.shared.catalog.repositories import Repository
from codequarry.shared.errors import NotIndexed, UsageError
from codequarry.shared.origins import identity_if_readable, origin_identity
from codequarry.shared.versions.head import Head
from codequarry.shared.versions.refs import Ref

LATEST, WORKSPACE = "latest", "workspace"
_LOOPBACK = frozenset({"", "localhost", "127.0.0.1", "::1"})


@dataclass(frozen=True, slots=True)
class Directory:
    """The indexed repositories for lookups; local paths are allowed only below ``roots``."""

    head: Head
    repositories: Mapping[str, Repository]
    roots: Sequence[Path] = ()


def versions_of(asked: Sequence[RepositoryVersion], directory: Directory, selection: Selection) -> Selection:
    """Return ``selection`` with the requested repositories, each at its own version.

    Raise NotIndexed with all unknown repositories, UsageError for a forbidden path or if the filters name versions.
    """
    if selection.repos or selection.version:
        raise UsageError("give repositories and versions in 'repos' or in the filters, not in both")
    found, unknown = [], []
    for entry in asked:
        name = _name(entry, directory)
        if name is None:
            unknown.append(_shown(entry))
        else:
            found.append((name, _version(entry, name, directory)))
    if unknown:
        known = listed(sorted(directory.repositories)) or "none"
        raise NotIndexed(f"not in the index: {listed(unknown)}; indexed: {known}")
    return replace(selection, versions=tuple(found))


def _name(asked: RepositoryVersion, directory: Directory) -> str | None:
    if asked.name:
        return asked.name if asked.name in directory.repositories else None
    if asked.origin:
        return _with_origin(_identity(asked.origin), directory)
    trees = {_real(path): repo for repo, path in workspaces(directory.head)}
    for folder in _upwards(_folder(asked, directory), directory):
        if name := _with_origin(origin_identity(str(folder)), directory) or trees.get(folder):
            return name
    return None


def _upwards(folder: Path, directory: Directory) -> Iterator[Path]:
    """Yield a folder and its parents, up to the top of its checkout or the topmost root."""
    roots = _roots(directory)
    for parent in (folder, *folder.parents):
        if not any(parent.is_relative_to(root) for root in roots):
            return
        yield parent
        if os.path.lexists(parent / ".git"):
            return


def _with_origin(identity: str, directory: Directory) -> str | None:
    known = directory.repositories.items()
    return min((name for name, repo in known if identity_if_readable(repo.origin) == identity), default=None)


def _identity(origin: str) -> str:
    try:
        return origin_identity(origin)
    except ValueError as error:
        raise UsageError(f"originUri is invalid: {error}") from None


def _version(asked: RepositoryVersion, name: str, directory: Directory) -> VersionQuery:
    if asked.version == LATEST:
        return VersionQuery()
    if asked.version != WORKSPACE:
        return VersionQuery((VersionSpecifier("ref", asked.version),))
    folders = {_real(path): path for repo, path in workspaces(directory.head) if repo == name}
    if asked.path:
        folder = _folder(asked, directory)
        top = next((parent for parent in _upwards(folder, directory) if parent in folders), folder)
        return VersionQuery((VersionSpecifier("ref", Ref("workspace", folders.get(top, str(top))).key),))
    if len(folders) != 1:
        known = listed(list(folders.values())) or "none"
        raise UsageError(f"checkoutPath must name the working tree of {name}; indexed working trees: {known}")
    return VersionQuery((VersionSpecifier("ref", Ref("workspace", next(iter(folders.values()))).key),))


def _folder(asked: RepositoryVersion, directory: Directory) -> Path:
    """Return a folder on this machine with symbolic links resolved; raise UsageError if requests may not name it."""
    if asked.host.lower() not in _LOOPBACK | {socket.gethostname().lower()}:
        raise UsageError(f"checkoutHost '{asked.host}' is another machine; name the repository by its originUri")
    if not directory.roots:
        raise UsageError("local paths are disabled; name the repository by its originUri, or set api.local_roots")
    folder = _real(asked.path)
    if not any(folder.is_relative_to(root) for root in _roots(directory)):
        raise UsageError(f"'{asked.path}' is not inside a folder of api.local_roots")
    return folder


def _real(path: str) -> Path:
    """Return a path with symbolic links resolved; a path with circular links is outside every root."""
    try:
        return Path(path).resolve()
    except (OSError, RuntimeError):
        return Path()


def _roots(directory: Directory) -> list[Path]:
    return [root.expanduser().resolve() for root in directory.roots]


def _shown(asked: RepositoryVersion) -> str:
    """Return a repository's name for an error, without the user and password in its URL."""
    return asked.name or (_identity(asked.origin) if asked.origin else asked.path)
