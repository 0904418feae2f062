"""Does a delivery concern the index, and what is to be done? Pure: a wish or a reason comes out."""

from dataclasses import dataclass, replace

from codequarry.search_api.webhooks.events import Event
from codequarry.shared.jobs.job import PRIORITIES, JobRequest
from codequarry.shared.repositories.catalog import Repository, default_branch
from codequarry.shared.triggers.following import Rules, indexed_refs, is_named, version_request
from codequarry.shared.versions.head import Head
from codequarry.shared.versions.refs import KIND_NAMES, Ref


@dataclass(frozen=True, slots=True)
class Known:
    """What is known of the repository of a delivery: record, head document, and what the settings name of it."""

    repository: Repository
    head: Head
    rules: Rules | None


def decide(event: Event, known: Known, by: str) -> JobRequest | str:
    """Return what to ask for, or why nothing is to be done.

    What was deleted is asked for like what has moved: the origin knows whether it is still gone when the job runs, for
    deliveries come late and in any order. A closed pull request alone is removed, since code hosts keep its commits.
    """
    repository = known.repository
    default = default_branch(known.head, repository) or event.place.default_branch
    said_to_be = event.place.default_branch if repository.follows_head else ""
    if event.ref is None or event.ref in (Ref("branch", default), Ref("branch", said_to_be)):
        return _default(event, known, default, by)
    is_indexed = not indexed_refs(known.head, repository.name).isdisjoint((event.ref, *event.alternatives))
    said = f"{KIND_NAMES[event.ref.kind]} {event.ref.value}"
    if event.change in ("deleted", "closed") and not is_indexed:
        return f"{said} is not indexed"
    if not (event.asked or is_indexed or is_named(known.rules, event.ref)):
        return f"{said} is neither the default branch nor indexed, and the settings of {repository.name} do not name it"
    wish = version_request(repository, event.ref, "webhook", PRIORITIES["change"], event.commit, by)
    if event.change == "closed":
        return replace(wish, kind="remove")
    return replace(wish, candidates=(event.ref, *event.alternatives))


def _default(event: Event, known: Known, default: str, by: str) -> JobRequest | str:
    repository = known.repository
    # Of another branch than the one that is published as such the host may say that it is the default one by now.
    is_another = repository.follows_head and event.place.default_branch not in ("", default)
    if event.change == "deleted" and not (is_another and event.ref == Ref("branch", default)):
        return f"{default or 'the default branch'} is the default branch, which goes only with its repository"
    priority = PRIORITIES["change" if repository.name in known.head.defaults else "import"]
    commit = "" if event.change == "deleted" else event.commit
    return version_request(repository, None, "webhook", priority, commit, by)
