r"""Asks an origin which versions it has; ``check_ref`` has already checked every name that reaches git.

Names are bytes to git and text to us: bytes that are not UTF-8 are written as ``\xNN``. No git ref has a backslash.
"""

import os
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NoReturn

from codequarry.ingest.git.default_branch import choose_default
from codequarry.ingest.git.mirrors import RemoteAccess
from codequarry.ingest.git.plain_files import read_line
from codequarry.shared.errors import GitError, NotAtOrigin
from codequarry.shared.paths import printable, raw
from codequarry.shared.timestamps import now
from codequarry.shared.versions.refs import NAMED_KINDS, Ref

# A server that takes longer to list its refs is considered silent; a clone may take much longer.
ANSWER_SECONDS = 60.0
SHOWN_NAMES = 10
SHOWN_DIGITS = 12
HEAD = "HEAD"
HEADS = "refs/heads/"
TAGS = "refs/tags/"
REMOTES = "refs/remotes/"
PEELED = "^{}"
PULL_PATTERNS = ("refs/pull/*/head", "refs/merge-requests/*/head")
UPSTREAM_HEAD = "refs/remotes/origin/HEAD"
UPSTREAM_HEADS = UPSTREAM_HEAD.removesuffix(HEAD)
# What decides the default branch of a repository with a working tree.
CHECKOUT_PATTERNS = (HEAD, UPSTREAM_HEAD, f"{HEADS}*")
# What HEAD says in a repository with a reftable, which keeps the real HEAD elsewhere.
REFTABLE_HEAD = f"{HEADS}.invalid"
SYMBOLIC = "ref: "


@dataclass(frozen=True, slots=True)
class Listing:
    """An origin's answer: the branch that its HEAD names, and the commit of each ref that it was asked for.

    ``upstream_branch`` is the branch that the HEAD of a clone's own origin named when it was cloned. ``asked_at`` is
    when the origin was asked (ISO 8601 in UTC), or "" if it was not.
    """

    head_branch: str | None = None
    tips: Mapping[str, str] = field(default_factory=dict)
    asked: frozenset[Ref] = frozenset()
    asked_at: str = ""
    upstream_branch: str | None = None

    def tip_of(self, ref: Ref) -> str | None:
        """Return the commit of a branch, tag or pull request, or None if the origin does not have it."""
        for name in origin_refs(ref):
            if name in self.tips:
                # An annotated tag is a separate object; its commit is listed under the same name with a suffix.
                return self.tips.get(name + PEELED, self.tips[name])
        return None

    def source_of(self, ref: Ref) -> str:
        """Return the origin's ref name for a version that it has."""
        return next(name for name in origin_refs(ref) if name in self.tips)


def origin_refs(ref: Ref) -> tuple[str, ...]:
    """Return the names under which an origin may have a version, most likely first."""
    if ref.kind == "pull":
        return f"refs/pull/{ref.value}/head", f"refs/merge-requests/{ref.value}/head"
    return (ref.key,) if ref.kind in NAMED_KINDS else ()


def git_name(name: str) -> str:
    """Return a ref name, or a refspec, as an argument for git."""
    return os.fsdecode(raw(name))


def ask(access: RemoteAccess, refs: Iterable[Ref], kept: str = "") -> Listing:
    """Ask for HEAD and these versions, in one call.

    If the origin has a working tree, the answer's HEAD is not the checkout but the default branch: ``kept``, the
    published default branch, as long as it exists.
    """
    asked, moment = frozenset(refs), now("seconds")
    names = sorted(name for ref in asked for name in origin_refs(ref))
    peeled = [name + PEELED for name in names if name.startswith("refs/tags/")]
    return replace(_ask_default(access, (*names, *peeled), kept), asked=asked, asked_at=moment)


def ask_all(access: RemoteAccess, refs: Iterable[Ref], *, names: bool, kept: str = "") -> Listing:
    """Ask for HEAD, these versions and, with ``names``, every branch and tag; ``kept`` is as in ``ask``."""
    asked, moment = frozenset(refs), now("seconds")
    listed = {name for ref in asked for name in origin_refs(ref)}
    listed |= {f"{HEADS}*", f"{TAGS}*"} if names else {name + PEELED for name in listed if name.startswith(TAGS)}
    return replace(_ask_default(access, sorted(listed), kept), asked=asked, asked_at=moment)


def _ask_default(access: RemoteAccess, names: Sequence[str], kept: str) -> Listing:
    if access.checkout() is None:
        return list_refs(access, (HEAD, *names))
    return with_default(list_refs(access, (*CHECKOUT_PATTERNS, *names)), kept, access.mirror.environment)


def list_refs(access: RemoteAccess, patterns: Iterable[str] = ()) -> Listing:
    """Ask for the refs that match a pattern, or for all refs if there is no pattern."""
    return _read(_list(access, patterns))


def with_default(listing: Listing, kept: str, environment: Mapping[str, str]) -> Listing:
    """Return the listing of a repository with a working tree as if its default branch were checked out."""
    branches = {name.removeprefix(HEADS): tip for name, tip in listing.tips.items() if name.startswith(HEADS)}
    name = choose_default(branches, kept, listing.upstream_branch, environment)
    return replace(listing, head_branch=name, tips={**listing.tips, HEAD: branches[name]}) if name else listing


