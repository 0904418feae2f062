"""Events from GitHub, Gitea and Forgejo, whose payloads are nearly the same."""

from codequarry.search_api.webhooks.events import (
    Event,
    IgnoredEvent,
    NamedRepository,
    Parsed,
    Payload,
    branch_name,
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
# The commit that a push gives for a deleted ref.
NOTHING = "0" * 40


def read_hub_event(event: str, body: Payload) -> Parsed:
    """Return the event of a delivery, which ``X-GitHub-Event`` or ``X-Gitea-Event`` names; may raise UsageError."""
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
        return IgnoredEvent(event, "it concerns neither a branch nor a tag")
    if event == "create":
        return Event(event, _place(body), ref, "moved", commit_of(text(body, "sha")))
    return Event(event, _place(body), ref, "deleted", NOTHING)


def _pull_request(event: str, body: Payload) -> Parsed:
    action = required(body, "action")
    name = f"{event} {action}"
    pull = table(body, "pull_request")
    if action == "closed":
        return Event(name, _place(body), pull_ref(pull.get("number")), "closed")
    has_new_target = action == "edited" and bool(table(table(body, "changes"), "base"))
    if action not in MOVING and not has_new_target:
        return IgnoredEvent(name, "it changes no code")
    commit, target = commit_of(text(pull, "head", "sha")), branch_name(text(pull, "base", "ref"))
    return Event(name, _place(body), pull_ref(pull.get("number")), "moved", commit, target=target)
