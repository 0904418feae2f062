"""Masks secrets in the other versions of a repository that were indexed without masking."""

from collections.abc import Callable
from dataclasses import replace

from codequarry.ingest.garbage_collection.collector import collect_history
from codequarry.ingest.garbage_collection.unmasked_rows import finish_unmasked, noted_commits, unmasked_versions
from codequarry.ingest.request.index_request import IndexReport, IndexRequest, Workshop
from codequarry.ingest.transaction.chores import finish_chores
from codequarry.shared.catalog.repositories import read_repository
from codequarry.shared.errors import CodequarryError, Interrupted, Stopped, StoreError
from codequarry.shared.versions.refs import Ref

# These errors end the whole run.
ENDING = (Interrupted, Stopped, StoreError)
# A base can expire only after its overlay: the first round releases the base, the second round expires it.
ROUNDS = 2


def mask_others(report: IndexReport, workshop: Workshop, index: Callable[[IndexRequest], IndexReport]) -> IndexReport:
    """Index versions with unmasked secrets again, and expire older commits; the report names failed versions."""
    store = workshop.store
    repository = read_repository(store, report.repo)
    older = noted_commits(store, report.repo)
    if repository is None or older is None:
        return report
    done: list[str] = []
    failed: list[str] = []
    for key in unmasked_versions(store, report.repo):
        ref = Ref.of_key(key) if key else None
        name = ref.name if ref else "the default branch"
        try:
            index(IndexRequest(repository.origin, ref, report.repo))
            done.append(name)
        except ENDING:
            raise
        except CodequarryError as error:
            failed.append(f"{name} ({error})")
    erased = finish_masking(workshop, report.repo)
    return replace(report, masked_anew=tuple(done), unmasked=tuple(failed), given_up=older, erased=erased)


def finish_masking(workshop: Workshop, repo: str) -> bool:
    """Expire a repository's unmasked commits, erase the rows that are due, and return whether masking is complete."""
    store, settings = workshop.store, workshop.settings
    for _ in range(ROUNDS):
        collect_history(store, settings.retention, [repo])
        finish_chores(store, settings.indexing.grace_seconds, repo=repo)
    finish_unmasked(store)
    return noted_commits(store, repo) is None
