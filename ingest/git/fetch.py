"""Fetches a version of an origin into its mirror: a branch, a tag, a pull request, or a commit."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from hashlib import sha256

from codequarry.ingest.git.local import LocalRepository
from codequarry.ingest.git.mirrors import SHA256_HEX, RemoteAccess
from codequarry.ingest.git.objects import SHA1_HEX, Mirror
from codequarry.ingest.git.process import run_git
from codequarry.ingest.git.remote import (
    HEAD,
    HEADS,
    Listing,
    ask,
    default_branch,
    git_name,
    pulls_at,
    raise_damaged,
    raise_not_found,
)
from codequarry.ingest.git.view import served_view
from codequarry.shared.errors import AmbiguousCommit, GitError, NotAtOrigin
from codequarry.shared.versions.refs import Ref, check_ref, commit_digits, is_null_commit

# Where the mirror keeps fetched versions. The names are flat: the origin may replace a branch `a` with a branch `a/b`.
VERSIONS = "refs/codequarry/versions/"
DETACHED_REF = "refs/codequarry/head"
# All branches and tags, fetched to find a commit that the mirror lacks.
ALL_REFSPECS = ("+refs/heads/*:refs/codequarry/all/heads/*", "+refs/tags/*:refs/codequarry/all/tags/*")
FETCH_OPTIONS = (
    "--quiet",
    "--force",
    "--no-tags",
    "--no-recurse-submodules",
    "--no-write-fetch-head",
)


@dataclass(frozen=True, slots=True)
class Fetched:
    """A mirror that contains a version's commit, and the origin's answer; a branch named HEAD means a detached HEAD."""

    mirror: Mirror
    ref: Ref
    commit: str
    listing: Listing = field(default_factory=Listing)

    @property
    def branch(self) -> str:
        """The version's human-readable name; for a branch, the branch name."""
        return self.ref.name


def synchronise(access: RemoteAccess, ref: Ref | None, others: Sequence[Ref] = (), kept: str = "") -> Fetched | None:
    """Bring the mirror up to the newest commit of ``ref`` (None means the default branch; ``kept`` is as in ``ask``).

    The same call asks for the commits of ``others``. Return None if the origin has no such version. Raise UsageError
    for an invalid name, AmbiguousCommit for an abbreviated commit that matches several.
    """
    if ref:
        check_ref(ref)
    if ref and ref.kind == "commit":
        digits = commit_digits(ref.value)
        listing = ask(access, others, kept)
        commit = _fetch_commit(access, digits)
        return Fetched(access.mirror, Ref("commit", commit), commit, listing)
    listing = ask(access, [*([ref] if ref else []), *others], kept)
    if ref is None:
        branch = default_branch(access, listing)
        detached = branch == HEAD
        source, target = (HEAD, DETACHED_REF) if detached else (HEADS + branch, _place(Ref("branch", branch)))
        return _fetch_tip(access, Ref("branch", branch), listing.tips[HEAD], (source, target), listing)
    tip = listing.tip_of(ref)
    if tip is None:
        return None
    return _fetch_tip(access, ref, tip, (listing.source_of(ref), _place(ref)), listing)


def fetch(access: RemoteAccess, ref: Ref | None) -> Fetched:
    """Bring the mirror up to the newest commit of ``ref``; raise NotAtOrigin if the origin does not have it."""
    return synchronise(access, ref) or raise_not_found(access, ref)


def keep_head(access: RemoteAccess, lock: int, checkout: LocalRepository, ref: Ref) -> None:
    """Fetch the commit of a checkout into the mirror, so that its history can be compared; ignore failures."""
    # A shallow clone can't be fetched, because the mirror must not become shallow.
    timeout, what = access.settings.clone_timeout_seconds, f"cannot read {checkout.shown}"
    command = (f"--git-dir={access.mirror.folder}", "fetch", *FETCH_OPTIONS, "--end-of-options")
    with suppress(GitError), served_view(checkout, access.settings.alternates) as view:
        refspec = f"+{HEAD}:{_place(ref)}"
        run_git((*command, str(view), refspec), access.mirror.environment, timeout, what=what, keep_open=(lock,))


