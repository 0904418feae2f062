"""Fetches the version that a request means, and finds the rules that decide which of its files are indexed."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from codequarry.ingest.files.lister import ListingOrder
from codequarry.ingest.files.listing import list_files
from codequarry.ingest.files.read_file import ReadingRules
from codequarry.ingest.files.reading_order import ReadingOrder
from codequarry.ingest.files.scan import IGNORE_FILE, FileTask, PathRules
from codequarry.ingest.git.address_guard import guarded_configuration
from codequarry.ingest.git.fetch import Fetched, synchronise
from codequarry.ingest.git.mirrors import RemoteAccess, ignore_message, open_access, remove_mirror
from codequarry.ingest.git.objects import Mirror
from codequarry.ingest.git.origins import Origin
from codequarry.ingest.git.redirects import is_redirected, moved_origin
from codequarry.ingest.git.remote import HEAD, Listing, raise_not_found
from codequarry.ingest.git.trees import SUBMODULE, TreeEntry, file_at
from codequarry.ingest.request.index_request import IndexRequest
from codequarry.ingest.request.progress import Watch
from codequarry.ingest.request.wanted_version import Wanted, other_versions
from codequarry.ingest.secrets.policy import ALLOW_FILE
from codequarry.ingest.source.target import IndexTarget
from codequarry.shared.catalog.ledger import read_head
from codequarry.shared.catalog.repositories import Repository, update_repository
from codequarry.shared.errors import GitError, LimitExceeded
from codequarry.shared.glob_patterns import lines_of_file
from codequarry.shared.repositories.followed_versions import settings_for
from codequarry.shared.repositories.mirror_folders import mirror_folder
from codequarry.shared.repositories.naming import claim
from codequarry.shared.settings.config import SettingsModel
from codequarry.shared.settings.index import IndexingSettings
from codequarry.shared.store.port import DocumentStore
from codequarry.shared.timestamps import now
from codequarry.shared.versions.refs import Ref

REGULAR_MODES = ("100644", "100755")


# Not slotted, because ``tasks`` is cached.
@dataclass(frozen=True)
class FileSource:
    """A commit on this machine, and the rules for its paths from the settings and its own ignore file.

    ``key`` is the version's key in timelines, ``listing`` the origin's answer about it and other indexed versions. A
    working tree has its own ``entries``, and their hash as ``state``. ``forced`` paths are rewritten even if unchanged.
    """

    origin: Origin
    mirror: Mirror
    ref: Ref
    key: str
    commit: str
    rules: PathRules
    limits: IndexingSettings
    listing: Listing
    entries: tuple[TreeEntry, ...] | None = None
    state: str = ""
    forced: frozenset[str] = frozenset()

    @cached_property
    def tasks(self) -> list[FileTask]:
        """The version's files, each with the decisions based on its path."""
        mirror, most_paths = self.mirror, self.limits.max_paths
        order = ListingOrder(mirror.folder, mirror.environment, self.commit, self.rules, most_paths, self.entries)
        return list_files(order, self.limits)

    def target(self, repository: Repository) -> IndexTarget:
        """Return what a run would publish."""
        rules = self.rules.digest + self.state
        return IndexTarget(repository.name, self.ref.name, self.commit, rules, self.key, repository.id)

    def assignment(self, repo: str, settings: SettingsModel) -> ReadingOrder:
        """Return what a reading process needs to know."""
        rules = ReadingRules.of(repo, settings, self.rules.secrets)
        return ReadingOrder(self.mirror, rules, settings.indexing.process_memory_bytes)


NoteFound = Callable[[str, str], None]
"""Called with a version's key and commit before any file is read; may refuse the version by raising."""


def take_any(_key: str, _commit: str) -> None:
    """Accept every version."""


def fetch_source(
    wanted: Wanted,
    settings: SettingsModel,
    store: DocumentStore,
    say: Callable[[str], None] = ignore_message,
    found: NoteFound = take_any,
) -> FileSource | None:
    """Fetch the wanted version without writing to the store; ``say`` reports what the run is waiting for.

    Return None if the origin no longer has the version but the index does; raise GitError if neither has it.
    """
    settings = settings_for(settings, wanted.origin.url, wanted.origin.host)
    head = read_head(store)
    repo = wanted.known.name if wanted.known else ""
    bound = guarded_configuration(wanted.origin, settings) if wanted.is_guarded else None
    access = open_access(wanted.origin, settings.git, settings.home, say, bound)
    others, kept = [*other_versions(head, repo, wanted.key), *_default_ref(wanted)], head.default_branch(repo)
    try:
        access, fetched = _synchronised(access, wanted.ref, others, kept, guarded=wanted.is_guarded)
    except LimitExceeded:
        if wanted.known is None:
            remove_mirror(mirror_folder(wanted.origin, settings.home))
        raise
    if fetched is None:
        if not wanted.is_default and any(head.timelines[line].ref == wanted.key for line in head.of_repo(repo)):
            return None
        raise_not_found(
            access, wanted.ref, is_default=bool(wanted.is_default and wanted.default and not wanted.demanded)
        )
    key = "" if wanted.is_default else fetched.ref.key
    found(key, fetched.commit)
    rules = rules_of_commit(settings, fetched.mirror, fetched.commit)
    limits = settings.indexing
    return FileSource(wanted.origin, fetched.mirror, fetched.ref, key, fetched.commit, rules, limits, fetched.listing)


