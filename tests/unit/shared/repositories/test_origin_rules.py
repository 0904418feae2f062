"""Rules for origins that a request may name."""

import subprocess

import pytest

from codequarry.shared.errors import UsageError
from codequarry.shared.repositories.origin_rules import accepted_origin, allowed_addresses
from codequarry.shared.settings.config import ApiSettings, SettingsModel
from codequarry.shared.settings.git import GitSettings

PUBLIC = "93.184.216.34"


def resolve_to(*addresses):
    return lambda host, port: addresses


def accept(text, *addresses, roots=(), **git):
    settings = SettingsModel(git=GitSettings(**git), api=ApiSettings(local_roots=roots))
    return accepted_origin(text, settings, resolve_to(*(addresses or (PUBLIC,))))


@pytest.mark.parametrize(
    "origin",
    ["https://example.org/a/b", "https://example.org:8443/a/b.git", "ssh://git@example.org/a", "git@example.org:a/b"],
)
def test_a_public_repository_may_be_named(origin):
    assert accept(f" {origin} ") == origin


@pytest.mark.parametrize(
    "origin", ["http://example.org/a", "git://example.org/a", "ext::sh -c id", "ext://x/y", "ftp://example.org/a"]
)
def test_other_schemes_are_refused(origin):
    with pytest.raises(UsageError):
        accept(origin)


def test_a_scheme_can_be_allowed():
    assert accept("http://example.org/a", allowed_schemes=("http",))
    with pytest.raises(UsageError, match="allowed_schemes: http"):
        accept("https://example.org/a", allowed_schemes=("http",))


@pytest.mark.parametrize(
    "text", ["", " ", "-u", "--upload-pack=id", "https://e.org/a\nb", "https://e.org/a b", "https://"]
)
def test_text_that_is_not_a_url_is_refused(text):
    with pytest.raises(UsageError):
        accept(text)


@pytest.mark.parametrize("account", ["https://user:hunter2@example.org/a", "https://hunter2@example.org/a"])
def test_credentials_in_the_url_are_refused_and_not_shown(account):
    with pytest.raises(UsageError) as refused:
        accept(account)
    assert "hunter2" not in str(refused.value)


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1", "10.1.2.3", "172.16.0.1", "192.168.1.1", "169.254.169.254", "0.0.0.0", "100.64.0.1", "224.0.0.1",
        "::1", "fe80::1%eth0", "fd00::1", "::ffff:127.0.0.1", "2002:7f00:0001::1", "::",
        "64:ff9b::10.0.0.1", "::10.0.0.1", "2001:0:a00:1::1",
    ],
)  # fmt: skip
def test_a_private_address_is_refused_and_not_shown(address):
    with pytest.raises(UsageError, match="private network") as refused:
        accept("https://git.example.org/a", PUBLIC, address)
    assert address not in str(refused.value)


def test_a_private_network_can_be_allowed():
    assert accept("https://git.corp/a", "10.1.2.3", private_networks=("10.0.0.0/8",))
    with pytest.raises(UsageError):
        accept("https://git.corp/a", "192.168.1.1", private_networks=("10.0.0.0/8",))


@pytest.mark.parametrize(
    "host",
    ["exämple.org", "127%2e0.0.1", "a%2eexample.org", "example.org.", "exa\u3002mple.org", "ex\\ample.org", "-x.org"],
)
@pytest.mark.parametrize("form", ["https://{}/a", "git@{}:a"])
def test_a_host_that_git_may_parse_differently_is_refused(host, form):
    """Git is pinned to the addresses of this host; it would resolve another name again."""
    with pytest.raises(UsageError, match=r"originUri|host"):
        accept(form.format(host))


@pytest.mark.parametrize("address", ["2606:4700::1111", "64:ff9b::8.8.8.8"])
def test_a_public_ipv6_address_is_accepted(address):
    assert accept("https://[2606:4700::1111]/a", address)
    assert accept("https://xn--exmple-cua.org/a", address)


def test_this_machine_can_be_allowed():
    assert accept("https://localhost/a", "::1", private_networks=("::1/128",))


