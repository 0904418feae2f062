"""A renamed repository keeps every searchable commit with its files, texts and commits, wherever the renaming dies."""

import itertools
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from codequarry.ingest.fsck.catalog import mend_catalog
from codequarry.ingest.fsck.versions import check_version
from codequarry.ingest.garbage_collection.collector import collect_history
from codequarry.ingest.removal.removal import remove_repository, remove_version
from codequarry.ingest.run import rename as renaming
from codequarry.ingest.run.pipeline import IndexRequest, index_repository
from codequarry.ingest.run.rename import rename_repository
from codequarry.ingest.transaction.placement import current_timeline
from codequarry.search_api.query.request import parse_request
from codequarry.search_api.query.version_query import VersionQuery, VersionSpecifier
from codequarry.search_api.search.engine import SearchEngine
from codequarry.search_api.versions.catalog import Catalog
from codequarry.search_api.versions.resolution import one_version
from codequarry.shared.catalog.ledger import published_transactions, read_head
from codequarry.shared.catalog.repositories import list_repositories
from codequarry.shared.errors import Conflict, LeaseHeld, NotIndexed, StoreUnavailable
from codequarry.shared.model import INDEXED
from codequarry.shared.store.records import StoredFile, StoredRow
from codequarry.shared.versions.commit_log import with_logs
from codequarry.shared.versions.refs import Ref

FILES = {f"src/f{number}.py": f"def function_{number}():\n    return {number}\n" for number in range(8)}
DEV, TOPIC = Ref("branch", "dev"), Ref("branch", "topic")
# A rename writes fewer times than this; more means that a rename never ends.
MOST_WRITES = 400


class Origin:
    """A repository with heads of every kind, and the commits that were indexed."""

    def __init__(self, repository, workshop) -> None:
        self.repository, self.workshop = repository, workshop
        self.heads: list[str] = []
        self._text = 0
        self.grow()

    def index(self, ref: Ref | None = None, **fields) -> None:
        request = IndexRequest(self.repository.origin, ref, **fields)
        self.heads.append(index_repository(request, self.workshop).commit)

    def commit(self, *numbers: int) -> None:
        self._text += 1
        for number in numbers:
            self.repository.write(f"src/f{number}.py", f"def function_{number}():\n    return 'text {self._text}'\n")
        self.repository.commit(f"change {self._text}")

    def grow(self) -> None:
        """Index a default branch with a file that returns, a dropped branch, a branch that grew, a single commit."""
        git = self.repository.git
        self.index()
        git("checkout", "--quiet", "-b", "dev")
        for number in range(2):
            self.commit(number)
            self.index(DEV)
        git("checkout", "--quiet", "main")
        self.commit(2)
        self.index()
        self.repository.write("src/f2.py", FILES["src/f2.py"])
        self.repository.commit("back again")
        self.index()
        git("branch", "-D", "dev")
        git("checkout", "--quiet", "-b", "topic")
        self.commit(3)
        self.index(TOPIC)
        self.commit(*range(8))
        self.index(TOPIC)
        self.commit(4)
        single = git("rev-parse", "HEAD").decode().strip()
        self.index(Ref("commit", single))
        git("reset", "--quiet", "--hard", "HEAD~1")
        git("checkout", "--quiet", "main")
        (self.repository.folder / "src" / "f7.py").unlink()
        self.repository.commit("one file less")
        self.index()
        assert len(set(self.heads)) == len(self.heads)


INDEXING = {"overlay_max_share": 0.5, "lease_seconds": 9}


@pytest.fixture
def origin(make_repository, make_workshop):
    return Origin(make_repository(files=FILES), make_workshop(indexing=INDEXING))


@pytest.fixture
def origin_on_each(make_repository, make_workshop_on_each):
    return Origin(make_repository(files=FILES), make_workshop_on_each(indexing=INDEXING))


