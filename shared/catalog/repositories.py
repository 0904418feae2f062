"""The catalog's records of each repository: origin, newest commits, import progress, summaries."""

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from secrets import token_hex

from codequarry.shared.catalog.documents import put_document, settle, write_settled
from codequarry.shared.errors import Conflict
from codequarry.shared.store.port import DocumentStore
from codequarry.shared.timestamps import now
from codequarry.shared.versions.head import Head

REPOSITORY_PREFIX = "repository:"
PROGRESS_PREFIX = "progress:"
REF_PREFIX = "ref:"
SUMMARY_PREFIX = "summary:"
ID_BYTES = 8


@dataclass(frozen=True, slots=True)
class Repository:
    """A repository in the catalog; ``origin`` never holds a credential.

    ``head_commit`` is the newest commit of ``branch`` that was seen. ``fetched_at`` is when a run or a poll last asked
    the origin about ``branch`` and all other indexed versions; times are ISO 8601 in UTC. ``follows_head`` is False if
    a person chose the branch. Otherwise the origin's HEAD names it, or, if the origin has a working tree,
    ``ingest/git/default_branch.py`` chooses it. A repository is ``guarded`` if a request named its
    origin; fetches then follow the address rules for requests. ``id`` is random and never reused: a later repository
    with the same name has a different id, and a renamed repository keeps its id.
    """

    name: str
    origin: str
    branch: str
    head_commit: str = ""
    fetched_at: str = ""
    tokens_embedded: int = 0
    follows_head: bool = True
    guarded: bool = False
    id: str = ""


@dataclass(frozen=True, slots=True)
class RefHead:
    """The newest commit of a version that a run or a poll has seen at the origin; a later look may have seen it again.

    ``ref`` is the version's key, or "" for the default branch. ``fetched_at`` is when the origin was asked. ``behind``
    is how many commits ``behind_of``, the commit published then, lacked, or None if unknown. ``seen_at`` is when this
    commit was first seen, or "" in older records. ``repo_id`` is the repository's id, because a slow run may write this
    record after another repository has taken the name.
    """

    repo: str
    ref: str
    commit: str
    fetched_at: str
    behind_of: str = ""
    behind: int | None = None
    seen_at: str = ""
    repo_id: str = ""

    @property
    def document_key(self) -> str:
        """The document key; a repository's name contains no line feed."""
        return ref_head_key(self.repo, self.ref)


def default_branch(head: Head, repository: Repository) -> str:
    """Return the default branch's published name, else the name in the catalog, else ""."""
    return head.default_branch(repository.name) or repository.branch


def ref_head_key(repo: str, ref: str) -> str:
    """Return the key of the record of a version's newest commit."""
    return f"{REF_PREFIX}{repo}\n{ref}"


@dataclass(frozen=True, slots=True)
class Progress:
    """The progress of an import, deleted when the import succeeds; ``ref`` and ``repo_id`` are as in ``RefHead``."""

    repo: str
    phase: str
    commit: str
    files_done: int
    files_total: int
    chunks_done: int
    started_at: str
    updated_at: str
    ref: str = ""
    repo_id: str = ""

    @property
    def document_key(self) -> str:
        """The document key; a repository's name contains no line feed."""
        return progress_key(self.repo, self.ref)

    @property
    def percent(self) -> int:
        """The percentage of files done, rounded down, or 0 until the number of files is known."""
        return 100 * self.files_done // self.files_total if self.files_total else 0


def progress_key(repo: str, ref: str) -> str:
    """Return the key of a version's progress."""
    return f"{PROGRESS_PREFIX}{repo}\n{ref}" if ref else PROGRESS_PREFIX + repo


@dataclass(frozen=True, slots=True)
class Summary:
    """Counts of what is live after a published transaction; answers show them as part of their freshness."""

    timeline: int
    number: int
    files: int
    chunks: int
    skipped: Mapping[str, int] = field(default_factory=dict)
    masked: Mapping[str, int] = field(default_factory=dict)
    masked_files: int = 0

    @property
    def key(self) -> str:
        """The document key."""
        return summary_key(self.timeline, self.number)


def summary_key(timeline: int, number: int) -> str:
    """Return the key of a transaction's summary."""
    return f"{SUMMARY_PREFIX}{timeline:010d}:{number:010d}"


def read_repository(store: DocumentStore, name: str) -> Repository | None:
    """Return the repository with this name in the catalog, or None if there is none."""
    document = store.read_document(REPOSITORY_PREFIX + name)
    return document.decode(Repository) if document else None


def list_repositories(store: DocumentStore) -> list[Repository]:
    """Return every repository in the catalog, by name."""
    return [document.decode(Repository) for document in store.list_documents(REPOSITORY_PREFIX)]


def identified(repository: Repository) -> Repository:
    """Return the repository with its id, or with a new id if it has none."""
    return repository if repository.id else replace(repository, id=token_hex(ID_BYTES))


