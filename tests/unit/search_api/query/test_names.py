import pytest

from codequarry.search_api.query.names import Name, find_names, find_paths, looks_like_identifier, symbol_queries


@pytest.mark.parametrize(
    ("query", "name"),
    [
        ("parseHeader", Name("parseHeader")),
        ("flush", Name("flush")),
        ("Response", Name("Response")),
        ("read_page", Name("read_page")),
        ("__init__", Name("__init__")),
        ("Session.request", Name("request", ("Session",))),
        ("std::vector::push_back", Name("push_back", ("std", "vector"))),
        ("Array#map", Name("map", ("Array",))),
        ("node->next", Name("next", ("node",))),
        ("App\\Models\\User", Name("User", ("App", "Models"))),
        ("save!", Name("save!")),
        ("flush()", Name("flush")),
        ("$scope", Name("scope")),
    ],
)
def test_a_query_that_is_a_name_is_parsed_with_its_scope(query, name):
    assert find_names(query) == (name,)


def test_identifiers_in_a_sentence_are_names_but_plain_words_are_not():
    names = find_names("where does parse_header call the flush() of HttpReader")
    assert [name.last for name in names] == ["parse_header", "flush", "HttpReader"]


def test_a_question_names_nothing():
    assert find_names("how are failed jobs retried") == ()


def test_files_and_abbreviations_are_not_names():
    assert find_names("what is in util.go and README.md, e.g. about Node.js?") == ()
    assert find_names("where is user.save called") == (Name("save", ("user",)),)


def test_a_question_mark_may_belong_to_the_question_or_to_the_name():
    assert find_names("who calls parse_header?") == (Name("parse_header"), Name("parse_header?"))


def test_the_number_of_names_is_limited():
    assert len(find_names(" ".join(f"someName{index}" for index in range(100)))) == 16


def test_a_name_needs_a_letter():
    assert find_names("...") == find_names("123") == find_names("__") == ()


def test_symbol_queries_are_lower_case_and_unique():
    assert symbol_queries([Name("Foo"), Name("foo"), Name("bar", ("Foo",))]) == ("foo", "bar", "foo.bar")


@pytest.mark.parametrize("word", ["camelCase", "snake_case", "HTTPServer", "a.b", "A::b", "_private", "@decorator"])
def test_identifiers_are_recognised_by_their_form(word):
    assert looks_like_identifier(word)


@pytest.mark.parametrize("word", ["word", "Word", "HTTP", "x"])
def test_plain_words_are_not_identifiers(word):
    assert not looks_like_identifier(word)


def test_paths_are_found_lower_case():
    assert find_paths("what is in Store/Port.py and util.go?") == ("store/port.py", "util.go")
    assert find_paths("the folder src/foo/bar of it") == ("src/foo/bar",)
    assert find_paths("no paths here, e.g. none. And/or") == ("e.g", "and/or")


def test_urls_are_not_paths():
    assert find_paths("http://example.org/a/b.html") == ()
