"""Brings the index in line with the settings: first a plan, then jobs."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field, replace
from typing import Literal

from codequarry.ingest.git.origins import origin_of_record, parse_origin
from codequarry.ingest.remotes.hosting.groups import Hosted, list_group
from codequarry.ingest.remotes.survey import ChangedVersion, survey
from codequarry.shared.catalog.ledger import read_head
from codequarry.shared.catalog.repositories import Repository, list_repositories, read_repository
from codequarry.shared.errors import CodequarryError, UsageError
from codequarry.shared.jobs.job import PRIORITIES, Job
from codequarry.shared.jobs.job_list import cancel_jobs_of, submit
from codequarry.shared.origins import Origin
from codequarry.shared.repositories.followed_versions import (
    Rules,
    host_of_group,
    in_group,
    indexed_refs,
    is_named,
    version_request,
)
from codequarry.shared.repositories.naming import check_name, claim, find_repository
from codequarry.shared.settings.config import SettingsModel
from codequarry.shared.settings.sources import without_accounts
from codequarry.shared.settings.triggers import RepositoryGroup
from codequarry.shared.store.port import DocumentStore
from codequarry.shared.versions.head import Head
from codequarry.shared.versions.refs import Ref

ActionKind = Literal["add", "rename", "index", "remove"]
ListGroup = Callable[[RepositoryGroup, SettingsModel], Sequence[Hosted]]
# How many origins are asked at once; nearly all of the time is spent waiting for answers.
AT_ONCE = 8


@dataclass(frozen=True, slots=True)
class Action:
    """One step; ``ref`` is the key of a version, or "" for the default branch (in "remove", for the whole repository).

    For "add", ``repo`` is the name unless it is taken. In "add" and "rename", ``new_name`` is the name in the settings.
    """

    action: ActionKind
    repo: str
    origin: str
    ref: str = ""
    commit: str = ""
    new_name: str = ""

    def to_json(self) -> dict[str, str]:
        """Return the step as `codequarry sync --json` shows it."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class SyncProblem:
    """A repository or group that could not be read, because its host does not answer or does not have it."""

    where: str
    detail: str


@dataclass(frozen=True, slots=True)
class SyncPlan:
    """The steps in order. If a group can't be listed or an origin can't be parsed, no step removes a repository."""

    actions: tuple[Action, ...]
    problems: tuple[SyncProblem, ...] = ()


@dataclass(frozen=True, slots=True)
class WantedRepository:
    """A repository that the settings name, individually or in a group."""

    origin: Origin
    name: str | None
    rules: Rules


@dataclass(slots=True)
class _Found:
    wanted: dict[str, WantedRepository] = field(default_factory=dict)
    problems: list[SyncProblem] = field(default_factory=list)
    empty: list[RepositoryGroup] = field(default_factory=list)


def plan_sync(
    store: DocumentStore, settings: SettingsModel, *, prune: bool = False, list_hosted: ListGroup = list_group
) -> SyncPlan:
    """Compare settings, origins and index; ``prune`` plans the removal of repositories and versions no longer named."""
    found = _wanted(settings, list_hosted)
    head, catalog = read_head(store), list_repositories(store)
    if prune:
        found.problems.extend(_emptied(catalog, found.empty))

    def look(wanted: WantedRepository) -> list[Action] | SyncProblem:
        try:
            return list(_actions(store, head, settings, wanted, prune))
        except CodequarryError as error:
            return SyncProblem(wanted.origin.url, str(error))

    with ThreadPoolExecutor(AT_ONCE, thread_name_prefix="sync") as pool:
        looked = list(pool.map(look, found.wanted.values()))
    actions = [action for result in looked if not isinstance(result, SyncProblem) for action in result]
    problems = [*found.problems, *(result for result in looked if isinstance(result, SyncProblem))]
    if prune and not found.problems:
        actions += _removals(catalog, found.wanted)
    return SyncPlan(tuple(actions), tuple(problems))


