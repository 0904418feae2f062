"""What is known about pull requests besides their heads: the target branch, and where each of them branched off."""

from collections.abc import Callable
from dataclasses import asdict, dataclass, replace

from codequarry.shared.catalog.documents import write_settled
from codequarry.shared.errors import Conflict
from codequarry.shared.store.port import DocumentStore

PULL_PREFIX = "pull:"


@dataclass(frozen=True, slots=True)
class PullRequest:
    """A pull request of the repository with this id.

    ``target`` is the branch that it is to be merged into, as its code host said, or "" for the default branch.
    ``base`` is the commit from which its changes up to ``head`` are counted: the merge base with the target, from
    before the merge if it has been merged.
    """

    repo_id: str
    number: str
    target: str = ""
    head: str = ""
    base: str = ""

    @property
    def key(self) -> str:
        """The document key."""
        return _key(self.repo_id, self.number)


def _key(repo_id: str, number: str) -> str:
    return f"{PULL_PREFIX}{repo_id}\n{number}"


def read_pull_request(store: DocumentStore, repo_id: str, number: str) -> PullRequest:
    """Return what is known about a pull request, which may be nothing."""
    document = store.read_document(_key(repo_id, number)) if repo_id else None
    return document.decode(PullRequest) if document else PullRequest(repo_id, number)


def change_pull_request(
    store: DocumentStore, repo_id: str, number: str, change: Callable[[PullRequest], PullRequest]
) -> None:
    """Change what is known about a pull request; nothing is kept of a repository without an id."""
    while repo_id:
        document = store.read_document(_key(repo_id, number))
        known = document.decode(PullRequest) if document else PullRequest(repo_id, number)
        changed = change(known)
        if changed == known:
            return
        try:
            write_settled(store, changed.key, asdict(changed), document.version if document else None)
        except Conflict:
            continue
        return


def retarget(store: DocumentStore, repo_id: str, number: str, target: str, default: str) -> None:
    """Keep the target branch of a pull request; where it left another target is no longer of use.

    Most pull requests have the ``default`` branch as their target, and are not indexed: nothing is kept of them.
    """

    def change(known: PullRequest) -> PullRequest:
        return known if (known.target or default) == target else replace(known, target=target, base="")

    change_pull_request(store, repo_id, number, change)


def forget_pull_requests(store: DocumentStore, repo_id: str) -> None:
    """Delete what is known about the pull requests of a repository that is gone."""
    for document in store.list_documents(_key(repo_id, "")) if repo_id else ():
        store.delete_document(document.key)