def shown(workshop, repo: str, commit: str) -> dict[str, object]:
    """Return the files, the texts and the commits that a search of one commit uses."""
    found = one_version(Catalog(workshop.store), repo, VersionQuery((VersionSpecifier("commit", commit),)))
    store = workshop.store
    files = {file.path: (file.blob, file.verdict, file.rows, file.lines) for file in store.files(found.snapshot)}
    texts = {path: [chunk.text for chunk in store.chunks(found.snapshot, path, repo)] for path in files}
    log = found.view.log.snapshot(read_head(store).hidden)
    commits = {file.path: file.blob for file in store.files(log)}
    messages = {path: [chunk.text for chunk in store.chunks(log, path, repo)] for path in commits}
    assert all(file.repo == repo for file in (*store.files(found.snapshot), *store.files(log)))
    return {"files": files, "texts": texts, "commits": commits, "messages": messages}


def searched(workshop, repo: str, commit: str) -> list[tuple[str, str, float]]:
    """Return the hits at one commit, of files and of commits, with their scores."""
    engine = SearchEngine(workshop.store, workshop.embedder, workshop.settings)
    found: list[tuple[str, str, float]] = []
    for query in ("function that returns text", "change type:commit"):
        body = {"query": query, "top_k": 50, "filters": {"repo": repo, "commit": commit}}
        hits = engine.search(parse_request(body)).results
        found += sorted((hit.path, hit.text, round(hit.score, 6)) for hit in hits)
        assert hits
    return found


def everything(workshop, repo: str, commits: list[str]) -> dict[str, dict[str, object]]:
    return {commit: shown(workshop, repo, commit) for commit in commits}


def stored_timelines(workshop) -> set[int]:
    """Return the timelines that have rows or records, whatever the head document says."""
    store = workshop.store
    known = range(read_head(store).counter + 2)
    return {timeline for timeline in known if next(iter(store.history(timeline)), None) is not None}


def assert_all_rows_are_owned(workshop) -> None:
    head = read_head(workshop.store)
    assert stored_timelines(workshop) <= set(with_logs(head.timelines))
    assert all(state.published and not state.lease for state in head.timelines.values())
    for timeline in head.timelines:
        numbers = {
            number
            for part in with_logs([timeline])
            for stored in workshop.store.history(part)
            for number in (born(stored), stored.died)
        }
        assert not numbers & head.hidden


def born(stored: StoredRow | StoredFile) -> int:
    return stored.row.born if isinstance(stored, StoredRow) else stored.record.born


def check_renamed(origin: Origin, before: dict[str, dict[str, object]], old: str, new: str) -> None:
    workshop = origin.workshop
    assert everything(workshop, new, origin.heads) == before
    for commit in origin.heads:
        listing = {path: blob for path, (blob, verdict, *_) in before[commit]["files"].items() if verdict == INDEXED}
        assert listing == origin.repository.listing(commit)
        with pytest.raises(NotIndexed):
            shown(workshop, old, commit)
    assert [repository.name for repository in list_repositories(workshop.store)] == [new]
    assert_all_rows_are_owned(workshop)


def test_every_searchable_commit_is_searchable_under_the_new_name_only(origin_on_each):
    origin = origin_on_each
    before = everything(origin.workshop, "project", origin.heads)
    hits = {commit: searched(origin.workshop, "project", commit) for commit in origin.heads}
    renamed = rename_repository("project", "better", origin.workshop)
    check_renamed(origin, before, "project", "better")
    assert {commit: searched(origin.workshop, "better", commit) for commit in origin.heads} == hits
    single = origin.heads[-2]
    assert (renamed.versions, renamed.lost) == (("main", f"commit/{single}", "topic"), ())
    assert renamed.commits == len(origin.heads)


def test_a_chunk_has_the_same_id_in_old_and_new_commits(origin):
    def ids_at(commit: str) -> dict[tuple[str, str], str]:
        version = VersionQuery((VersionSpecifier("commit", commit),))
        snapshot = one_version(Catalog(origin.workshop.store), "better", version).snapshot
        chunks = (chunk for path in FILES for chunk in origin.workshop.store.chunks(snapshot, path, "better"))
        return {(chunk.path, chunk.text): chunk.id for chunk in chunks}

    rename_repository("project", "better", origin.workshop)
    first, last = ids_at(origin.heads[0]), ids_at(origin.heads[-1])
    same = first.keys() & last.keys()
    assert len(same) > 3
    assert all(first[chunk] == last[chunk] for chunk in same)


