"""The name of a repository in the catalog: one a place, whatever the spelling of its URL."""

from collections.abc import Iterator

from codequarry.shared.access.key_list import bind_pending
from codequarry.shared.catalog.repositories import Repository, claim_repository, identified, list_repositories
from codequarry.shared.errors import Conflict, UsageError
from codequarry.shared.origins import NAME, Origin, identity_if_readable
from codequarry.shared.store.port import DocumentStore

# More repositories of one owner and one base name than anybody has.
MOST_NUMBERED = 1000


def find_repository(store: DocumentStore, origin: Origin, asked: str | None = None) -> Repository | None:
    """Return the catalog's record of the place that ``origin`` names; of two, while one is renamed, the one asked for.

    The records come by their names: without ``asked`` it is always the same one.
    """
    identity = origin.identity
    found = [one for one in list_repositories(store) if identity_if_readable(one.origin) == identity]
    return next((repository for repository in found if repository.name == asked), next(iter(found), None))


def check_name(store: DocumentStore, origin: Origin, asked: str | None) -> None:
    """Refuse a name that is malformed, taken, or not the one that this origin has already."""
    if asked is None:
        return
    if not NAME.fullmatch(asked):
        raise UsageError(f"'{asked}' is no name for a repository: letters, digits, '.', '_' and '-', 100 at most")
    known = find_repository(store, origin, asked)
    if known and known.name != asked:
        raise UsageError(
            f"{origin.url} is indexed as '{known.name}'; leave out the name, or rename it: "
            f"codequarry repos rename {known.name} {asked}"
        )
    taken = next((other for other in list_repositories(store) if other.name == asked), None)
    if taken and known is None:
        raise UsageError(f"'{asked}' is the name of {taken.origin}; choose another name")


def claim(
    store: DocumentStore, origin: Origin, asked: str | None, branch: str, *, guarded: bool = False
) -> tuple[Repository, str]:
    """Return the record of ``origin``, made if it is new, and a note where its name is not the expected one."""
    check_name(store, origin, asked)
    known = find_repository(store, origin, asked)
    if known:
        return known, ""
    for name in [asked] if asked else _candidates(origin):
        repository = identified(Repository(name, origin.url, branch, guarded=guarded))
        if claim_repository(store, repository):
            bind_pending(store, repository)
            expected = asked or origin.name
            note = f"another origin is called '{expected}', so this one is '{name}'" if name != expected else ""
            return repository, note
        # Perhaps somebody has just claimed it for this very place.
        known = find_repository(store, origin, asked)
        if known:
            return known, ""
    raise Conflict(f"no name is left for {origin.url}; choose one (--name)")


def _candidates(origin: Origin) -> Iterator[str]:
    """Yield the base name, then with its owner before it, then numbered."""
    yield origin.name
    longer = "-".join(origin.parts[-2:])[-90:].lstrip("-.")
    yield longer
    for number in range(2, MOST_NUMBERED):
        yield f"{longer}-{number}"