def test_hosts_can_be_limited():
    assert accept("git@code.example.org:a/b", allowed_hosts=("*.example.org",))
    with pytest.raises(UsageError, match="allowed_hosts"):
        accept("https://example.com/a", allowed_hosts=("*.example.org", "example.org"))


def test_local_paths_must_resolve_to_a_place_below_a_root(tmp_path):
    root, outside = tmp_path / "root", tmp_path / "outside"
    for folder in (root / "project", outside):
        folder.mkdir(parents=True)
    (root / "link").symlink_to(outside)
    assert accept(str(root / "project"), roots=(root,)) == str(root / "project")
    assert accept(f"file://{root}/project", roots=(root,)) == str(root / "project")
    refused = []
    for path in (outside, root / "link", root / ".." / "outside", "relative", "~", root.parent / "nothing"):
        with pytest.raises(UsageError) as error:
            accept(str(path), roots=(root,))
        refused.append(str(error.value))
    assert len(set(refused)) == 1, "the message must not reveal what exists"
    with pytest.raises(UsageError, match="local_roots"):
        accept(str(root / "project"))


@pytest.fixture
def root(tmp_path):
    """Return a root with a checkout; beside it lies a repository that no request may name."""
    for place in ("root/project", "hidden"):
        subprocess.run(["git", "init", "--quiet", str(tmp_path / place)], check=True)
    return tmp_path / "root"


def test_a_git_folder_outside_the_roots_is_refused(root):
    hidden = root.parent / "hidden" / ".git"
    for name in ("by-link", "by-file", "by-common-folder"):
        (root / name).mkdir()
    (root / "by-link" / ".git").symlink_to(hidden)
    (root / "by-file" / ".git").write_text(f"gitdir: {hidden}\n")
    (root / "by-common-folder" / ".git").mkdir()
    (root / "by-common-folder" / ".git" / "commondir").write_text(f"{hidden}\n")
    for name in ("by-link", "by-file", "by-common-folder"):
        with pytest.raises(UsageError, match="local_roots"):
            accept(str(root / name), roots=(root,))
        assert accept(str(root / name), roots=(root, root.parent / "hidden"))


def test_objects_outside_the_roots_are_refused(root):
    hidden = root.parent / "hidden" / ".git" / "objects"
    project = root / "project" / ".git" / "objects"
    assert accept(str(root / "project"), roots=(root,))
    (project / "info" / "alternates").write_text(f"# shared\n{hidden}\n")
    with pytest.raises(UsageError, match="local_roots"):
        accept(str(root / "project"), roots=(root,))
    (project / "info" / "alternates").unlink()
    (project / "pack").rmdir()
    (project / "pack").symlink_to(hidden / "pack")
    with pytest.raises(UsageError, match="local_roots"):
        accept(str(root / "project"), roots=(root,))


def test_worktrees_and_alternates_below_a_root_are_accepted(root):
    project = root / "project"
    commit = ("-c", "user.name=x", "-c", "user.email=x@example.org", "commit", "--quiet", "--allow-empty", "-m", "x")
    for command in (
        commit,
        ("worktree", "add", "--quiet", "../tree"),
        ("clone", "--quiet", "--shared", ".", "../copy"),
    ):
        subprocess.run(["git", "-C", str(project), *command], check=True, capture_output=True)
    for name in ("tree", "copy"):
        assert accept(str(root / name), roots=(root,)) == str(root / name)


def test_circular_links_are_refused(root):
    (root / "circle").symlink_to(root / "circle")
    with pytest.raises(UsageError, match="local_roots"):
        accept(str(root / "circle"), roots=(root,))


def test_a_host_without_an_address_is_refused():
    with pytest.raises(UsageError, match="no address"):
        allowed_addresses("nowhere.invalid", 443, SettingsModel())


def test_an_invalid_network_is_a_wrong_setting():
    with pytest.raises(ValueError, match="private_networks"):
        GitSettings(private_networks=("10.0.0.0/99",))
