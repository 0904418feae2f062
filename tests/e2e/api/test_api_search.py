"""`POST /search-code` over a real index."""

from concurrent.futures import ThreadPoolExecutor

import pytest

pytestmark = pytest.mark.usefixtures("indexed")


def places(answer):
    return [(hit["repo"], hit["path"], hit["symbol_name"]) for hit in answer["results"]]


def test_a_question_in_plain_words_finds_the_implementation_first(search):
    answer = search("how is a failed job scheduled again?")
    assert ("core", "src/retry.py") in [place[:2] for place in places(answer)[:2]]
    assert answer["degraded"] == []
    assert answer["reason"] is None


@pytest.mark.parametrize(
    ("query", "path"),
    [
        ("retry_later", "src/retry.py"),
        ("Retrier.retry_later", "src/retry.py"),
        ("ReadPage", "src/pages.go"),
        ("readpage", "src/pages.go"),
        ("MAX_ATTEMPTS", "src/retry.py"),
        ("renderPage", "app.ts"),
        ("flush()", "src/retry.py"),
    ],
)
def test_a_name_finds_its_definition_first(search, query, path):
    assert search(query)["results"][0]["path"] == path


def test_a_hit_has_the_text_of_its_lines_in_git(search, indexed):
    lines = (indexed["core"].folder / "src/pages.go").read_text().splitlines(keepends=True)
    hit = search("ReadPage", top_k=1)["results"][0]
    assert hit["text"] == "".join(lines[hit["start_line"] - 1 : hit["end_line"]])
    assert hit["language"] == "go"
    assert hit["kind_of_file"] == "source"
    assert hit["commit"] == indexed["core"].git("rev-parse", "HEAD")
    assert hit["ref"] == hit["branch"] == "main"
    assert hit["url"] is None
    assert hit["is_stride"] is False and hit["stride_info"] is None
    assert not {"timeline", "born", "died", "vector_key"} & set(hit)


def test_scores_fall_with_rank_between_zero_and_one(search):
    scores = [hit["score"] for hit in search("retry a failed job", top_k=50)["results"]]
    assert scores == sorted(scores, reverse=True)
    assert all(0 <= score <= 1 for score in scores)


@pytest.mark.parametrize(
    ("fields", "paths"),
    [
        ({"filters": {"repo": "site"}}, {"app.ts"}),
        ({"filters": {"language": ["go", "typescript"]}}, {"src/pages.go", "app.ts"}),
        ({"filters": {"path": "src/*.go"}}, {"src/pages.go"}),
        ({"filters": {"path": ["src/", "!*.py"]}}, {"src/pages.go"}),
        ({"filters": {"kind_of_file": "test"}}, {"tests/test_retry.py"}),
        ({"filters": {"defines": "ReadPage"}}, {"src/pages.go"}),
        ({"filters": {"language": "config"}}, {"settings.yaml"}),
        ({"filters": {"branch": "main", "repo": ["site"]}}, {"app.ts"}),
    ],
)
def test_filters_keep_only_matching_paths(search, fields, paths):
    answer = search("page retry", top_k=100, **fields)
    assert {hit["path"] for hit in answer["results"]} == paths


@pytest.mark.parametrize(
    ("query", "paths"),
    [
        ("page lang:ts", {"app.ts"}),
        ("page repo:core path:pages", {"src/pages.go"}),
        ("retry kind:test", {"tests/test_retry.py"}),
        ("symbol:ReadPage", {"src/pages.go"}),
        ("symbol:Retrier.run", {"src/retry.py"}),
        ("lang:typescript", {"app.ts"}),
        ("page -repo:core", {"app.ts"}),
    ],
)
def test_filters_in_the_query_keep_only_matching_paths(search, query, paths):
    answer = search(query, top_k=100)
    assert {hit["path"] for hit in answer["results"]} == paths


def test_tests_can_be_excluded(search):
    query = "test retry later"
    assert "tests/test_retry.py" in {hit["path"] for hit in search(query)["results"]}
    assert "tests/test_retry.py" not in {hit["path"] for hit in search(query, include_tests=False)["results"]}


def test_a_filter_does_not_cut_the_answer_below_top_k(search):
    everything = search("anything at all, even this", top_k=200, filters={"path": "many.py"})["results"]
    assert len(everything) >= 2
    few = search("unrelated words", top_k=len(everything), max_per_file=1, filters={"path": "many.py"})["results"]
    assert len(few) == len(everything)


def test_a_file_has_at_most_two_hits_while_other_files_are_left(search):
    hits = search("retry page", top_k=4)["results"]
    assert max([hit["path"] for hit in hits].count(hit["path"]) for hit in hits) <= 2


def test_pages_do_not_repeat_hits(search):
    first = search("retry page step", top_k=3)
    seen, cursor, pages = [hit["id"] for hit in first["results"]], first["next_cursor"], 1
    while cursor:
        answer = search("retry page step", top_k=3, cursor=cursor)
        seen += [hit["id"] for hit in answer["results"]]
        cursor, pages = answer["next_cursor"], pages + 1
    assert pages > 2
    assert len(seen) == len(set(seen))
    assert set(seen) == {hit["id"] for hit in search("retry page step", top_k=200)["results"]}


def test_explain_lists_the_parts_of_a_score(search):
    hit = search("retry_later", explain=True)["results"][0]
    assert hit["explain"]["signals"]["definition"] > 0.7
    assert set(hit["explain"]["channels"]) <= {"vector", "terms", "symbol", "path"}
    assert "symbol" in hit["explain"]["channels"]
    assert "explain" not in search("retry_later")["results"][0]


def test_freshness_describes_the_state_of_each_repository(search, indexed):
    freshness = {entry["repo"]: entry for entry in search("retry")["freshness"]}
    core = freshness["core"]
    assert core["indexed_commit"] == core["head_commit"] == indexed["core"].git("rev-parse", "HEAD")
    assert (core["commits_behind"], core["state"], core["skipped_files"]) == (0, "ready", 1)
    assert core["indexed_at"]


def test_a_commit_can_be_abbreviated(search, indexed):
    commit = indexed["core"].git("rev-parse", "HEAD")
    answer = search("retry", filters={"commit": commit[:9]})
    assert {hit["commit"] for hit in answer["results"]} == {commit}


def test_a_filter_that_matches_nothing_is_named(search):
    answer = search("retry", filters={"language": "cobol", "kind_of_file": "source"})
    assert answer["results"] == []
    assert answer["reason"] == "filter leaves nothing: language = cobol"


def test_filters_that_match_nothing_only_together_are_named(search):
    answer = search("retry", filters={"language": "go", "kind_of_file": "test"})
    assert answer["reason"].startswith("filter leaves nothing: only the combination of ")


def test_a_misspelled_symbol_gets_a_suggestion(search):
    answer = search("symbol:retry_latter")
    assert answer["results"] == []
    assert answer["suggestion"].startswith("did you mean retry_later")


def test_the_same_request_has_the_same_answer(search):
    first, second = (search("retry page", top_k=50) for _ in range(2))
    assert first["results"] == second["results"]


def test_many_threads_get_the_answers_of_a_single_thread(app):
    queries = ["retry_later", "how are pages read", "flush", "renderPage", "steps", "settings of retry"] * 8

    def ask(query):
        response = app.test_client().post("/search-code", json={"query": query})
        return response.status_code, [hit["id"] for hit in response.get_json()["results"]]

    alone = [ask(query) for query in queries]
    with ThreadPoolExecutor(8) as pool:
        together = list(pool.map(ask, queries))
    assert together == alone
    assert {status for status, _ in together} == {200}