DEATHS = [
    ("before", "", 4),
    ("within", "create", 2),
    ("within", "retire", 1),
    ("after", "purge", 1),
]


@pytest.mark.parametrize(("when", "only", "step"), DEATHS)
def test_a_rename_that_dies_at_any_write_continues(origin, make_dying_store, when, only, step):
    die_and_continue(origin, make_dying_store, when, only, step)


@pytest.mark.opensearch
@pytest.mark.parametrize(("when", "only", "step"), [("before", "", 25), ("within", "create", 4)])
def test_a_rename_that_dies_on_opensearch_continues(
    make_repository, make_opensearch_workshop, make_dying_store, when, only, step
):
    origin = Origin(make_repository(files=FILES), make_opensearch_workshop(indexing=INDEXING))
    die_and_continue(origin, make_dying_store, when, only, step)


def die_and_continue(origin: Origin, make_dying_store, when: str, only: str, step: int) -> None:
    """Each rename starts from the repository that the one before renamed, so the copies are copied again too."""
    workshop = origin.workshop
    before = everything(workshop, "project", origin.heads)
    old = "project"
    for calls in itertools.count(1, step):
        assert calls < MOST_WRITES
        new = f"name{calls}"
        dying = make_dying_store(workshop.store, calls, when, only)
        with suppress(StoreUnavailable):
            rename_repository(old, new, replace(workshop, store=dying))
        assert any(is_whole(origin, name, before) for name in (old, new)), f"died at write {calls}"
        with suppress(NotIndexed):  # if nothing but the removal was left, it is finished first
            rename_repository(old, new, workshop)
        check_renamed(origin, before, old, new)
        old = new
        if not dying.dead:
            return


def is_whole(origin: Origin, repo: str, before: dict[str, dict[str, object]]) -> bool:
    with suppress(NotIndexed):
        return everything(origin.workshop, repo, origin.heads) == before
    return False


def other(origin: Origin, **sections):
    """Return the same index with other settings."""
    settings = origin.workshop.settings.model_copy(update=sections)
    return replace(origin.workshop, settings=settings)


def test_what_a_run_publishes_under_the_old_name_meanwhile_is_kept(origin, monkeypatch):
    """Once a newer commit, once the commit that the new name already has, under other settings."""
    real, rounds = renaming.copied_history, []

    def index_old_again() -> None:
        if len(rounds) == 1:
            origin.commit(5)
            origin.index(name="project")
        elif len(rounds) == 2:
            request = IndexRequest(origin.repository.origin, TOPIC, "project", forced=frozenset({"src/f1.py"}))
            index_repository(request, origin.workshop)

    @contextmanager
    def while_indexed(*arguments):
        with real(*arguments) as history:
            rounds.append(1)
            index_old_again()
            yield history

    monkeypatch.setattr(renaming, "copied_history", while_indexed)
    rename_repository("project", "better", origin.workshop)
    assert len(rounds) == 3
    head = read_head(origin.workshop.store)
    for key in ("", TOPIC.key):
        current = current_timeline(head, "better", key)
        lines = [state for state in map(head.timelines.get, head.of_repo("better")) if state.version == key]
        assert head.timelines[current].published == max(state.published for state in lines)
    for commit in origin.heads:
        listing = {path: blob for path, (blob, *_) in shown(origin.workshop, "better", commit)["files"].items()}
        assert listing == origin.repository.listing(commit)
    assert_all_rows_are_owned(origin.workshop)


def test_a_repository_that_is_indexed_in_every_round_keeps_its_old_name(origin, monkeypatch):
    real = renaming.copied_history

    @contextmanager
    def while_indexed(*arguments):
        with real(*arguments) as history:
            origin.commit(5)
            origin.index(name="project")
            yield history

    monkeypatch.setattr(renaming, "copied_history", while_indexed)
    with pytest.raises(Conflict, match="was indexed during the renaming"):
        rename_repository("project", "better", origin.workshop)
    assert set(everything(origin.workshop, "project", origin.heads)) == set(origin.heads)
    assert_all_rows_are_owned(origin.workshop)


