import pytest

from codequarry.search_api.search.code_owners import owners_of, parse_code_owners

FILE = """\
# Everything else
*               @org/all
*.go            @go-owner  # in any folder
/docs/          docs@example.org
apps/           @octocat
docs/flat/*     @flat
/build/logs/    @one @two
/scripts/free
!not/understood @nobody
with\\ space/    @space
[               @broken
"""


@pytest.mark.parametrize(
    ("path", "owners"),
    [
        ("README", ("@org/all",)),
        ("src/deep/x.go", ("@go-owner",)),
        ("docs/x.go", ("docs@example.org",)),
        ("src/docs/x.md", ("@org/all",)),
        ("src/apps/x.go", ("@octocat",)),
        ("docs/flat/a.md", ("@flat",)),
        ("docs/flat/deep/a.md", ("docs@example.org",)),
        ("build/logs/a/b.txt", ("@one", "@two")),
        ("scripts/free/x.py", ()),
        ("with space/x", ("@space",)),
    ],
)
def test_the_last_matching_pattern_names_the_owners(path, owners):
    assert owners_of(path, parse_code_owners(FILE)) == owners


def test_each_section_has_its_own_last_pattern_and_its_own_owners():
    rules = parse_code_owners("* @all\n[Docs][2] @writers\n*.md\ndocs/ @docs\n^[Data] @data\n*.sql @dba\n")
    assert owners_of("docs/a.md", rules) == ("@all", "@docs")
    assert owners_of("a.md", rules) == ("@all", "@writers")
    assert owners_of("a.sql", rules) == ("@all", "@dba")
    assert owners_of("a.py", rules) == ("@all",)


def test_an_empty_file_names_nobody():
    assert owners_of("a.py", parse_code_owners("")) == ()
