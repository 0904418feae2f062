"""Working trees of the index, named by any folder that lies in them."""

import posixpath
from collections.abc import Collection, Iterator
from dataclasses import replace
from pathlib import PurePosixPath

from codequarry.search_api.query.version_query import VersionQuery, VersionSpecifier
from codequarry.shared.versions.head import Head
from codequarry.shared.versions.refs import Ref

_SPOKEN = "workspace:"


def workspaces(head: Head) -> Iterator[tuple[str, str]]:
    """Yield the repository and the folder of every working tree that is indexed."""
    for state in head.timelines.values():
        if state.ref and state.published and (ref := Ref.of_key(state.ref)).kind == "workspace":
            yield state.repo, ref.value


def in_full(query: VersionQuery, head: Head, repos: Collection[str]) -> VersionQuery:
    """Return a query in which the folder of a ``workspace:FOLDER`` is the top one of an indexed working tree.

    That is the nearest that is, or lies above, the folder that was named; nothing is read from the disk, since anybody
    may name any folder. A full key (``workspace/FOLDER``) means this very folder.
    """
    if not any(asked.text.startswith(_SPOKEN) for asked in query.names):
        return query
    known = {folder for repo, folder in workspaces(head) if repo in repos}
    return replace(query, names=tuple(_in_full(asked, known) for asked in query.names))


def _in_full(asked: VersionSpecifier, known: Collection[str]) -> VersionSpecifier:
    if asked.kind != "ref" or not asked.text.startswith(_SPOKEN):
        return asked
    folder = PurePosixPath(posixpath.normpath(asked.text.removeprefix(_SPOKEN)))
    top = next((str(one) for one in (folder, *folder.parents) if str(one) in known), None)
    return asked if top is None else VersionSpecifier("ref", Ref("workspace", top).key)
