"""Deliveries of GitLab: of a project, a group, or the whole server."""

from codequarry.search_api.webhooks.events import (
    Body,
    Event,
    Parsed,
    Place,
    Unconcerned,
    commit_of,
    pull_ref,
    pushed,
    required,
    table,
    text,
    texts,
)

PUSHES = frozenset({"push", "tag_push"})
CLOSING = frozenset({"close", "merge"})


def read_gitlab(body: Body) -> Parsed:
    """Read a delivery by its ``object_kind``, or ``event_name`` from a system hook; UsageError where all is missing."""
    kind = text(body, "object_kind") or required(body, "event_name")
    if kind in PUSHES:
        return pushed(kind, _place(body), required(body, "ref"), required(body, "after"))
    if kind == "merge_request":
        return _merge_request(body)
    return Unconcerned(kind, f"the event '{kind}' does not concern the index")


def _place(body: Body) -> Place:
    project = table(body, "project")
    origins = texts(project, "git_http_url", "git_ssh_url", "http_url", "ssh_url", "web_url")
    return Place(origins, text(project, "default_branch"))


def _merge_request(body: Body) -> Parsed:
    request = table(body, "object_attributes")
    action = text(request, "action")
    name = f"merge_request {action}".rstrip()
    if action in CLOSING:
        return Event(name, _place(body), pull_ref(request.get("iid")), "closed")
    # An update without `oldrev` is one of title or labels.
    if action not in ("open", "reopen") and not (action == "update" and text(request, "oldrev")):
        return Unconcerned(name, "it changes no code")
    return Event(
        name, _place(body), pull_ref(request.get("iid")), "moved", commit_of(text(request, "last_commit", "id"))
    )
