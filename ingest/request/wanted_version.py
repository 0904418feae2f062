"""Which repository and which version of it a request means."""

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
"""The timeline of a published default branch, and its name."""


class Overtaken(Conflict):
    """Another run was faster: it may have seen a newer commit, or have published another default branch."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """A version of an origin; ``ref`` None is the branch that the origin's HEAD names.

    ``is_default`` tells that it is, or becomes, the repository's default branch, since ``default`` was the published
    one (None: there was none), or since the request says so (``demanded``). ``known`` is the catalog's record, None
    for a repository that nobody has indexed yet. ``is_guarded`` where the origin was named by somebody's request.
    ``published`` is the number of what readers of the version saw before anything was asked of the origin.
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
        """What timelines call the version, as far as that is known before a commit was looked up."""
        return "" if self.is_default or self.ref is None else self.ref.key


def resolve_request(request: IndexRequest, settings: SettingsModel, store: DocumentStore) -> Wanted:
    """Return what a request means; nothing is asked of the origin."""
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
    """Return the number of what readers of a version see, 0 if there is nothing."""
    if not key:
        return head.timelines[head.defaults[repo]].published if repo in head.defaults else 0
    states = (head.timelines[one] for one in head.of_repo(repo))
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
    """Tell whether the default branch has to be indexed before this version can lie over it."""
    return not wanted.is_default and wanted.default is None


def ensure_current(wanted: Wanted, repo: str, head: Head) -> None:
    """See that a version is still what it was understood to be, and stands where it stood before the fetch.

    Overtaken where another run has published it since, perhaps at a newer commit than was fetched here, or where
    another branch or timeline is the default one; Conflict where there is none any more.
    """
    default = (head.defaults[repo], head.default_branch(repo)) if repo in head.defaults else None
    if default is None and (wanted.default is not None or not wanted.is_default):
        raise RemovedMeanwhile(repo)
    if default != wanted.default and wanted.is_default and not wanted.demanded:
        raise Overtaken(f"'{repo}' has another default branch since this run began; run again")
    if _published(head, repo, wanted.key) != wanted.published:
        raise Overtaken(f"another run has indexed '{repo}' since this one asked its origin; run again")


def other_versions(head: Head, repo: str, key: str) -> list[Ref]:
    """Return the other indexed versions of a repository that its origin has under a name."""
    keys = sorted({head.timelines[one].ref for one in head.of_repo(repo)} - {"", key})
    return [ref for ref in map(Ref.of_key, keys) if ref.kind in NAMED_KINDS]
