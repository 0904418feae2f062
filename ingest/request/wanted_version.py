"""The repository and the version that a request means."""

from dataclasses import dataclass, replace

from codequarry.ingest.git.checkout import checkout_of, origin_of_checkout
from codequarry.ingest.git.origins import Origin, parse_origin
from codequarry.ingest.request.index_request import IndexRequest
from codequarry.ingest.request.repository_entry import RemovedMeanwhile
from codequarry.shared.catalog.ledger import read_head
from codequarry.shared.catalog.repositories import Repository, default_branch
from codequarry.shared.errors import Conflict
from codequarry.shared.repositories.naming import check_name, find_repository
from codequarry.shared.settings.config import SettingsModel
from codequarry.shared.store.port import DocumentStore
from codequarry.shared.versions.head import Head
from codequarry.shared.versions.refs import NAMED_KINDS, Ref, check_ref

Default = tuple[int, str]
"""The timeline of a published default branch, and the branch's name."""


class Overtaken(Conflict):
    """Another run was faster: it has published this version, or another default branch."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """A version of an origin; ``ref`` None means the default branch that the origin names.

    ``is_default`` means that the version is or becomes the repository's default branch. That follows from ``default``,
    the published default branch (None if there was none), unless the request demands it (``demanded``). ``known`` is
    the catalog's record, or None if the repository is not indexed yet. ``is_guarded`` means that a client's request
    named the origin. ``published`` is the transaction that readers of the version saw before the origin was contacted.
    """

    origin: Origin
    ref: Ref | None
    is_default: bool
    known: Repository | None
    default: Default | None = None
    demanded: bool = False
    is_guarded: bool = False
    published: int = 0

    @property
    def key(self) -> str:
        """The version's key in timelines; empty for the default branch, and while ``ref`` is None."""
        return "" if self.is_default or self.ref is None else self.ref.key


def resolve_request(request: IndexRequest, settings: SettingsModel, store: DocumentStore) -> Wanted:
    """Return the version that a request means, without contacting the origin."""
    ref = request.ref
    if ref:
        check_ref(ref)
    if ref and ref.kind == "workspace":
        checkout = checkout_of(ref, settings)
        origin = parse_origin(request.origin) if request.origin else origin_of_checkout(checkout, store)
        check_name(store, origin, request.name)
        known = find_repository(store, origin, request.name)
        default = _default_of(read_head(store), known)
        wanted = Wanted(origin, Ref("workspace", str(checkout.folder)), False, known, default)
        return _as_of(read_head(store), wanted)
    origin = parse_origin(request.origin)
    check_name(store, origin, request.name)
    known = find_repository(store, origin, request.name)
    head = read_head(store)
    default = _default_of(head, known)
    guarded = known.guarded if known else request.guarded
    if ref is None:
        chosen = Ref("branch", default_branch(head, known)) if known and not known.follows_head else None
        return _as_of(head, Wanted(origin, chosen, True, known, default, is_guarded=guarded))
    is_default = _is_default(request, ref, known, head)
    return _as_of(head, Wanted(origin, ref, is_default, known, default, request.default, guarded))


def _as_of(head: Head, wanted: Wanted) -> Wanted:
    return replace(wanted, published=_published(head, wanted.known.name, wanted.key)) if wanted.known else wanted


def _published(head: Head, repo: str, key: str) -> int:
    """Return the transaction that readers of a version see, or 0 if nothing is published."""
    if not key:
        return head.timelines[head.defaults[repo]].published if repo in head.defaults else 0
    states = (head.timelines[timeline] for timeline in head.of_repo(repo))
    return max((state.published for state in states if state.ref == key), default=0)


def _default_of(head: Head, known: Repository | None) -> Default | None:
    name = known.name if known else ""
    return (head.defaults[name], head.default_branch(name)) if name in head.defaults else None


def _is_default(request: IndexRequest, ref: Ref, known: Repository | None, head: Head) -> bool:
    if ref.kind != "branch":
        return False
    if known is None or known.name not in head.defaults:
        return not request.beside
    return request.default or default_branch(head, known) == ref.value


def lacks_default(wanted: Wanted) -> bool:
    """Return whether the default branch must be indexed first, because this version lies over it."""
    return not wanted.is_default and wanted.default is None


def ensure_current(wanted: Wanted, repo: str, head: Head) -> None:
    """Check that a version still means the same thing and that no other run has published it since the fetch.

    Raise Overtaken if another run has published it, perhaps at a newer commit than this run fetched, or has published a
    different default branch. Raise RemovedMeanwhile if the repository has no default branch any more.
    """
    default = (head.defaults[repo], head.default_branch(repo)) if repo in head.defaults else None
    if default is None and (wanted.default is not None or not wanted.is_default):
        raise RemovedMeanwhile(repo)
    if default != wanted.default and wanted.is_default and not wanted.demanded:
        raise Overtaken(f"the default branch of '{repo}' changed during this run; run again")
    if _published(head, repo, wanted.key) != wanted.published:
        raise Overtaken(f"another run indexed '{repo}' during this run; run again")


def other_versions(head: Head, repo: str, key: str) -> list[Ref]:
    """Return the other indexed branches, tags and pull requests of a repository, except the default branch."""
    keys = sorted({head.timelines[timeline].ref for timeline in head.of_repo(repo)} - {"", key})
    return [ref for ref in map(Ref.of_key, keys) if ref.kind in NAMED_KINDS]