def test_two_renamings_at_once_do_not_disturb_each_other(origin, monkeypatch):
    before = everything(origin.workshop, "project", origin.heads)
    real, inner = renaming.copied_history, []

    @contextmanager
    def while_renamed(*arguments):
        with real(*arguments) as history:
            if not inner:
                inner.append(1)
                with pytest.raises(LeaseHeld):
                    rename_repository("project", "better", other(origin, indexing=origin.workshop.settings.indexing))
            yield history

    monkeypatch.setattr(renaming, "copied_history", while_renamed)
    rename_repository("project", "better", origin.workshop)
    check_renamed(origin, before, "project", "better")


def test_versions_that_the_origin_lost_end_with_the_rename(origin):
    origin.repository.git("branch", "-D", "topic")
    before = everything(origin.workshop, "project", origin.heads)
    renamed = rename_repository("project", "better", origin.workshop)
    assert renamed.lost == ("topic",)
    check_renamed(origin, before, "project", "better")
    settings = origin.workshop.settings.retention
    collect_history(origin.workshop.store, settings, ["better"], clock=lambda: datetime.now(UTC) + timedelta(days=89))
    assert everything(origin.workshop, "better", origin.heads) == before
    collect_history(origin.workshop.store, settings, ["better"], clock=lambda: datetime.now(UTC) + timedelta(days=91))
    kept = [commit for commit in origin.heads if is_shown(origin, commit)]
    assert kept == [origin.heads[-2], origin.heads[-1]], "the newest commits of the current versions"


def is_shown(origin: Origin, commit: str) -> bool:
    with suppress(NotIndexed):
        return bool(shown(origin.workshop, "better", commit))
    return False


def test_the_limit_of_commits_counts_on_after_the_rename(make_repository, make_workshop):
    workshop = make_workshop(retention={"keep_commits": 3, "grace_seconds": 0})
    repository = make_repository(files=FILES)
    heads = []

    def index(name: str) -> None:
        repository.write("src/f0.py", f"x = {len(heads)}\n")
        repository.commit(f"{len(heads)}")
        heads.append(index_repository(IndexRequest(repository.origin, name=name), workshop).commit)

    def searchable() -> list[str]:
        head = read_head(workshop.store)
        lines = [published_transactions(workshop.store, head, key) for key in head.of_repo("better")]
        found = {record.commit for records in lines for record in records}
        return [commit for commit in heads if commit in found]

    for _ in range(4):
        index("project")
    rename_repository("project", "better", workshop)
    assert searchable() == heads[1:]
    index("better")
    assert searchable() == heads[2:]
    for _ in range(3):
        index("better")
    assert searchable() == heads[-3:]
    collect_history(workshop.store, workshop.settings.retention, ["better"])
    index("better")
    assert len(list(read_head(workshop.store).of_repo("better"))) == 1
    assert_all_rows_are_owned(workshop)


def test_a_copied_commit_passes_its_check_and_goes_with_the_repository(origin):
    workshop, store = origin.workshop, origin.workshop.store
    rename_repository("project", "better", workshop)
    head = read_head(store)
    records = [record for key in head.of_repo("better") for record in published_transactions(store, head, key)]
    named = [record for record in records if not head.timelines[record.timeline].gone]
    assert {record.commit for record in named} == set(origin.heads)
    for record in named:
        assert check_version(record, workshop, full_text=True).problems == ()
    remove_repository("better", store, workshop.settings)
    assert stored_timelines(workshop) == set()
    for prefix in ("transaction:", "summary:", "chore:", "sweep:", "swept:"):
        assert store.list_documents(prefix) == [], prefix