def save_repository(store: DocumentStore, repository: Repository) -> None:
    """Write a repository's record; the last writer wins."""
    put_document(store, REPOSITORY_PREFIX + repository.name, asdict(identified(repository)))


def update_repository(store: DocumentStore, repository: Repository, change: Callable[[Repository], Repository]) -> None:
    """Change a repository's current record, unless it was removed or another repository has its name."""
    while document := store.read_document(REPOSITORY_PREFIX + repository.name):
        known = document.decode(Repository)
        body = asdict(change(known))
        if known.id != repository.id or body == document.body:
            return
        try:
            write_settled(store, document.key, body, document.version)
        except Conflict:
            continue
        return


def count_tokens(store: DocumentStore, repository: Repository, tokens: int) -> None:
    """Add ``tokens`` to a repository's number of embedded tokens; concurrent runs are both counted."""
    update_repository(store, repository, lambda known: replace(known, tokens_embedded=known.tokens_embedded + tokens))


def claim_repository(store: DocumentStore, repository: Repository) -> bool:
    """Write the record of a new repository; return False if its name is taken."""
    try:
        write_settled(store, REPOSITORY_PREFIX + repository.name, asdict(identified(repository)), None)
    except Conflict:
        return False
    return True


def delete_repository(store: DocumentStore, repository: Repository) -> None:
    """Delete a repository's progress, ref heads and, last, its record, unless another repository has its name."""
    name = repository.name
    if not is_in_catalog(store, repository):
        return
    for progress in list_progress(store):
        if progress.repo == name:
            store.delete_document(progress.document_key)
    for head in list_ref_heads(store, name):
        store.delete_document(head.document_key)
    while (document := store.read_document(REPOSITORY_PREFIX + name)) and document.body.get("id") == repository.id:
        with suppress(Conflict):
            store.delete_document(document.key, document.version)
    settle(store)


def is_in_catalog(store: DocumentStore, repository: Repository) -> bool:
    """Return whether the catalog has this repository, by id, under its name."""
    known = read_repository(store, repository.name)
    return known is not None and known.id == repository.id


def read_progress(store: DocumentStore, name: str, ref: str = "", repo_id: str = "") -> Progress | None:
    """Return a version's progress; with ``repo_id``, ignore the progress of an earlier repository of the same name."""
    document = store.read_document(progress_key(name, ref))
    found = document.decode(Progress) if document else None
    return found if found and _may_be_of(found, repo_id) else None


def _may_be_of(found: Progress | RefHead, repo_id: str) -> bool:
    """Return whether a record belongs to the repository with this id; an unknown id matches any record."""
    return "" in (repo_id, found.repo_id) or found.repo_id == repo_id


def list_progress(store: DocumentStore) -> list[Progress]:
    """Return the progress of every running or interrupted import, by repository and version."""
    return [document.decode(Progress) for document in store.list_documents(PROGRESS_PREFIX)]


def save_progress(store: DocumentStore, progress: Progress) -> None:
    """Write the progress of an import; the last writer wins."""
    put_document(store, progress.document_key, asdict(progress))


def clear_progress(store: DocumentStore, name: str, ref: str = "") -> None:
    """Delete the progress of an import that has ended."""
    store.delete_document(progress_key(name, ref))


def save_summary(store: DocumentStore, summary: Summary) -> None:
    """Write the summary of a transaction; a resumed transaction writes it again."""
    put_document(store, summary.key, asdict(summary))


def read_summary(store: DocumentStore, timeline: int, number: int) -> Summary | None:
    """Return the summary of a published transaction."""
    document = store.read_document(summary_key(timeline, number))
    return document.decode(Summary) if document else None


def save_ref_head(store: DocumentStore, head: RefHead) -> None:
    """Write a version's newest commit; the last writer wins, but an unchanged commit keeps its ``seen_at``."""
    known = read_ref_head(store, head.repo, head.ref, head.repo_id)
    same = known if known and known.commit == head.commit else None
    seen_at = (same.seen_at or same.fetched_at) if same else head.seen_at or now("milliseconds")
    put_document(store, head.document_key, asdict(replace(head, seen_at=seen_at)))


def read_ref_head(store: DocumentStore, repo: str, ref: str, repo_id: str = "") -> RefHead | None:
    """Return the newest commit that a fetch has seen of a version; ``repo_id`` is as in ``read_progress``."""
    document = store.read_document(ref_head_key(repo, ref))
    found = document.decode(RefHead) if document else None
    return found if found and _may_be_of(found, repo_id) else None


def list_ref_heads(store: DocumentStore, repo: str | None = None) -> list[RefHead]:
    """Return the newest commits of the versions of a repository, or of all repositories."""
    prefix = REF_PREFIX if repo is None else ref_head_key(repo, "")
    return [document.decode(RefHead) for document in store.list_documents(prefix)]
