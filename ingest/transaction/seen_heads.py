"""Records what an origin's answer says about the newest commits of a repository's versions.

A repository's record has the time of the last answer that covered all its indexed versions. Each version's own record
is written only when its commit changes, so that polling thousands of versions writes almost nothing.
"""

from dataclasses import replace

from codequarry.ingest.git.ancestry import count_behind
from codequarry.ingest.git.objects import Mirror
from codequarry.ingest.git.remote import HEAD, Listing
from codequarry.ingest.request.wanted_version import other_versions
from codequarry.ingest.transaction.placement import current_timeline
from codequarry.shared.catalog.ledger import read_head
from codequarry.shared.catalog.repositories import (
    RefHead,
    Repository,
    read_ref_head,
    save_ref_head,
    update_repository,
)
from codequarry.shared.store.port import DocumentStore
from codequarry.shared.versions.head import Head
from codequarry.shared.versions.refs import Ref


def note_listing(
    store: DocumentStore,
    repository: Repository,
    listing: Listing,
    fetched: str | None = None,
    mirror: Mirror | None = None,
) -> None:
    """Record the newest commits in an origin's answer; the version with the key ``fetched`` is recorded by its run.

    ``mirror`` counts the new commits that it happens to have.
    """
    if not listing.asked_at:
        return
    head, repo = read_head(store), repository.name
    others = other_versions(head, repo, fetched or "")
    tips = {ref.key: tip for ref in others if ref in listing.asked and (tip := listing.tip_of(ref))}
    covers_all = len(tips) == len(others)
    branch = head.default_branch(repo)
    default = _tip_of_default(listing, branch) if fetched != "" and branch else None
    if default:
        tips[""] = default
    for key, tip in tips.items():
        _note_tip(store, head, RefHead(repo, key, tip, listing.asked_at, repo_id=repository.id), mirror)

    def change(known: Repository) -> Repository:
        if known.branch != branch or default is None:
            return known
        seen = replace(known, head_commit=default)
        return replace(seen, fetched_at=listing.asked_at) if covers_all else seen

    if default:
        update_repository(store, repository, change)


def _note_tip(store: DocumentStore, head: Head, tip: RefHead, mirror: Mirror | None) -> None:
    known = read_ref_head(store, tip.repo, tip.ref, tip.repo_id)
    if known and known.commit == tip.commit:
        return
    published = published_commit(head, tip.repo, tip.ref)
    behind = 0 if tip.commit == published else count_behind(mirror, tip.commit, published) if mirror else None
    save_ref_head(store, replace(tip, behind_of=published, behind=behind))


def _tip_of_default(listing: Listing, branch: str) -> str | None:
    """Return the newest commit of the published default branch, or None if the answer does not tell."""
    if listing.head_branch == (None if branch == HEAD else branch):
        return listing.tips.get(HEAD)
    ref = Ref("branch", branch)
    return listing.tip_of(ref) if ref in listing.asked else None


def published_commit(head: Head, repo: str, key: str) -> str:
    """Return the newest indexed commit of a version, or "" if it is not indexed."""
    timeline = current_timeline(head, repo, key)
    return "" if timeline is None else head.timelines[timeline].commit
