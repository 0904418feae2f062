"""An index with repositories of two teams and the key of one team, for kills at every write."""

from dataclasses import dataclass, replace
from typing import Any

from codequarry.ingest.git.origins import parse_origin
from codequarry.ingest.removal.interrupted_removal import REMOVAL_PREFIX
from codequarry.ingest.removal.removal import remove_repository
from codequarry.ingest.request.index_request import IndexRequest, Workshop
from codequarry.ingest.run.pipeline import index_repository
from codequarry.shared.access.grants import Grant, permitted_catalog, permitted_head
from codequarry.shared.access.key_list import add_key, list_keys
from codequarry.shared.access.keys import new_key
from codequarry.shared.catalog.ledger import change_head, read_head
from codequarry.shared.catalog.polls import change_poll, list_polls
from codequarry.shared.catalog.repositories import (
    Progress,
    list_progress,
    list_ref_heads,
    list_repositories,
    read_repository,
    save_progress,
)
from codequarry.shared.jobs.job import UNFINISHED, JobRequest
from codequarry.shared.jobs.job_list import list_jobs, submit
from codequarry.shared.repositories.mirror_folders import mirror_folder
from codequarry.shared.repositories.naming import claim
from codequarry.shared.timestamps import now
from codequarry.shared.versions.transactions import new_timeline


@dataclass
class World:
    """An index with repositories of two teams, and a third repository that takes the name of the first when it can."""

    workshop: Workshop
    ours: Any
    other: Any
    intruder: Any
    repo_id: str = ""

    @property
    def store(self) -> Any:
        """The store, which survives."""
        return self.workshop.store

    def index(self, repository: Any, name: str | None = None) -> None:
        """Do an ordinary run."""
        index_repository(IndexRequest(repository.origin, name=name), self.workshop)

    def intrude(self, name: str = "core") -> None:
        """Claim a name for the third repository and add a timeline, as unpublished timelines show in the head too."""
        known, _ = claim(self.store, parse_origin(self.intruder.origin), name, "main")
        change_head(self.store, lambda head: new_timeline(head, known.name, repo_id=known.id))

    def begin(self) -> None:
        """Index the team's repository, give it a key, and leave traces of everything that a repository has."""
        self.index(self.ours, "core")
        known = read_repository(self.store, "core")
        assert known is not None
        add_key(self.store, new_key("reader", ["search"], [Grant("core")])[0])
        submit(self.store, JobRequest("core", self.ours.origin, repo_id=known.id))
        save_progress(self.store, Progress("core", "indexing", "c", 1, 2, 3, now(), now(), "refs/heads/x"))
        change_poll(self.store, "core", lambda poll: replace(poll, next_at=now(), error="secret"))
        self.repo_id = known.id

    def seen(self) -> set[tuple[str, str]]:
        """Return what the keys of the first team see: each repository's name and origin."""
        origins = {repository.name: repository.origin for repository in list_repositories(self.store)}
        seen: set[tuple[str, str]] = set()
        for key in list_keys(self.store):
            head = permitted_head(read_head(self.store), key.principal)
            seen |= {(state.repo, origins.get(state.repo, "")) for state in head.timelines.values()}
            catalog = permitted_catalog(
                {repository.name: repository for repository in list_repositories(self.store)}, key.principal
            )
            seen |= {(name, repository.origin) for name, repository in catalog.items()}
        return seen

    def check_nothing_foreign_is_seen(self) -> None:
        """Check that the keys see only the team's own repository, if any."""
        assert {origin for _, origin in self.seen()} <= {self.ours.origin, ""}

    def check_nothing_is_left(self) -> None:
        """Check that nothing of the removed repository is in the catalog or on this machine."""
        store, repo_id = self.store, self.repo_id
        known = read_repository(store, "core")
        assert known is None or known.id != repo_id
        assert [grant for key in list_keys(store) for grant in key.grants if grant.repo_id == repo_id] == []
        assert [grant for key in list_keys(store) for grant in key.grants if grant.repos == "core"] == []
        assert [progress for progress in list_progress(store) if progress.ref == "refs/heads/x"] == []
        assert [state for state in read_head(store).timelines.values() if state.repo_id == repo_id] == []
        assert [job for job in list_jobs(store, UNFINISHED) if job.repo_id == repo_id] == []
        assert store.list_documents(REMOVAL_PREFIX) == []
        assert list_polls(store).get("core", None) is None or not list_polls(store)["core"].error
        if known is None:
            assert list_ref_heads(store, "core") == []
        assert not mirror_folder(parse_origin(self.ours.origin), self.workshop.settings.home).exists()

    def end(self) -> None:
        """Empty the index for the next death."""
        for repository in list_repositories(self.store):
            remove_repository(repository.name, self.store, self.workshop.settings)
        for key in list_keys(self.store):
            self.store.delete_document(f"key:{key.id}")