def test_a_base_that_only_copies_need_goes_with_them(make_repository, make_workshop):
    """The only head of the default branch is not copied for itself; the ended branch lies on it."""
    workshop = make_workshop(retention={"grace_seconds": 0})
    repository = make_repository(files=FILES)
    index_repository(IndexRequest(repository.origin), workshop)
    repository.git("checkout", "--quiet", "-b", "dev")
    repository.write("src/f0.py", "x = 1\n")
    commit = repository.commit("on dev")
    index_repository(IndexRequest(repository.origin, DEV), workshop)
    repository.git("checkout", "--quiet", "main")
    repository.git("branch", "-D", "dev")
    before = shown(workshop, "project", commit)
    rename_repository("project", "better", workshop)
    assert shown(workshop, "better", commit) == before
    assert len(list(read_head(workshop.store).of_repo("better"))) == 3
    index_repository(IndexRequest(repository.origin, name="better"), workshop)
    assert shown(workshop, "better", commit) == before
    remove_version("better", DEV, workshop.store, workshop.settings)
    index_repository(IndexRequest(repository.origin, name="better"), workshop)
    assert len(list(read_head(workshop.store).of_repo("better"))) == 1
    assert_all_rows_are_owned(workshop)


def test_commits_from_before_masking_are_left_behind(make_repository, make_workshop):
    workshop = make_workshop(secrets={"action": "off"})
    repository = make_repository(files=FILES)
    unmasked = index_repository(IndexRequest(repository.origin), workshop).commit
    repository.write("src/f0.py", "x = 1\n")
    masked = repository.commit("masked from here on")
    masking = make_workshop("masking", retention=workshop.settings.retention)
    masking = replace(masking, store=workshop.store)
    rename_repository("project", "better", masking)
    assert shown(masking, "better", masked)
    with pytest.raises(NotIndexed):
        shown(masking, "better", unmasked)
    assert_all_rows_are_owned(masking)


def test_a_repository_with_one_commit_a_version_has_nothing_to_copy(make_repository, make_workshop):
    workshop = make_workshop()
    repository = make_repository(files=FILES)
    repository.git("branch", "dev")
    for ref in (None, DEV):
        index_repository(IndexRequest(repository.origin, ref), workshop)
    phases = []
    renamed = rename_repository("project", "better", workshop, lambda progress: phases.append(progress.phase))
    assert "copying history" not in phases
    assert renamed.commits == 1
    assert len(list(read_head(workshop.store).of_repo("better"))) == 2


def test_the_copy_reports_its_progress(origin):
    seen = []
    rename_repository("project", "better", origin.workshop, seen.append)
    copying = [progress for progress in seen if progress.phase == "copying history"]
    assert copying[0].files_done == 0
    assert copying[-1].files_done > 8
    assert {progress.repo for progress in copying} == {"better"}


@pytest.mark.parametrize("clean", ["fsck", "repos rm"])
def test_what_an_abandoned_rename_left_goes_without_another_rename(origin, make_dying_store, clean):
    workshop, store = origin.workshop, origin.workshop.store
    before = everything(workshop, "project", origin.heads)
    with pytest.raises(StoreUnavailable):
        rename_repository("project", "better", replace(workshop, store=make_dying_store(store, 1, "before", "retire")))
    drafts = [key for key, state in read_head(store).timelines.items() if not state.published]
    assert len(drafts) > 2
    assert set(drafts) & stored_timelines(workshop)
    if clean == "fsck":
        mend_catalog(store, "better", "", 0)
    else:
        remove_repository("better", store, workshop.settings)
    assert everything(workshop, "project", origin.heads) == before
    assert_all_rows_are_owned(workshop)


def test_a_run_on_the_new_name_passes_over_the_drafts_of_a_rename(origin, make_dying_store):
    workshop, store = origin.workshop, origin.workshop.store
    before = everything(workshop, "project", origin.heads)
    with pytest.raises(StoreUnavailable):
        rename_repository("project", "better", replace(workshop, store=make_dying_store(store, 1, "before", "retire")))
    for ref in (None, TOPIC):
        report = index_repository(IndexRequest(origin.repository.origin, ref, "better"), workshop)
        assert not report.changed
    rename_repository("project", "better", workshop)
    check_renamed(origin, before, "project", "better")
