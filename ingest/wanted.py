"""Which repository and which version of it a request means."""

from dataclasses import dataclass

from codequarry.ingest.git.checkout import checkout_of, origin_of_checkout
from codequarry.ingest.git.origins import Origin, parse_origin
from codequarry.ingest.git.remote import NAMED_KINDS, check_ref
from codequarry.ingest.naming import check_name, find_repository
from codequarry.ingest.report import IndexRequest
from codequarry.shared.config import SettingsModel
from codequarry.shared.head import Head
from codequarry.shared.ledger import read_head
from codequarry.shared.refs import Ref
from codequarry.shared.repositories import Repository
from codequarry.shared.store.port import Store


@dataclass(frozen=True, slots=True)
class Wanted:
    """A version of an origin; ``ref`` None is the branch that the origin's HEAD names.

    ``is_default`` tells that it is, or becomes, the repository's default branch. ``known`` is the catalog's record,
    None for a repository that nobody has indexed yet.
    """

    origin: Origin
    ref: Ref | None
    is_default: bool
    known: Repository | None

    @property
    def key(self) -> str:
        """What timelines call the version, as far as that is known before a commit was looked up."""
        return "" if self.is_default or self.ref is None else self.ref.key


def understand(request: IndexRequest, settings: SettingsModel, store: Store) -> Wanted:
    """Return what a request means; nothing is asked of the origin."""
    ref = request.ref
    if ref:
        check_ref(ref)
    if ref and ref.kind == "workspace":
        checkout = checkout_of(ref, settings)
        origin = parse_origin(request.origin) if request.origin else origin_of_checkout(checkout, store)
        check_name(store, origin, request.name)
        return Wanted(origin, Ref("workspace", str(checkout.folder)), False, find_repository(store, origin))
    origin = parse_origin(request.origin)
    check_name(store, origin, request.name)
    known = find_repository(store, origin)
    if ref is None:
        chosen = Ref("branch", default_branch(read_head(store), known)) if known and not known.follows_head else None
        return Wanted(origin, chosen, True, known)
    return Wanted(origin, ref, _is_default(request, ref, known, read_head(store)), known)


def _is_default(request: IndexRequest, ref: Ref, known: Repository | None, head: Head) -> bool:
    if ref.kind != "branch":
        return False
    if known is None or known.name not in head.defaults:
        return True
    return request.default or default_branch(head, known) == ref.value


def default_branch(head: Head, repository: Repository) -> str:
    """Return what a default branch is called: as it was published, and before that as the catalog expects it."""
    return head.default_branch(repository.name) or repository.branch


def lacks_default(wanted: Wanted, store: Store) -> bool:
    """Tell whether the default branch has to be indexed before this version can lie over it."""
    return not wanted.is_default and (wanted.known is None or wanted.known.name not in read_head(store).defaults)


def other_versions(head: Head, repo: str, key: str) -> list[Ref]:
    """Return the other indexed versions of a repository that its origin has under a name."""
    keys = sorted({head.timelines[one].ref for one in head.of_repo(repo)} - {"", key})
    return [ref for ref in map(Ref.of_key, keys) if ref.kind in NAMED_KINDS]
