"""From a request to a commit on this machine, and the rules that decide which of its files count."""

import os
from dataclasses import dataclass, replace

from codequarry.ingest.git import HEAD, BlobReader, Fetched, TreeEntry, list_tree, synchronise
from codequarry.ingest.naming import check_name, claim, find_repository
from codequarry.ingest.origins import Origin, parse_origin
from codequarry.ingest.reading import ReadingRules
from codequarry.ingest.report import IndexRequest
from codequarry.ingest.scan import IGNORE_FILE, FileTask, PathRules
from codequarry.ingest.target import Target
from codequarry.ingest.watch import Watch, now
from codequarry.ingest.worker import Assignment
from codequarry.shared.config import SettingsModel
from codequarry.shared.repositories import Repository, save_repository
from codequarry.shared.store.port import Store

REGULAR_MODES = ("100644", "100755")


@dataclass(frozen=True, slots=True)
class Source:
    """A fetched commit, and what its paths decide under the settings and its own ignore file."""

    origin: Origin
    fetched: Fetched
    rules: PathRules

    @property
    def commit(self) -> str:
        """The commit that is to be indexed."""
        return self.fetched.commit

    def tasks(self) -> list[FileTask]:
        """List the commit's files, each with what its path decides."""
        return [self.rules.decide(entry) for entry in list_tree(self.fetched.mirror, self.commit)]

    def target(self, repo: str) -> Target:
        """Return what a run would publish."""
        return Target(repo, self.fetched.branch, self.commit, self.rules.digest)

    def assignment(self, repo: str, settings: SettingsModel) -> Assignment:
        """Return what a reading process has to know."""
        return Assignment(self.fetched.mirror, ReadingRules.of(repo, settings))


def fetch_source(request: IndexRequest, settings: SettingsModel, store: Store) -> Source:
    """Fetch what is asked for; nothing is written to the store."""
    origin = parse_origin(request.origin)
    check_name(store, origin, request.name)
    known = find_repository(store, origin)
    branch = request.branch or (known.branch if known and not known.follows_head else None)
    fetched = synchronise(origin, branch, settings.git, settings.home)
    return Source(origin, fetched, PathRules(settings, _ignore_lines(fetched, settings.scan.max_file_bytes)))


def enter_catalog(source: Source, request: IndexRequest, store: Store, watch: Watch) -> tuple[Repository, str]:
    """Write what the fetch found to the catalog; return the record and a note about its name."""
    branch = source.fetched.branch
    known, note = claim(store, source.origin, request.name, branch)
    watch.repo, watch.commit = known.name, source.commit
    follows_head = request.branch is None and (known.follows_head or branch == HEAD)
    repository = replace(known, branch=branch, head_commit=source.commit, fetched_at=now(), follows_head=follows_head)
    save_repository(store, repository)
    return repository, note


def _ignore_lines(fetched: Fetched, most_bytes: int) -> list[str]:
    """Read the ignore file of the commit itself; a link or an absurdly large one does not count."""
    listed = list_tree(fetched.mirror, fetched.commit, IGNORE_FILE)
    if not listed or not _is_readable(listed[0], most_bytes):
        return []
    with BlobReader(fetched.mirror) as blobs:
        return blobs.read(listed[0].blob).decode(errors="replace").splitlines()


def _is_readable(entry: TreeEntry, most_bytes: int) -> bool:
    return entry.mode in REGULAR_MODES and entry.size <= most_bytes


def processor_count() -> int:
    """Return how many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
