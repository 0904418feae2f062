"""Names of repositories in the catalog: one name per origin, whatever the spelling of its URL."""

from collections.abc import Iterator

from codequarry.shared.access.key_list import bind_pending
from codequarry.shared.catalog.repositories import Repository, claim_repository, identified, list_repositories
from codequarry.shared.errors import Conflict, UsageError
from codequarry.shared.origins import NAME, Origin, identity_if_readable
from codequarry.shared.store.port import DocumentStore

# More than the repositories with the same owner and base name that exist anywhere.
MOST_NUMBERED = 1000


def find_repository(store: DocumentStore, origin: Origin, asked: str | None = None) -> Repository | None:
    """Return an origin's record, if any; of two during a rename, prefer the name ``asked``, else the first by name."""
    identity = origin.identity
    found = [known for known in list_repositories(store) if identity_if_readable(known.origin) == identity]
    return next((repository for repository in found if repository.name == asked), next(iter(found), None))


def check_name(store: DocumentStore, origin: Origin, asked: str | None) -> None:
    """Raise UsageError if a name is malformed or taken, or if this origin has a different name."""
    if asked is None:
        return
    if not NAME.fullmatch(asked):
        raise UsageError(f"'{asked}' is not a valid repository name: at most 100 letters, digits, '.', '_' and '-'")
    known = find_repository(store, origin, asked)
    if known and known.name != asked:
        raise UsageError(
            f"{origin.url} is indexed as '{known.name}'; omit the name, or rename it: "
            f"codequarry repos rename {known.name} {asked}"
        )
    taken = next((other for other in list_repositories(store) if other.name == asked), None)
    if taken and known is None:
        raise UsageError(f"'{asked}' is the name of {taken.origin}; choose another name")


def claim(
    store: DocumentStore, origin: Origin, asked: str | None, branch: str, *, guarded: bool = False
) -> tuple[Repository, str]:
    """Return the record of ``origin``, created if it is new, and a note if its name is not the expected name."""
    check_name(store, origin, asked)
    known = find_repository(store, origin, asked)
    if known:
        return known, ""
    for name in [asked] if asked else _candidates(origin):
        repository = identified(Repository(name, origin.url, branch, guarded=guarded))
        if claim_repository(store, repository):
            bind_pending(store, repository)
            expected = asked or origin.name
            note = f"the name '{expected}' is taken by another origin; this one is '{name}'" if name != expected else ""
            return repository, note
        # Another process may just have claimed the name for the same origin.
        known = find_repository(store, origin, asked)
        if known:
            return known, ""
    raise Conflict(f"all default names for {origin.url} are taken; choose a name with --name")


def _candidates(origin: Origin) -> Iterator[str]:
    """Yield the base name, then the name with its owner, then numbered names."""
    yield origin.name
    longer = "-".join(origin.parts[-2:])[-90:].lstrip("-.")
    yield longer
    for number in range(2, MOST_NUMBERED):
        yield f"{longer}-{number}"
