"""Indexed working trees, named by any folder inside them."""

import posixpath
from collections.abc import Collection, Iterator
from dataclasses import replace
from pathlib import PurePosixPath

from codequarry.search_api.query.version_query import VersionQuery, VersionSpecifier
from codequarry.shared.versions.head import Head
from codequarry.shared.versions.refs import Ref

_PREFIX = "workspace:"


def workspaces(head: Head) -> Iterator[tuple[str, str]]:
    """Yield the repository and top folder of every indexed working tree."""
    for state in head.timelines.values():
        if state.ref and state.published and (ref := Ref.of_key(state.ref)).kind == "workspace":
            yield state.repo, ref.value


def resolve_workspaces(query: VersionQuery, head: Head, repos: Collection[str]) -> VersionQuery:
    """Return the query with each ``workspace:FOLDER`` replaced by the indexed working tree that contains the folder.

    That is the folder itself or its nearest indexed parent. Nothing is read from the disk, because clients may name any
    folder. A full key (``workspace/FOLDER``) means exactly that folder.
    """
    if not any(asked.text.startswith(_PREFIX) for asked in query.names):
        return query
    known = {folder for repo, folder in workspaces(head) if repo in repos}
    return replace(query, names=tuple(_in_full(asked, known) for asked in query.names))


def _in_full(asked: VersionSpecifier, known: Collection[str]) -> VersionSpecifier:
    if asked.kind != "ref" or not asked.text.startswith(_PREFIX):
        return asked
    folder = PurePosixPath(posixpath.normpath(asked.text.removeprefix(_PREFIX)))
    top = next((str(parent) for parent in (folder, *folder.parents) if str(parent) in known), None)
    return asked if top is None else VersionSpecifier("ref", Ref("workspace", top).key)