def default_branch(access: RemoteAccess, listing: Listing) -> str:
    """Return the branch that the origin's HEAD names, or HEAD if detached; raise NotAtOrigin if HEAD has no commit."""
    if HEAD not in listing.tips:
        raise_not_found(access, None)
    return listing.head_branch or HEAD


def raise_not_found(access: RemoteAccess, ref: Ref | None, *, is_default: bool = False) -> NoReturn:
    """Raise NotAtOrigin with the reason: the origin has no commits, or lacks this version.

    ``is_default`` means that the version is the published default branch.
    """
    origin = access.origin
    kind = ref.kind if ref and ref.kind in NAMED_KINDS else "branch"
    prefix = "refs/tags/" if kind == "tag" else HEADS
    if kind == "pull":
        raise NotAtOrigin(f"{origin.url} has no pull request {ref.value if ref else ''}")
    tips = _read(_list(access, (f"{prefix}*",))).tips
    if not tips and kind == "branch":
        raise NotAtOrigin(f"{origin.url} {_without_branches(access)}")
    names = sorted(name.removeprefix(prefix) for name in tips if not name.endswith(PEELED))
    more = f" and {len(names) - SHOWN_NAMES} more" if len(names) > SHOWN_NAMES else ""
    problem = f"{origin.url} has no {kind} {ref.value}" if ref else _without_head(access, tips)
    known = f"it has {', '.join(names[:SHOWN_NAMES]) or 'none'}{more}"
    if ref and is_default:
        raise NotAtOrigin(f"{problem}, the default branch; choose another with --branch B --default: {known}")
    hint = _local_branch_hint(access, ref.value) if ref and kind == "branch" else ""
    raise NotAtOrigin(f"{problem}; {known}{hint}")


def _local_branch_hint(access: RemoteAccess, branch: str) -> str:
    """Return what to do if a clone on this machine knows a branch only as one of its remote."""
    if access.checkout() is None:
        return ""
    tracked = (name.removeprefix(REMOTES) for name in _read(_list(access, (f"{REMOTES}*",))).tips)
    name = min((name for name in tracked if name.partition("/")[2] == branch), default="")
    return f"; to make one: git branch {shlex.quote(branch)} {shlex.quote(name)}" if name else ""


def raise_damaged(access: RemoteAccess, name: str) -> NoReturn:
    """Raise GitError for a ref that names no commit."""
    raise GitError(f"{name} of {access.origin.url} is damaged: it names no commit; run `git fsck` there")


def pulls_at(access: RemoteAccess, digits: str) -> dict[str, str]:
    """Return pull or merge requests' head commits that begin with ``digits``, each with the ref name of one request."""
    tips = _read(_list(access, PULL_PATTERNS)).tips
    return {commit: name for name, commit in tips.items() if commit.startswith(digits)}


def _without_head(access: RemoteAccess, tips: Mapping[str, str]) -> str:
    checkout = access.checkout()
    if checkout is None:
        return f"{access.origin.url} has a HEAD without commits: name a branch with --branch"
    line = read_line(checkout.folder / HEAD) or ""
    name = printable(os.fsencode(line.removeprefix(SYMBOLIC)))
    if name in tips:
        raise_damaged(access, name)
    shown = f" {name.removeprefix(HEADS)}" if line.startswith(SYMBOLIC) and name != REFTABLE_HEAD else ""
    problem = f"the checked-out branch{shown} of {access.origin.url} has no commits yet"
    return f"{problem}: commit something, or name another branch with --branch"


def _without_branches(access: RemoteAccess) -> str:
    tips = _read(_list(access)).tips
    if HEAD in tips:
        head = tips[HEAD][:SHOWN_DIGITS]
        return f"has no branches, only a HEAD at commit {head}: leave out --branch, or name a tag or a commit"
    if tips:
        # Every other version needs a default branch to lie over, and this origin has none.
        ref = min(tips, key=lambda name: (not name.startswith("refs/tags/"), name))
        return f"has no branches, only refs such as {ref}: create a branch (git branch main {ref}), then index it"
    return "has no commits yet: commit something, then index it"


def _list(access: RemoteAccess, patterns: Iterable[str] = ()) -> bytes:
    """Return the output of ``ls-remote`` for these refs, or for all refs if none is named."""
    url, timeout = access.origin.url, min(ANSWER_SECONDS, access.settings.clone_timeout_seconds)
    with access.address() as address:
        command = ("ls-remote", "--symref", "--end-of-options", address, *map(git_name, patterns))
        return access.git(*command, what=f"cannot read {url}", timeout=timeout)


def _read(listing: bytes) -> Listing:
    """Parse ``ls-remote --symref``; a HEAD that does not name a branch counts as detached."""
    symbolic, tips = {}, {}
    for line in listing.split(b"\n"):
        value, _, name = line.partition(b"\t")
        text, ref = printable(value), printable(name)
        if text.startswith(SYMBOLIC):
            symbolic[ref] = text.removeprefix(SYMBOLIC)
        elif ref:
            tips[ref] = text
    return Listing(
        _below(HEADS, symbolic.get(HEAD)), tips, upstream_branch=_below(UPSTREAM_HEADS, symbolic.get(UPSTREAM_HEAD))
    )


def _below(prefix: str, name: str | None) -> str | None:
    return name.removeprefix(prefix) if name and name.startswith(prefix) else None
