"""Finds merge bases with git and keeps them in the catalog, from where comparisons of versions read them."""

import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace

from codequarry.ingest.git.ancestry import merge_bases, merged_as
from codequarry.ingest.git.objects import Mirror
from codequarry.ingest.git.origins import origin_of_record
from codequarry.ingest.source.source import fetch_commit
from codequarry.ingest.transaction.placement import current_timeline
from codequarry.ingest.transaction.run_report import Run
from codequarry.shared.catalog.ledger import read_head
from codequarry.shared.catalog.merge_bases import MergeBase, known_merge_base, read_merge_bases, save_merge_bases
from codequarry.shared.catalog.pull_requests import change_pull_request, read_pull_request
from codequarry.shared.catalog.repositories import Repository
from codequarry.shared.errors import GitError, LimitExceeded
from codequarry.shared.settings.config import SettingsModel
from codequarry.shared.store.port import DocumentStore
from codequarry.shared.versions.head import Head
from codequarry.shared.versions.refs import Ref

# A run of the default branch looks for its merge bases with so many other versions, for at most so long. The others are
# found when a comparison asks for them.
MOST_VERSIONS = 20
MOST_SECONDS = 0.2
# A run that has published does not fail because of a merge base.
PASSED_OVER = (GitError, LimitExceeded)


def note_merge_bases(run: Run) -> None:
    """Keep the merge bases of the run's commit and the versions that it is most likely to be compared with.

    These are the default branch, and the target of a pull request; for the default branch itself, all other versions.
    A comparison that needs another merge base asks for it, so errors of git are ignored here.
    """
    store, repo, commit = run.workshop.store, run.repository, run.source.commit
    head, mirror = read_head(store), run.source.mirror
    versions = _partners(store, head, repo, run.source.key)
    commits = {version: _published(head, repo.name, version) for version in versions}
    _note(store, repo.id, mirror, ((partner, commit) for partner in commits.values() if partner not in ("", commit)))
    if run.source.ref.kind == "pull" and (target := commits[versions[0]]):
        with suppress(*PASSED_OVER):
            _note_pull(store, repo.id, mirror, target, commit, run.source.ref.value)


def find_merge_base(
    store: DocumentStore, settings: SettingsModel, repository: Repository, commits: tuple[str, str], pull: str = ""
) -> str:
    """Find the merge base of two commits, fetching them if need be, and keep it; return "" for no common history.

    ``pull`` is the number of the pull request whose target and head they are: then also keep where it branched off.
    """
    target, head = commits
    origin = origin_of_record(repository.origin)
    for commit in commits:
        mirror = fetch_commit(origin, commit, settings, guarded=repository.guarded)
    found = _merge_base(mirror, target, head)
    save_merge_bases(store, repository.id, [found])
    if pull:
        _note_pull(store, repository.id, mirror, target, head, pull)
    return found.commit


def _partners(store: DocumentStore, head: Head, repo: Repository, key: str) -> list[str]:
    """Return the keys of the versions with which a version is likely to be compared; first, a pull request's target."""
    if not key:
        known = (head.timelines[timeline].ref for timeline in sorted(head.of_repo(repo.name), reverse=True))
        return list(dict.fromkeys(version for version in known if version))
    ref = Ref.of_key(key)
    target = read_pull_request(store, repo.id, ref.value).target if ref.kind == "pull" else ""
    is_default = target in ("", head.default_branch(repo.name))
    return [""] if is_default else [Ref("branch", target).key, ""]


def _published(head: Head, repo: str, key: str) -> str:
    timeline = current_timeline(head, repo, key)
    return "" if timeline is None else head.timelines[timeline].commit


def _note(store: DocumentStore, repo_id: str, mirror: Mirror, pairs: Iterable[tuple[str, str]]) -> None:
    known = read_merge_bases(store, repo_id)
    missing = [pair for pair in pairs if known_merge_base(known, *pair) is None]
    save_merge_bases(store, repo_id, list(_found(mirror, missing[:MOST_VERSIONS])))


def _found(mirror: Mirror, pairs: Sequence[tuple[str, str]]) -> Iterator[MergeBase]:
    until = time.monotonic() + MOST_SECONDS
    for pair in pairs:
        if time.monotonic() < until:
            with suppress(*PASSED_OVER):  # the mirror of another machine may have that version
                yield _merge_base(mirror, *pair)


def _merge_base(mirror: Mirror, one: str, other: str) -> MergeBase:
    found = merge_bases(mirror, one, other)
    return MergeBase(one, other, found[0] if found else "", len(found) < 2)


def _note_pull(store: DocumentStore, repo_id: str, mirror: Mirror, target: str, head: str, number: str) -> None:
    """Keep where a pull request branched off, unless that is known from before it was merged."""
    known = read_pull_request(store, repo_id, number)
    if known.head == head and known.base not in ("", head):
        return
    base = _base_of_pull(mirror, target, head)
    change_pull_request(store, repo_id, number, lambda pull: replace(pull, head=head, base=base))


def _base_of_pull(mirror: Mirror, target: str, head: str) -> str:
    """Return the commit from which a pull request's changes are counted, or "" if it has no history in common.

    Once it is merged, the target contains its head; then the target's state before the merge decides.
    """
    before = target
    if merge := merged_as(mirror, head, target):
        before = f"{merge}^1"
    found = merge_bases(mirror, before, head)
    return found[0] if found else ""
