import pytest

from codequarry.shared.errors import UsageError
from codequarry.shared.versions.refs import Ref, commit_digits


@pytest.mark.parametrize(
    ("ref", "key", "name"),
    [
        (Ref("branch", "feature/x"), "refs/heads/feature/x", "feature/x"),
        (Ref("tag", "v1.2"), "refs/tags/v1.2", "v1.2"),
        (Ref("pull", "12"), "refs/pull/12", "pull/12"),
        (Ref("commit", "ab" * 20), "commit/" + "ab" * 20, "commit/" + "ab" * 20),
        (Ref("workspace", "/home/me/x"), "workspace//home/me/x", "workspace:/home/me/x"),
    ],
)
def test_a_version_has_a_key_for_the_index_and_a_name_for_people(ref, key, name):
    assert (ref.key, ref.name) == (key, name)
    assert Ref.of_key(key) == ref
    assert ref.answers_to(key)
    assert ref.answers_to(name)
    assert not ref.answers_to("other")


def test_a_key_without_a_kind_is_refused():
    with pytest.raises(ValueError, match="is not the key of a version"):
        Ref.of_key("main")


def test_a_commit_has_at_least_seven_digits():
    assert commit_digits("ABCDEF0") == "abcdef0"
    for wrong in ("abcdef", "abcdefg", "", "g" * 40, "a" * 65):
        with pytest.raises(UsageError, match="hexadecimal digits"):
            commit_digits(wrong)
