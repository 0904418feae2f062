"""Parsing of deliveries in the formats that code hosts document."""

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
def test_changes_of_versions_are_parsed(parsed, ref, change, commit):
    assert isinstance(parsed, Event)
    assert (parsed.ref, parsed.change, parsed.commit, parsed.asked) == (ref, change, commit, False)
    assert parsed.place.default_branch == "main"
    assert {"https://host/owner/core.git", "git@host:owner/core.git"} <= set(parsed.place.origins)


@pytest.mark.parametrize(
    ("parsed", "target"),
    [
        (hub("pull_request", action="opened", pull_request={"number": 7, "base": {"ref": "release/2"}}), "release/2"),
        (
            hub(
                "pull_request",
                action="edited",
                changes={"base": {"ref": {"from": "main"}}},
                pull_request={"number": 7, "base": {"ref": "next"}},
            ),
            "next",
        ),
        (hub("pull_request", action="opened", pull_request={"number": 7, "base": {"ref": "a..b"}}), ""),
        (hub("pull_request", action="opened", pull_request={"number": 7}), ""),
        (lab("merge_request", object_attributes={"iid": 7, "action": "open", "target_branch": "next"}), "next"),
        (
            lab(
                "merge_request",
                changes={"target_branch": {"previous": "main", "current": "next"}},
                object_attributes={"iid": 7, "action": "update", "target_branch": "next"},
            ),
            "next",
        ),
        (hub("push", ref="refs/heads/dev", after=C1), ""),
    ],
)
def test_the_target_of_a_pull_request_is_read(parsed, target):
    assert isinstance(parsed, Event)
    assert (parsed.change, parsed.target) == ("moved", target)


def test_a_gitlab_system_hook_is_read_like_a_project_hook():
    body = {"event_name": "push", "project": PROJECT, "ref": "refs/heads/main", "after": C1}
    assert read_gitlab(NO_HEADERS, body) == lab("push", ref="refs/heads/main", after=C1)


@pytest.mark.parametrize(
    ("parsed", "reason"),
    [
        (hub("ping"), "works"),
        (hub("repository", action="edited", changes={"description": {"from": "x"}}), "does not concern"),
        (hub("issues", action="opened"), "'issues' does not concern"),
        (hub("pull_request", action="labeled", pull_request={"number": 7}), "changes no code"),
        (hub("pull_request", action="edited", changes={"title": {}}, pull_request={"number": 7}), "changes no code"),
        (hub("push", ref="refs/notes/x", after=C1), "neither a branch nor a tag"),
        (hub("create", ref="core", ref_type="repository"), "neither a branch nor a tag"),
        (lab("note"), "'note' does not concern"),
        (lab("merge_request", object_attributes={"iid": 7, "action": "update"}), "changes no code"),
        (lab("merge_request", object_attributes={"iid": 7, "action": "approved"}), "changes no code"),
    ],
)
def test_a_delivery_that_is_ignored_has_a_reason(parsed, reason):
    assert isinstance(parsed, IgnoredEvent)
    assert reason in parsed.reason


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
def test_an_invalid_delivery_is_refused(read):
    with pytest.raises(UsageError):
        read()


def test_a_generic_delivery_names_repository_version_and_commit():
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