def _default_ref(wanted: Wanted) -> tuple[Ref, ...]:
    """Return the default branch, so that a run for another version learns its newest commit from the same call."""
    branch = wanted.default[1] if wanted.default and not wanted.is_default else ""
    return (Ref("branch", branch),) if branch and branch != HEAD else ()


def fetch_commit(origin: Origin, commit: str, settings: SettingsModel, *, guarded: bool) -> Mirror:
    """Return this machine's mirror of an origin, fetching ``commit``, which another machine saw, if it is missing."""
    settings = settings_for(settings, origin.url, origin.host)
    mirror = open_access(origin, settings.git, settings.home).mirror
    if mirror.commit_of(commit) is None:
        bound = guarded_configuration(origin, settings) if guarded else None
        access = open_access(origin, settings.git, settings.home, bound=bound)
        _synchronised(access, Ref("commit", commit), guarded=guarded)
    return mirror


def _synchronised(
    access: RemoteAccess, ref: Ref | None, others: Sequence[Ref] = (), kept: str = "", *, guarded: bool
) -> tuple[RemoteAccess, Fetched | None]:
    """Fetch, following a redirect of the origin unless it is ``guarded``, and return how the origin was reached."""
    try:
        return access, synchronise(access, ref, others, kept)
    except GitError as error:
        if guarded or not is_redirected(error):
            raise
    moved = replace(access, origin=moved_origin(access.origin, access.settings))
    return moved, synchronise(moved, ref, others, kept)


def enter_catalog(
    source: FileSource, request: IndexRequest, store: DocumentStore, watch: Watch
) -> tuple[Repository, str]:
    """Claim a name in the catalog; return the record that the run will write, and a note about the name."""
    branch = source.ref.value
    known, note = claim(store, source.origin, request.name, branch, guarded=request.guarded)
    watch.repo, watch.repo_id, watch.ref, watch.commit = known.name, known.id, source.key, source.commit
    if source.key:
        return known, note
    chosen = request.ref is not None and (request.default or known.branch != branch or not known.head_commit)
    follows_head = not chosen and (known.follows_head or branch == HEAD)
    fetched = replace(known, head_commit=source.commit, fetched_at=source.listing.asked_at or now("seconds"))
    return replace(fetched, branch=branch, follows_head=follows_head), note


def note_fetched(fetched: Repository, store: DocumentStore) -> None:
    """Write the newest fetched commit of the default branch to the catalog."""
    published = read_head(store).default_branch(fetched.name)

    def change(known: Repository) -> Repository:
        if not known.head_commit:
            return _adopted(known, fetched)
        # Until a commit of the new branch is published, the catalog keeps describing the published branch.
        if fetched.branch not in (known.branch, published):
            return known
        return replace(_adopted(known, fetched), follows_head=known.follows_head)

    update_repository(store, fetched, change)


def adopt_branch(repository: Repository, store: DocumentStore) -> None:
    """Write the name of the published default branch to the catalog, unless another run has published since."""

    def change(known: Repository) -> Repository:
        head = read_head(store)
        default = head.timelines.get(head.defaults.get(repository.name, -1))
        is_mine = default and (default.branch, default.commit) == (repository.branch, repository.head_commit)
        return _adopted(known, repository) if is_mine else known

    update_repository(store, repository, change)


def _adopted(known: Repository, new: Repository) -> Repository:
    """Return a record updated with a run's findings, keeping everything else that other runs have written."""
    found = replace(known, branch=new.branch, follows_head=new.follows_head)
    return replace(found, head_commit=new.head_commit, fetched_at=new.fetched_at)


def rules_of_commit(settings: SettingsModel, mirror: Mirror, commit: str) -> PathRules:
    """Return the path rules from the settings and from a commit's own lists."""
    return rules_of_tree(settings, mirror, lambda path: file_at(mirror.folder, mirror.environment, commit, path))


def rules_of_tree(settings: SettingsModel, mirror: Mirror, find: Callable[[str], TreeEntry | None]) -> PathRules:
    """Return the path rules from the settings and from a version's own lists; ``find`` returns the entry at a path."""
    most_bytes = settings.scan.max_file_bytes
    ignored, unread = _read_list(mirror, IGNORE_FILE, find, most_bytes)
    if not settings.secrets.repository_allow_file:
        return PathRules(settings, ignored, unread=unread)
    allowed, also_unread = _read_list(mirror, ALLOW_FILE, find, most_bytes)
    return PathRules(settings, ignored, allowed, unread=unread + also_unread)


def _read_list(
    mirror: Mirror, name: str, find: Callable[[str], TreeEntry | None], most_bytes: int
) -> tuple[list[str], tuple[str, ...]]:
    """Return the lines of a list at the root, and a warning if the list is there but not read."""
    entry = find(name)
    if entry is None or entry.mode == SUBMODULE:
        return [], ()
    if entry.mode not in REGULAR_MODES:
        return [], (f"{name} has no effect: it is a symbolic link, and links are never followed",)
    if entry.size > most_bytes:
        return [], (f"{name} has no effect: it is larger than [scan] max_file_bytes ({most_bytes:,} bytes)",)
    return lines_of_file(mirror.read_blob(entry.blob)), ()