def _emptied(catalog: Sequence[Repository], groups: Sequence[RepositoryGroup]) -> Iterator[SyncProblem]:
    """Yield a problem for each group that lists nothing but has indexed repositories: its token may have expired."""
    places = [_identity(repository).partition("/") for repository in catalog]
    for group in groups:
        host = host_of_group(group)
        if any(place == host and in_group(path, group) for place, _, path in places):
            where = group.github_org or group.gitlab_group or ""
            yield SyncProblem(where, "it lists no repositories, but some are indexed: check that the token is valid")


def _wanted(settings: SettingsModel, list_hosted: ListGroup) -> _Found:
    """Return the named repositories by identity; individual rules take precedence over a group's rules."""
    found = _Found()
    for rules in settings.repositories:
        try:
            wanted = WantedRepository(parse_origin(rules.origin), rules.name, rules)
        except CodequarryError as error:
            found.problems.append(SyncProblem(str(without_accounts(rules.origin)), str(error)))
            continue
        found.wanted[wanted.origin.identity] = wanted
    for group in settings.repository_groups:
        try:
            listed = list_hosted(group, settings)
            found.empty += [] if listed else [group]
            for hosted in listed:
                origin = parse_origin(hosted.origin)
                found.wanted.setdefault(origin.identity, WantedRepository(origin, None, group))
        except CodequarryError as error:
            found.problems.append(SyncProblem(group.github_org or group.gitlab_group or "", str(error)))
    return found


def _actions(
    store: DocumentStore, head: Head, settings: SettingsModel, wanted: WantedRepository, prune: bool
) -> Iterator[Action]:
    known = find_repository(store, wanted.origin, wanted.name)
    if known is None:
        check_name(store, wanted.origin, wanted.name)
        name = wanted.name or wanted.origin.name
        yield Action("add", name, wanted.origin.url, new_name=wanted.name or "")
        new = Repository(name, wanted.origin.url, "")
        for change in survey(new, Head(), settings, wanted.rules):
            if change.ref:
                yield _index(new, change)
        return
    if wanted.name and known.name != wanted.name:
        if read_repository(store, wanted.name):
            raise UsageError(f"it is indexed as '{known.name}', but another repository is called '{wanted.name}'")
        yield Action("rename", known.name, known.origin, new_name=wanted.name)
    shown = replace(known, name=wanted.name or known.name)
    leaving = {ref for ref in indexed_refs(head, known.name) if prune and not is_named(wanted.rules, ref)}
    for change in survey(known, head, settings, wanted.rules):
        if change.ref not in leaving:
            yield _index(shown, change)
    for ref in sorted(leaving, key=lambda ref: ref.key):
        yield Action("remove", shown.name, known.origin, ref.key)


def _index(repository: Repository, change: ChangedVersion) -> Action:
    return Action("index", repository.name, repository.origin, change.key, change.commit)


def _removals(catalog: Sequence[Repository], wanted: Mapping[str, WantedRepository]) -> list[Action]:
    unnamed = (repository for repository in catalog if _identity(repository) not in wanted)
    return [Action("remove", repository.name, repository.origin) for repository in unnamed]


def _identity(repository: Repository) -> str:
    return origin_of_record(repository.origin).identity


def submit_action(store: DocumentStore, action: Action) -> Job:
    """Submit one step of a plan, except "rename" (``ingest/run/rename.py``), and return its job."""
    origin = parse_origin(action.origin)
    ref = Ref.of_key(action.ref) if action.ref else None
    if action.action == "remove":
        return _submit_removal(store, action, ref)
    repository, _ = claim(store, origin, action.new_name or None, "")
    priority = PRIORITIES["change" if repository.name in read_head(store).defaults else "import"]
    return submit(store, version_request(repository, ref, "sync", priority, action.commit))[0]


def _submit_removal(store: DocumentStore, action: Action, ref: Ref | None) -> Job:
    if ref is None:
        cancel_jobs_of(store, action.repo)
    request = version_request(Repository(action.repo, action.origin, ""), ref, "sync", PRIORITIES["change"])
    return submit(store, replace(request, kind="remove"))[0]
