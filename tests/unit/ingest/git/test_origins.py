import pytest

from codequarry.ingest.git.origins import fit_name, origin_of_record, parse_origin
from codequarry.shared.errors import CodequarryError, GitError, UsageError
from codequarry.shared.origins import NAME, origin_identity

SPELLINGS = [
    "https://github.com/owner/project",
    "https://github.com/owner/project.git",
    "https://GitHub.com/owner/project/",
    "https://github.com:443/owner/project.git",
    "http://someone@github.com/owner/project",
    "https://someone:secret@github.com/owner/project",
    "ssh://git@github.com/owner/project.git",
    "ssh://git@github.com:22/owner/project",
    "git@github.com:owner/project.git",
    "git@GITHUB.com:/owner/project",
    "git://github.com/owner/project",
]


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_scheme_user_host_case_and_suffix_do_not_change_the_identity(spelling):
    assert parse_origin(spelling).identity == "github.com/owner/project"
    assert origin_identity(spelling) == "github.com/owner/project"


@pytest.mark.parametrize(
    "other",
    ["https://github.com/Owner/project", "https://github.com:8443/owner/project", "https://gitlab.com/owner/project"],
)
def test_path_port_and_host_change_the_identity(other):
    assert parse_origin(other).identity != "github.com/owner/project"


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_a_secret_is_neither_stored_nor_shown(spelling):
    origin = parse_origin(spelling)
    assert "secret" not in origin.url
    assert "secret" not in repr(origin)
    assert "someone" not in origin.url


def test_credentials_in_a_url_are_kept_for_git():
    origin = parse_origin("https://some%40one:se%2Fcret@host.example/a/b")
    assert origin.credentials is not None
    assert (origin.credentials.user, origin.credentials.secret) == ("some@one", "se/cret")


def test_the_ssh_user_stays_in_the_url():
    assert parse_origin("ssh://git:secret@host.example/a/b.git").url == "ssh://git@host.example/a/b.git"
    assert parse_origin("git@host.example:a/b.git").url == "git@host.example:a/b.git"


def test_a_folder_has_one_identity_in_any_spelling(make_repository, tmp_path, monkeypatch):
    repository = make_repository(files={"a.txt": "a"})
    link = tmp_path / "link"
    link.symlink_to(repository.folder)
    monkeypatch.chdir(repository.folder)
    spellings = [repository.origin, str(link), ".", f"file://{repository.folder}", f"{repository.folder}/.git"]
    assert {parse_origin(spelling).identity for spelling in spellings} == {f"file:{repository.folder}"}
    assert parse_origin(".").name == "project"


def test_a_folder_without_a_repository_is_an_error(tmp_path):
    with pytest.raises(GitError, match=r"is not a git repository$"):
        parse_origin(str(tmp_path))


def test_a_folder_inside_a_repository_names_the_repository(make_repository):
    repository = make_repository(files={"src/a.txt": "a"})
    with pytest.raises(GitError, match=f"it is inside the repository {repository.folder}: index that"):
        parse_origin(str(repository.folder / "src"))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "give the path"),
        ("--upload-pack=evil", "write ./--upload-pack=evil"),
        ("/no/such/folder", "does not exist"),
        ("github.com/owner/project", "write https://github.com/owner/project"),
        ("ext::sh -c evil", "does not exist"),
        ("ftp://host/a", "use one of https"),
        ("ext://host/a", "use one of https"),
        ("https://host/", "no repository"),
        ("https:///a/b", "names no host"),
        ("ssh://-oProxyCommand=evil/a", "names no host"),
        ("-oProxyCommand=evil:a", "is not a repository"),
        ("git@-oProxyCommand=evil:a", "must not begin with '-'"),
        ("https://host/a?private_token=secret", "CODEQUARRY_GIT__TOKEN"),
        ("https://user:sec:ret@host:port/a", "malformed"),
        ("https://[::1/a", "malformed"),
        ("a\0b", "does not exist"),
        ("x" * 5000, "does not exist"),
    ],
)
def test_an_invalid_origin_is_a_one_line_error_with_a_remedy(text, message):
    with pytest.raises(CodequarryError) as caught:
        parse_origin(text)
    assert message in str(caught.value)
    assert "secret" not in str(caught.value)
    assert "\n" not in str(caught.value)


def test_an_invalid_origin_and_a_missing_repository_are_different_errors():
    with pytest.raises(UsageError):
        parse_origin("https://host/")
    with pytest.raises(GitError):
        parse_origin("/no/such/folder")


@pytest.mark.parametrize(
    ("origin", "name"),
    [
        ("https://host/owner/Some.Project.git", "Some.Project"),
        ("git@host:project", "project"),
        ("https://host/owner/na%20me", "na-20me"),
        ("https://host/~user/.git", "user"),
    ],
)
def test_the_name_is_the_last_part_of_the_path_without_invalid_characters(origin, name):
    assert parse_origin(origin).name == name
    assert NAME.fullmatch(name)


def test_a_name_without_valid_characters_is_empty():
    assert fit_name("--..--") == ""


@pytest.mark.parametrize("url", ["/gone/project", "https://host/a/b", "git@host:a/b.git", "ssh://git@host:99/a/b"])
def test_a_stored_origin_is_read_even_if_it_no_longer_exists(url):
    origin = origin_of_record(url)
    assert origin.url == url
    assert origin.identity == origin_identity(url)
