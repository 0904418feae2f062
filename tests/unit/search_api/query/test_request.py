import pytest

from codequarry.search_api.query.request import FIELDS, LATER_FIELDS, SearchBody, parse_request
from codequarry.shared.errors import UnknownName, UsageError
from codequarry.shared.settings.reranking import RerankingSettings


def test_missing_fields_get_their_defaults():
    request = parse_request({"query": "retry"})
    assert (request.top_k, request.max_per_file, request.include_tests, request.explain) == (20, 2, True, False)
    assert request.filters == {}


def test_null_means_the_default():
    assert parse_request({"query": "x", **dict.fromkeys(FIELDS[1:])}) == parse_request({"query": "x"})


def test_a_filter_takes_a_value_or_a_list():
    request = parse_request({"query": "x", "filters": {"language": "go", "path": ["a/", "!b"], "exported": True}})
    assert request.filters == {"language": ("go",), "path": ("a/", "!b"), "exported": ("true",)}


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ([], "JSON object"),
        ({}, "'query' is missing; it must be a string"),
        ({"query": 7}, "'query' must be a string"),
        ({"query": "  "}, "empty"),
        ({"query": "x" * 10_001}, "10001 characters"),
        ({"query": "x", "top_k": 0}, "'top_k'"),
        ({"query": "x", "top_k": 201}, "1 to 200"),
        ({"query": "x", "top_k": True}, "'top_k'"),
        ({"query": "x", "top_k": "5"}, "'top_k'"),
        ({"query": "x", "explain": 1}, "'explain' must be true or false"),
        ({"query": "x", "cursor": 1}, "'cursor'"),
        ({"query": "x", "filters": []}, "'filters' must be an object"),
        ({"query": "x", "filters": {"language": []}}, "1 to 200 values"),
        ({"query": "x", "filters": {"language": 3}}, "must be a string"),
        ({"query": "x", "filters": {"exported": 3}}, "must be a boolean"),
        ({"query": "x", "filters": {"language": ""}}, "1 to 1000 characters"),
        ({"query": "x", "filters": {"type": "commits"}}, "unknown type 'commits'; known: code, commit, diff"),
    ],
)
def test_each_invalid_body_gets_its_message(body, message):
    with pytest.raises(UsageError, match=message):
        parse_request(body)


@pytest.mark.parametrize("field", LATER_FIELDS)
def test_fields_of_later_versions_are_refused_by_name(field):
    with pytest.raises(UsageError, match=f"'{field}' is not available yet"):
        parse_request({"query": "x", field: 1})


@pytest.mark.parametrize(
    ("body", "name", "known"),
    [
        ({"query": "x", "topk": 3}, "topk", "top_k"),
        ({"query": "x", "filters": {"lang": "go"}}, "lang", "language"),
        ({"query": "x", "filters": {"acl": "a"}}, "acl", "repo"),
        ({"query": "x", "filters": {"symbol_type": "klass"}}, "klass", "class"),
        ({"query": "x", "filters": {"kind_of_file": ["test", "tests"]}}, "tests", "test"),
    ],
)
def test_unknown_names_are_reported_with_the_known_names(body, name, known):
    with pytest.raises(UnknownName) as caught:
        parse_request(body)
    assert caught.value.name == name
    assert known in caught.value.known


def test_whole_numbers_may_be_written_as_floats():
    assert parse_request({"query": "x", "top_k": 5.0}).top_k == 5


def test_halves_of_surrogate_pairs_are_replaced():
    request = parse_request({"query": "a\ud800b", "filters": {"language": "\udfff"}})
    assert request.query == "a?b"
    assert request.filters["language"] == ("?",)


def test_the_documented_body_has_exactly_the_parsed_fields():
    assert set(SearchBody.model_fields) == {*FIELDS, "token"}


def test_the_settings_enable_the_second_stage_and_a_request_can_skip_it():
    on = RerankingSettings(enabled=True, final_count=7)
    requests = [
        parse_request({"query": "x", **fields}, reranking=on) for fields in ({}, {"rerank": True}, {"rerank": False})
    ]
    assert [(request.rerank, request.top_k) for request in requests] == [(True, 7), (True, 7), (False, 20)]
    assert parse_request({"query": "x", "top_k": 30}, reranking=on).top_k == 30
    off = parse_request({"query": "x"})
    assert (off.rerank, off.top_k) == (False, 20)


def test_rerank_without_a_second_stage_is_refused():
    with pytest.raises(UsageError, match="'rerank' needs a second stage, and none is set up here"):
        parse_request({"query": "x", "rerank": True})
