"""Adds missing ids to data from an older version and binds grants to them, in each run and when the service starts."""

from codequarry.shared.access.key_list import bind_grants, ids_by_name
from codequarry.shared.catalog.ledger import change_head, read_head
from codequarry.shared.catalog.repositories import identified, list_repositories, update_repository
from codequarry.shared.store.port import DocumentStore
from codequarry.shared.versions.transactions import identify


def bind_index(store: DocumentStore) -> None:
    """Give missing ids to repositories and timelines, then bind the grants; if interrupted, the next call resumes."""
    for repository in list_repositories(store):
        if not repository.id:
            update_repository(store, repository, identified)
    head = read_head(store)
    if any(not state.repo_id for state in head.timelines.values()):
        ids = ids_by_name(store)
        if identify(head, ids) is not head:
            change_head(store, lambda newest: (identify(newest, ids), None))
    bind_grants(store)
