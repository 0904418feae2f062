import pytest

from codequarry.search_api.query.language import Clause, kind_field, language_id, parse_query
from codequarry.shared.errors import UnknownName, UsageError


def test_plain_text_only_loses_extra_blanks():
    parsed = parse_query("  where are   jobs retried? ")
    assert parsed.text == "where are jobs retried?"
    assert parsed.clauses == parsed.phrases == ()


def test_filters_are_removed_from_the_text_and_phrases_stay():
    parsed = parse_query('retry "exact words" repo:core -path:tests/ lang:"c++" later')
    assert parsed.text == "retry exact words later"
    assert parsed.phrases == ("exact words",)
    assert parsed.clauses == (
        Clause("repo", "core"),
        Clause("path", "tests/", negated=True),
        Clause("lang", "c++"),
    )


def test_aliases_stand_for_the_filter():
    assert parse_query("language:go file:main.go").clauses == (
        Clause("lang", "go"),
        Clause("path", "main.go"),
    )


@pytest.mark.parametrize("value", ["v1.2", "pull/12", "workspace:/home/me/project", "refs/heads/main", "12ab34c"])
def test_a_version_may_contain_digits_colons_and_slashes(value):
    assert parse_query(f"retry ref:{value}").clauses == (Clause("ref", value),)


def test_filters_of_commits_take_days_and_quoted_values():
    parsed = parse_query('type:commit retry author:"Ada Lovelace" since:2024-05-31 before:"2 weeks ago"')
    assert parsed.text == "retry"
    assert parsed.clauses == (
        Clause("type", "commit"),
        Clause("author", "Ada Lovelace"),
        Clause("since", "2024-05-31"),
        Clause("until", "2 weeks ago"),
    )


def test_a_type_in_code_is_text_unless_it_is_one_of_ours():
    assert parse_query("{ type:string, other:number }").clauses == ()
    assert parse_query("retry(x) type:diff").clauses == (Clause("type", "diff"),)


@pytest.mark.parametrize("clause", [Clause("ref", "*"), Clause("branch", "feature/*"), Clause("tag", "v2.?")])
def test_patterns_of_versions_are_values_of_filters(clause):
    parsed = parse_query(f"retry {clause.word}:{clause.value}")
    assert (parsed.text, parsed.clauses) == ("retry", (clause,))


def test_an_unknown_filter_is_named_with_the_known_ones():
    with pytest.raises(UnknownName) as caught:
        parse_query("retry lange:go")
    assert caught.value.name == "lange"
    assert "lang" in caught.value.known


@pytest.mark.parametrize("query", ["/ab+c/", "find /fo[ox]/ here", "/foo/i", "/foo/"])
def test_regular_expressions_are_refused(query):
    with pytest.raises(UsageError, match="regular expressions"):
        parse_query(query)


def test_an_excluded_phrase_is_refused():
    with pytest.raises(UsageError, match="excluded"):
        parse_query('retry -"exact words"')


def test_a_filter_without_value_is_refused():
    with pytest.raises(UsageError, match="no value"):
        parse_query('retry repo:""')


@pytest.mark.parametrize(
    "query",
    [
        "std::vector push_back",
        "Foo::bar",
        "http://example.org/a",
        "see https://example.org",
        "error: file not found",
        "localhost:8080",
        "python:3.11",
        "urn:isbn:1",
        "{foo:bar}",
        "if (a) foo:bar",
        "case x:return y;",
        "def f(path: str) -> int",
        "repo: something",
        "c:\\windows",
        "/usr/local/bin",
        "/api/v1/users",
        "GET /items/",
        "a:b",
        "main.py:42",
        "README.md:intro",
        "-v --verbose",
        'say "hello',
        'it"s',
        "Key:value",
        "snake_case:value",
        "kind: Deployment",
    ],
)
def test_text_that_looks_like_code_is_not_a_filter(query):
    parsed = parse_query(query)
    assert parsed.clauses == ()
    assert parsed.text == " ".join(query.split())


def test_a_quoted_unknown_filter_is_text():
    assert parse_query('"foo:bar"').phrases == ("foo:bar",)


def test_known_filters_work_beside_code():
    assert parse_query("f(x) lang:go").clauses == (Clause("lang", "go"),)


def test_language_names_become_ids():
    assert [language_id(name) for name in ("Py", "golang", "c++", "rust")] == ["python", "go", "cpp", "rust"]


def test_a_kind_belongs_to_symbols_or_to_files():
    assert kind_field("method") == "symbol_type"
    assert kind_field("test") == "kind_of_file"
    with pytest.raises(UnknownName, match="klass"):
        kind_field("klass")
