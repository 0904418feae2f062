"""What deliveries say, in the shapes that code hosts document."""

import pytest
from werkzeug.datastructures import Headers

from codequarry.search_api.webhooks.events import Event, IgnoredEvent
from codequarry.search_api.webhooks.generic import read_generic
from codequarry.search_api.webhooks.gitlab import read_gitlab
from codequarry.search_api.webhooks.hub_events import read_hub_event
from codequarry.shared.errors import UnknownName, UsageError
from codequarry.shared.versions.refs import Ref

NO_HEADERS = Headers()
C1, GONE = "1" * 40, "0" * 40
REPOSITORY = {
    "clone_url": "https://host/owner/core.git",
    "ssh_url": "git@host:owner/core.git",
    "html_url": "https://host/owner/core",
    "default_branch": "main",
}
PROJECT = {
    "git_http_url": "https://host/owner/core.git",
    "git_ssh_url": "git@host:owner/core.git",
    "default_branch": "main",
}


def hub(event, **fields):
    return read_hub_event(event, {"repository": REPOSITORY, **fields})


def lab(kind, **fields):
    return read_gitlab(NO_HEADERS, {"object_kind": kind, "project": PROJECT, **fields})


@pytest.mark.parametrize(
    ("parsed", "ref", "change", "commit"),
    [
        (hub("push", ref="refs/heads/dev/x", after=C1), Ref("branch", "dev/x"), "moved", C1),
        (hub("push", ref="refs/tags/v1", after=C1), Ref("tag", "v1"), "moved", C1),
        (hub("push", ref="refs/heads/dev", after=GONE, deleted=True), Ref("branch", "dev"), "deleted", GONE),
        (hub("create", ref="dev", ref_type="branch"), Ref("branch", "dev"), "moved", ""),
        (hub("create", ref="refs/heads/dev", ref_type="branch", sha=C1), Ref("branch", "dev"), "moved", C1),
        (hub("delete", ref="v1", ref_type="tag"), Ref("tag", "v1"), "deleted", GONE),
        (hub("repository", action="edited", changes={"default_branch": {"from": "trunk"}}), None, "moved", ""),
        (
            hub("pull_request", action="opened", pull_request={"number": 7, "head": {"sha": C1}}),
            Ref("pull", "7"),
            "moved",
            C1,
        ),
        (
            hub("pull_request", action="synchronized", pull_request={"number": 7, "head": {"sha": C1}}),
            Ref("pull", "7"),
            "moved",
            C1,
        ),
        (hub("pull_request", action="closed", pull_request={"number": 7}), Ref("pull", "7"), "closed", ""),
        (lab("push", ref="refs/heads/dev", after=C1), Ref("branch", "dev"), "moved", C1),
        (lab("tag_push", ref="refs/tags/v1", after=GONE), Ref("tag", "v1"), "deleted", GONE),
        (
            lab("merge_request", object_attributes={"iid": 7, "action": "open", "last_commit": {"id": C1}}),
            Ref("pull", "7"),
            "moved",
            C1,
        ),
        (
            lab("merge_request", object_attributes={"iid": 7, "action": "update", "oldrev": GONE}),
            Ref("pull", "7"),
            "moved",
            "",
        ),
        (lab("merge_request", object_attributes={"iid": 7, "action": "merge"}), Ref("pull", "7"), "closed", ""),
    ],
)
def test_a_version_that_changed(parsed, ref, change, commit):
    assert isinstance(parsed, Event)
    assert (parsed.ref, parsed.change, parsed.commit, parsed.asked) == (ref, change, commit, False)
    assert parsed.place.default_branch == "main"
    assert {"https://host/owner/core.git", "git@host:owner/core.git"} <= set(parsed.place.origins)


def test_a_system_hook_of_gitlab_is_read_like_that_of_a_project():
    body = {"event_name": "push", "project": PROJECT, "ref": "refs/heads/main", "after": C1}
    assert read_gitlab(NO_HEADERS, body) == lab("push", ref="refs/heads/main", after=C1)


@pytest.mark.parametrize(
    ("parsed", "says"),
    [
        (hub("ping"), "works"),
        (hub("repository", action="edited", changes={"description": {"from": "x"}}), "does not concern"),
        (hub("issues", action="opened"), "'issues' does not concern"),
        (hub("pull_request", action="labeled", pull_request={"number": 7}), "changes no code"),
        (hub("push", ref="refs/notes/x", after=C1), "no branch and no tag"),
        (hub("create", ref="core", ref_type="repository"), "no branch and no tag"),
        (lab("note"), "'note' does not concern"),
        (lab("merge_request", object_attributes={"iid": 7, "action": "update"}), "changes no code"),
        (lab("merge_request", object_attributes={"iid": 7, "action": "approved"}), "changes no code"),
    ],
)
def test_what_does_not_concern_the_index_has_a_reason(parsed, says):
    assert isinstance(parsed, IgnoredEvent)
    assert says in parsed.reason


@pytest.mark.parametrize(
    "read",
    [
        lambda: hub("push"),
        lambda: hub("push", ref=3, after=C1),
        lambda: hub("push", ref="refs/heads/a..b", after=C1),
        lambda: hub("push", ref="refs/heads/--upload-pack=x y", after=C1),
        lambda: hub("push", ref="refs/heads/\0", after=C1),
        lambda: hub("pull_request", action="opened", pull_request={"number": True}),
        lambda: hub("pull_request", action="opened", pull_request=[]),
        lambda: hub("pull_request", action="closed", pull_request={"number": -1}),
        lambda: read_gitlab(NO_HEADERS, {}),
        lambda: lab("push"),
        lambda: lab("merge_request", object_attributes={"iid": "7", "action": "open"}),
    ],
)
def test_junk_is_a_clear_refusal(read):
    with pytest.raises(UsageError):
        read()


def test_anybody_can_say_that_a_version_moved():
    event = read_generic(NO_HEADERS, {"repo": "core", "ref": "main", "commit": C1.upper()})
    assert (event.place.name, event.ref, event.alternatives) == ("core", Ref("branch", "main"), (Ref("tag", "main"),))
    assert (event.commit, event.asked) == (C1, True)
    assert read_generic(NO_HEADERS, {"originUri": "https://host/a/b"}).ref is None
    assert read_generic(NO_HEADERS, {"repo": "core", "ref": "refs/tags/v1"}).ref == Ref("tag", "v1")
    assert read_generic(NO_HEADERS, {"repo": "core", "ref": "pull/12"}).ref == Ref("pull", "12")


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"repo": "core", "originUri": "https://host/a"},
        {"repo": 3},
        {"repo": "core", "ref": ["main"]},
        {"repo": "core", "commit": "abc"},
        {"repo": "core", "ref": "workspace/home"},
        {"repo": "core", "ref": "pull/x"},
        {"repo": "core", "ref": "a b"},
    ],
)
def test_a_wrong_generic_body_is_refused(body):
    with pytest.raises(UsageError):
        read_generic(NO_HEADERS, body)


def test_an_unknown_field_is_named():
    with pytest.raises(UnknownName, match="branch"):
        read_generic(NO_HEADERS, {"repo": "core", "branch": "main"})
