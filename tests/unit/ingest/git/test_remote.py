import pytest

from codequarry.ingest.git.remote import Listing, origin_refs
from codequarry.shared.errors import UsageError
from codequarry.shared.versions.refs import Ref, check_ref


@pytest.mark.parametrize(
    "name",
    ["main", "feature/x", "v1.2-rc.1", "ünï", "a+b", "@", "release#3", "x'y", "-x", "--upload-pack=x", "caf\\xe9"],
)
@pytest.mark.parametrize("kind", ["branch", "tag"])
def test_names_that_git_allows_are_accepted(kind, name):
    check_ref(Ref(kind, name))


@pytest.mark.parametrize(
    "name",
    ["", "/a", "a/", "a//b", "a..b", "a.lock", "a.", ".a", "a/.b", "a b", "a\tb", "a\nb",
     "a~1", "a^{}", "a:b", "a*", "a?", "a[b", "a\\b", "a\\x41", "a\\xE9", "a\udce9", "a@{1}", "a\0b", "a\x7f"],
)  # fmt: skip
@pytest.mark.parametrize("kind", ["branch", "tag"])
def test_names_that_git_refuses_are_refused(kind, name):
    with pytest.raises(UsageError, match=f"is not the name of a {kind}"):
        check_ref(Ref(kind, name))


@pytest.mark.parametrize("number", ["0", "-1", "1a", "", "1/head", "9" * 30])
def test_a_pull_request_is_a_number(number):
    check_ref(Ref("pull", "12"))
    with pytest.raises(UsageError, match="is not the number of a pull request"):
        check_ref(Ref("pull", number))


def test_an_annotated_tag_is_peeled():
    tag = Ref("tag", "v1")
    assert Listing(tips={"refs/tags/v1": "a" * 40}).tip_of(tag) == "a" * 40
    assert Listing(tips={"refs/tags/v1": "a" * 40, "refs/tags/v1^{}": "b" * 40}).tip_of(tag) == "b" * 40


def test_a_pull_request_can_be_a_merge_request():
    pull = Ref("pull", "7")
    listing = Listing(tips={"refs/merge-requests/7/head": "a" * 40})
    assert (listing.tip_of(pull), listing.source_of(pull)) == ("a" * 40, "refs/merge-requests/7/head")
    assert Listing().tip_of(pull) is None


def test_only_named_versions_are_requested_from_the_origin():
    assert origin_refs(Ref("commit", "a" * 40)) == ()
    assert origin_refs(Ref("workspace", "/x")) == ()
