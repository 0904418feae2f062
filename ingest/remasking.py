"""What a run does about the other versions of its repository when secrets were not masked before."""

from collections.abc import Callable
from dataclasses import replace

from codequarry.ingest.collecting.collector import collect_history
from codequarry.ingest.collecting.unmasked import finish_unmasked, is_noted, unmasked_versions
from codequarry.ingest.report import IndexReport, IndexRequest, Workshop
from codequarry.ingest.transaction.chores import finish_chores
from codequarry.shared.errors import CodequarryError, Interrupted, Stopped, StoreError
from codequarry.shared.repositories.catalog import read_repository
from codequarry.shared.versions.refs import Ref

# These end the run itself, whatever it was at.
ENDING = (Interrupted, Stopped, StoreError)
# A base that an overlay lay on is free once the overlay is: what the first round releases the second gives up.
ROUNDS = 2


def mask_others(report: IndexReport, workshop: Workshop, index: Callable[[IndexRequest], IndexReport]) -> IndexReport:
    """Index the other versions anew whose secrets are not masked yet, and give up what is older.

    A version that can't be indexed stays as it is, and is named in the report.
    """
    store = workshop.store
    repository = read_repository(store, report.repo)
    if repository is None or not is_noted(store, report.repo):
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
    given_up = finish_masking(workshop, report.repo)
    erased = not is_noted(store, report.repo)
    return replace(report, masked_anew=tuple(done), unmasked=tuple(failed), given_up=given_up, erased=erased)


def finish_masking(workshop: Workshop, repo: str) -> int:
    """Give up the commits of a repository from before, delete and erase what is due, and return how many they were."""
    store, settings = workshop.store, workshop.settings
    given_up = 0
    for _ in range(ROUNDS):
        collected = collect_history(store, settings.retention, [repo])
        given_up += sum(len(cut.given_up) for cut in collected.cuts)
        finish_chores(store, settings.indexing.grace_seconds)
    finish_unmasked(store)
    return given_up
