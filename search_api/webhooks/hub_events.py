"""Deliveries of GitHub, and of Gitea and Forgejo, which speak the same language with an accent."""

from codequarry.search_api.webhooks.events import (
    Event,
    NamedRepository,
    Parsed,
    Payload,
    IgnoredEvent,
    commit_of,
    named_ref,
    pull_ref,
    pushed,
    required,
    table,
    text,
    texts,
)

# `synchronize` is GitHub's word, `synchronized` Gitea's.
MOVING = frozenset({"opened", "reopened", "synchronize", "synchronized"})
# A commit that does not exist, as pushes write it.
NOTHING = "0" * 40


def read_hub_event(event: str, body: Payload) -> Parsed:
    """Read a delivery by the name in ``X-GitHub-Event`` or ``X-Gitea-Event``; UsageError where something is missing."""
    if event == "ping":
        return IgnoredEvent(event, "the hook works")
    if event == "push":
        return pushed(event, _place(body), required(body, "ref"), required(body, "after"))
    if event in ("create", "delete"):
        return _created_or_deleted(event, body)
    if event == "pull_request":
        return _pull_request(event, body)
    if event == "repository" and table(table(body, "changes"), "default_branch"):
        return Event("repository edited", _place(body), None, "moved")
    return IgnoredEvent(event, f"the event '{event}' does not concern the index")


def _place(body: Payload) -> NamedRepository:
    repository = table(body, "repository")
    origins = texts(repository, "clone_url", "ssh_url", "git_url", "html_url")
    return NamedRepository(origins, text(repository, "default_branch"))


def _created_or_deleted(event: str, body: Payload) -> Parsed:
    ref = named_ref(text(body, "ref_type"), required(body, "ref"))
    if ref is None:
        return IgnoredEvent(event, "it is about no branch and no tag")
    if event == "create":
        return Event(event, _place(body), ref, "moved", commit_of(text(body, "sha")))
    return Event(event, _place(body), ref, "deleted", NOTHING)


def _pull_request(event: str, body: Payload) -> Parsed:
    action = required(body, "action")
    name = f"{event} {action}"
    pull = table(body, "pull_request")
    if action == "closed":
        return Event(name, _place(body), pull_ref(pull.get("number")), "closed")
    if action not in MOVING:
        return IgnoredEvent(name, "it changes no code")
    return Event(name, _place(body), pull_ref(pull.get("number")), "moved", commit_of(text(pull, "head", "sha")))