def _place(ref: Ref) -> str:
    return VERSIONS + sha256(ref.key.encode()).hexdigest()[:SHA1_HEX]


def _fetch_tip(access: RemoteAccess, ref: Ref, tip: str, names: tuple[str, str], listing: Listing) -> Fetched:
    source, target = names
    mirror = access.mirror
    if is_null_commit(tip):
        raise_damaged(access, source)
    with access.locked() as lock:
        commit = mirror.commit_of(target)
        if commit != tip:
            access.make(tip)
            _fetch(access, lock, f"+{git_name(source)}:{target}", "--update-shallow")
            commit = mirror.commit_of(target)
    if commit is None:
        raise NotAtOrigin(f"{ref.kind} {ref.value} of {access.origin.url} does not name a commit")
    return Fetched(mirror, ref, commit, listing)


def _fetch(access: RemoteAccess, lock: int, *arguments: str) -> None:
    refspecs = [argument for argument in arguments if not argument.startswith("--")]
    options = [argument for argument in arguments if argument.startswith("--")]
    url, timeout = access.origin.url, access.settings.clone_timeout_seconds
    command = (f"--git-dir={access.mirror.folder}", "fetch", *FETCH_OPTIONS, *options, "--end-of-options")
    with access.address() as address:
        access.git(*command, address, *refspecs, what=f"cannot fetch {url}", timeout=timeout, keep_open=(lock,))


def _fetch_commit(access: RemoteAccess, digits: str) -> str:
    with access.locked() as lock:
        commit = _find(access.mirror, digits)
        if commit is None and len(digits) in (SHA1_HEX, SHA256_HEX):
            commit = _fetch_directly(access, lock, digits)
        if commit is None:
            access.make(digits if len(digits) == SHA256_HEX else "")
            _fetch(access, lock, *ALL_REFSPECS, "--prune", "--update-shallow")
            commit = _find(access.mirror, digits)
        if commit is None:
            commit = _fetch_pull(access, lock, digits)
        if commit is None:
            whole = "" if len(digits) in (SHA1_HEX, SHA256_HEX) else " or give the commit in full"
            raise NotAtOrigin(
                f"{access.origin.url} has no commit {digits} on any branch or tag or at the head of a pull request; "
                f"if a pull request contains it, index that pull request first (--pull N){whole}"
            )
        # A requested commit stays in the mirror even if its branches move.
        access.mirror.run("update-ref", _place(Ref("commit", commit)), commit, what=f"cannot keep commit {commit}")
    return commit


def _fetch_directly(access: RemoteAccess, lock: int, commit: str) -> str | None:
    """Ask for a commit by its full name, which most servers allow."""
    access.make(commit)
    try:
        _fetch(access, lock, f"+{commit}:{_place(Ref('commit', commit))}", "--update-shallow")
    except GitError:
        return None
    return _find(access.mirror, commit)


def _fetch_pull(access: RemoteAccess, lock: int, digits: str) -> str | None:
    """Fetch the pull request whose head is the commit; this lists all pull requests but fetches only one."""
    found = pulls_at(access, digits)
    if len(found) > 1:
        raise AmbiguousCommit(digits, sorted(found))
    for commit, name in found.items():
        _fetch(access, lock, f"+{git_name(name)}:{_place(Ref('commit', commit))}", "--update-shallow")
    return _find(access.mirror, digits)


def _find(mirror: Mirror, digits: str) -> str | None:
    """Return the mirror's commit that begins with ``digits``, if any; raise AmbiguousCommit if there are several."""
    if len(digits) in (SHA1_HEX, SHA256_HEX) or not (mirror.folder / "HEAD").exists():
        return mirror.commit_of(digits)
    listed = mirror.run("rev-parse", f"--disambiguate={digits}", what=f"cannot look for commit {digits}").decode()
    found = [name for name in listed.split() if mirror.commit_of(name) == name]
    if len(found) > 1:
        raise AmbiguousCommit(digits, sorted(found))
    return found[0] if found else None
