"""Finds what an origin has and the index lacks, with one request to the origin."""

from collections.abc import Iterator
from dataclasses import dataclass

from codequarry.ingest.git.address_guard import guarded_configuration
from codequarry.ingest.git.mirrors import open_access
from codequarry.ingest.git.origins import origin_of_record
from codequarry.ingest.git.remote import HEAD, HEADS, PEELED, TAGS, Listing, ask_all
from codequarry.ingest.transaction.placement import current_timeline
from codequarry.shared.catalog.repositories import Repository, default_branch
from codequarry.shared.repositories.followed_versions import Rules, indexed_refs, is_named, rules_of, settings_for
from codequarry.shared.settings.config import SettingsModel
from codequarry.shared.versions.head import Head
from codequarry.shared.versions.refs import Ref

# The commit that stands for a version that the origin no longer has, as in pushes.
NOTHING = "0" * 40


@dataclass(frozen=True, slots=True)
class ChangedVersion:
    """A version that moved at the origin to ``commit``, or is gone (NOTHING); ``ref`` None is the default branch."""

    ref: Ref | None
    commit: str

    @property
    def key(self) -> str:
        """The key of the version in the index."""
        return self.ref.key if self.ref else ""


def survey(
    repository: Repository, head: Head, settings: SettingsModel, rules: Rules | None = None
) -> list[ChangedVersion]:
    """Ask an origin for changes of the followed versions and return them; raise GitError if it does not answer."""
    rules = rules or rules_of(settings, repository.origin)
    return list(changes(repository, head, ask_origin(repository, head, settings, rules), rules))


def ask_origin(repository: Repository, head: Head, settings: SettingsModel, rules: Rules | None) -> Listing:
    """Ask an origin for the newest commits of all followed versions; raise GitError if it does not answer."""
    origin = origin_of_record(repository.origin)
    own = settings_for(settings, repository.origin, origin.host)
    seconds = min(own.git.clone_timeout_seconds, own.polling.timeout_seconds)
    git = own.git.model_copy(update={"clone_timeout_seconds": seconds})
    bound = guarded_configuration(origin, own) if repository.guarded else None
    access = open_access(origin, git, own.home, bound=bound)
    followed = indexed_refs(head, repository.name) | _default_ref(repository)
    return ask_all(access, followed, names=bool(rules and rules.refs), kept=head.default_branch(repository.name))


def _default_ref(repository: Repository) -> frozenset[Ref]:
    return frozenset({Ref("branch", repository.branch)} if repository.branch not in ("", HEAD) else ())


def changes(repository: Repository, head: Head, listing: Listing, rules: Rules | None) -> Iterator[ChangedVersion]:
    """Yield the changed versions, the default branch first."""
    if default := _default_change(repository, head, listing):
        yield default
    name = repository.name
    indexed = indexed_refs(head, name)
    for ref in sorted(indexed, key=lambda ref: ref.key):
        tip = listing.tip_of(ref) or NOTHING
        timeline = current_timeline(head, name, ref.key)
        if timeline is None or head.timelines[timeline].commit != tip:
            yield ChangedVersion(ref, tip)
    main = listing.head_branch if repository.follows_head else default_branch(head, repository)
    for ref in _listed(listing):
        if ref not in indexed and ref != Ref("branch", main or "") and is_named(rules, ref):
            yield ChangedVersion(ref, listing.tip_of(ref) or NOTHING)


def _default_change(repository: Repository, head: Head, listing: Listing) -> ChangedVersion | None:
    """Return the change of the default branch if it has moved or been replaced; None if the origin lacks it."""
    published = head.defaults.get(repository.name)
    name = f"{HEADS}{repository.branch}" if not repository.follows_head else HEAD
    tip = listing.tips.get(name)
    if tip is None:
        return None
    if published is None:
        return ChangedVersion(None, tip)
    renamed = repository.follows_head and listing.head_branch not in (None, default_branch(head, repository))
    return ChangedVersion(None, tip) if renamed or head.timelines[published].commit != tip else None


def _listed(listing: Listing) -> list[Ref]:
    names = sorted(name for name in listing.tips if name.startswith("refs/") and not name.endswith(PEELED))
    return [Ref.of_key(name) for name in names if name.startswith((HEADS, TAGS))]
