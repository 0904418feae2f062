"""Comparisons on this machine, which find and index the merge base that they need."""

from typing import TYPE_CHECKING

from codequarry.cli.session.session import workplace
from codequarry.cli.terminal import progress
from codequarry.cli.terminal.console import note
from codequarry.search_api.search.comparison import compare
from codequarry.search_api.search.engine import SearchEngine
from codequarry.search_api.versions.merge_base import MergeBaseMissing, MergeBaseUnknown
from codequarry.shared.catalog.repositories import read_repository
from codequarry.shared.versions.refs import Ref

if TYPE_CHECKING:
    from codequarry.cli.session.session import Workplace
    from codequarry.search_api.answers.comparison import ComparisonAnswer
    from codequarry.search_api.query.diff_request import DiffRequest
    from codequarry.shared.settings.config import SettingsModel


def compare_with_merge_bases(settings: "SettingsModel", request: "DiffRequest") -> "ComparisonAnswer":
    """Answer a comparison; find the merge bases that the catalog lacks, and index those that the index lacks.

    Raise the errors of ``compare``, of a fetch and of an index run.
    """
    indexed: set[object] = set()
    while True:
        try:
            with workplace(settings) as place:
                return _compare(place, request)
        except MergeBaseMissing as error:
            if not error.missing or error.missing[0] in indexed:
                raise
            indexed.add(error.missing[0])
            _index(settings, error)


def _compare(place: "Workplace", request: "DiffRequest") -> "ComparisonAnswer":
    engine = SearchEngine(place.store, place.embedder, place.settings, place.degraded)
    found: set[object] = set()
    while True:
        try:
            return compare(engine, request)
        except MergeBaseUnknown as error:
            if error.fork in found:
                raise
            found.add(error.fork)
            _find(place, error)


def _find(place: "Workplace", error: MergeBaseUnknown) -> None:
    from codequarry.ingest.run.merge_bases import find_merge_base

    repository = read_repository(place.store, error.fork.repo)
    if repository is None:
        raise error
    find_merge_base(place.store, place.settings, repository, error.fork.commits, error.fork.pull)


def _index(settings: "SettingsModel", error: MergeBaseMissing) -> None:
    from codequarry.ingest.request.index_request import IndexRequest, Workshop
    from codequarry.ingest.run.pipeline import index_repository

    missing = error.missing[0]
    commit = missing.asked.text
    with workplace(settings, writing=True) as place, progress.shown() as observe:
        repository = read_repository(place.store, missing.repo)
        if repository is None:
            raise error
        note(f"indexing the merge base of {missing.repo}, {commit[:12]}")
        request = IndexRequest(repository.origin, Ref("commit", commit), missing.repo)
        index_repository(request, Workshop(place.store, place.embedder, settings), observe)
