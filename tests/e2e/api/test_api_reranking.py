"""A search with a second stage: through the engine with stub re-rankers, and over HTTP with MiniLM."""

import shutil
from collections.abc import Callable, Iterator, Sequence
from threading import Event
from typing import Any

import pytest

from codequarry.search_api.answers.json import to_json
from codequarry.search_api.http.app import create_app
from codequarry.search_api.http.request_context import EXTENSION
from codequarry.search_api.ranking.second_stage import SecondStage
from codequarry.search_api.search.backend import Backend
from codequarry.search_api.search.engine import SearchEngine, parse_request
from codequarry.shared.access.grants import Grant, Principal
from codequarry.shared.access.key_list import ids_by_name
from codequarry.shared.errors import EmbedderUnavailable
from codequarry.shared.model import PathGlobs
from codequarry.shared.settings.config import SettingsModel
from codequarry.shared.settings.reranking import RerankingSettings
from tests.e2e.api.conftest import CORE

QUERY = "retry page step"
ON = RerankingSettings(enabled=True, weight=1.0, candidate_count=20, timeout_seconds=30)
LONG = 60.0


class Upside:
    """A re-ranker that reverses the order as long as it answers."""

    name = "upside"
    leaves_machine = False

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.fails = False
        self.hangs_from: int | None = None
        self.released = Event()

    def score(self, query: str, texts: Sequence[str], seconds: float) -> Iterator[tuple[int, float]]:
        if self.fails:
            raise EmbedderUnavailable("the model has gone away")
        self.texts += texts
        for index in range(len(texts)):
            if self.hangs_from is not None and index >= self.hangs_from:
                self.released.wait(LONG)
            yield index, float(index)

    def close(self) -> None:
        """Do nothing; there is nothing to close."""


@pytest.fixture(scope="module")
def indexed(place: Any, index: Callable[..., Any]) -> dict[str, Any]:
    """Index the repository `core`, with more chunks than the second stage scores, and return it."""
    steps = {
        f"src/steps/{number}.py": f"def step_{number}(page):\n    return page + {number}\n" for number in range(30)
    }
    repository = place.repository("core", CORE | steps)
    index(repository.folder)
    return {"core": repository}


@pytest.fixture
def model() -> Iterator[Upside]:
    made = Upside()
    yield made
    made.released.set()


@pytest.fixture
def engine_with(store: Any, embedder: Any, indexed: Any, model: Upside) -> Callable[..., SearchEngine]:
    """Return a function that makes an engine whose second stage uses that model."""

    def make(settings: RerankingSettings = ON) -> SearchEngine:
        stage = SecondStage(settings, lambda: model, lambda _: True)
        return SearchEngine(store, embedder, SettingsModel(reranking=settings), second=stage)

    return make


def ask(engine: SearchEngine, query: str = QUERY, settings: RerankingSettings = ON, **fields: Any) -> dict[str, Any]:
    return to_json(engine.search(parse_request({"query": query, **fields}, reranking=settings)))


def ids(answer: dict[str, Any]) -> list[str]:
    return [hit["id"] for hit in answer["results"]]


def pages(engine: SearchEngine, top_k: int) -> list[dict[str, Any]]:
    answers = [ask(engine, top_k=top_k)]
    while cursor := answers[-1]["next_cursor"]:
        answers.append(ask(engine, top_k=top_k, cursor=cursor))
    return answers


def test_the_first_candidates_are_reordered(engine_with: Any, model: Upside) -> None:
    without = ask(engine_with(), rerank=False, top_k=200)
    assert model.texts == []
    answer = ask(engine_with(), top_k=200, max_per_file=200)
    assert len(model.texts) == ON.candidate_count
    assert ids(answer) != ids(without)
    assert set(ids(answer)) == set(ids(without))
    again = [hit for hit in answer["results"] if "rerank_score" in hit]
    assert len(again) == ON.candidate_count
    assert answer["degraded"] == []


def test_scores_still_fall_with_rank_between_zero_and_one(engine_with: Any) -> None:
    scores = [hit["score"] for hit in ask(engine_with(), top_k=200, max_per_file=200)["results"]]
    assert scores == sorted(scores, reverse=True)
    assert all(0 <= score <= 1 for score in scores)


def test_explain_shows_both_scores(engine_with: Any) -> None:
    results = ask(engine_with(), explain=True, top_k=50)["results"]
    for hit in results:
        blend = hit["explain"].get("reranking")
        assert (blend is None) == ("rerank_score" not in hit)
        if blend:
            assert blend["rerank_score"] == hit["rerank_score"]
            assert blend["weight"] == ON.weight
            assert 0 <= blend["first_score"] <= 1


def test_an_answer_has_the_configured_number_of_hits_unless_top_k_is_given(engine_with: Any) -> None:
    few = ON.model_copy(update={"final_count": 4})
    assert len(ask(engine_with(few), settings=few)["results"]) == 4
    assert len(ask(engine_with(few), settings=few, top_k=6)["results"]) == 6
    assert len(ask(engine_with(few), settings=few, rerank=False)["results"]) == 20


@pytest.mark.parametrize("then", ["answers", "fails", "hangs"])
def test_pages_are_consistent_whatever_the_model_does_meanwhile(engine_with: Any, model: Upside, then: str) -> None:
    """The cursor contains the scores of the first page, so the model is not asked again."""
    whole = ids(ask(engine_with(), top_k=200))
    engine = engine_with()
    first = ask(engine, top_k=5)
    model.fails, model.hangs_from = then == "fails", 0 if then == "hangs" else None
    seen, cursor = ids(first), first["next_cursor"]
    asked = len(model.texts)
    while cursor:
        answer = ask(engine, top_k=5, cursor=cursor)
        assert answer["degraded"] == []
        seen, cursor = seen + ids(answer), answer["next_cursor"]
    assert len(model.texts) == asked
    assert len(seen) == len(set(seen))
    assert set(seen) == set(whole)


def test_another_process_without_a_model_continues_the_same_pages(engine_with: Any, store: Any, embedder: Any) -> None:
    first = ask(engine_with(), top_k=5)
    here = ask(engine_with(), top_k=5, cursor=first["next_cursor"])
    elsewhere = SearchEngine(store, embedder, SettingsModel())
    assert ids(ask(elsewhere, top_k=5, rerank=None, cursor=first["next_cursor"])) == ids(here)


def test_late_candidates_keep_their_places_on_every_page(engine_with: Any, model: Upside) -> None:
    model.hangs_from = 3
    hasty = ON.model_copy(update={"timeout_seconds": 0.5})
    engine = engine_with(hasty)
    first = ask(engine, settings=hasty, top_k=5)
    (warning,) = first["degraded"]
    assert warning == "reranking: of 20 candidates 17 were not scored within 0.5 s, and keep their places"
    assert sum("rerank_score" in hit for hit in first["results"]) <= 3
    model.released.set()
    model.hangs_from = None
    second = ask(engine, settings=hasty, top_k=5, cursor=first["next_cursor"])
    assert second["degraded"] == [warning], "later pages have the same warning"
    assert not set(ids(first)) & set(ids(second))


def test_a_failing_model_leaves_the_answer_unchanged(engine_with: Any, model: Upside) -> None:
    without = ask(engine_with(), rerank=False, top_k=10)
    model.fails = True
    answer = ask(engine_with(), top_k=10)
    assert answer["degraded"] == ["reranking: hits are in the order of the first stage: the model has gone away"]
    assert answer["results"] == without["results"]
    following = [ask(engine_with(), top_k=10, cursor=page["next_cursor"]) for page in (answer, without)]
    assert ids(following[0]) == ids(following[1])


def test_a_searched_name_stays_first(engine_with: Any) -> None:
    first, *_ = ask(engine_with(), "retry_later")["results"]
    assert "retry_later" in first["defines"]
    assert "rerank_score" not in first


def test_the_model_gets_nothing_that_the_caller_may_not_see(engine_with: Any, model: Upside) -> None:
    engine = engine_with()
    grant = Grant("core", PathGlobs(("src/",)), ids_by_name(engine.store)["core"])
    ask(engine.seen_by(Principal("limited", frozenset({"search"}), (grant,))), top_k=50)
    assert model.texts
    assert all(text.startswith("src/") for text in model.texts)


def test_a_comparison_has_no_second_stage(client: Any) -> None:
    body = {"query": "retry", "from": "main", "to": "main", "rerank": True}
    response = client.post("/diff-search", json=body)
    assert response.status_code == 400
    assert "'rerank' has no meaning in a comparison" in response.get_json()["detail"]


@pytest.fixture(scope="module")
def with_minilm(settings: SettingsModel, store: Any, embedder: Any, indexed: Any, models_folder: Any) -> Any:
    shutil.copytree(models_folder, settings.home / "models")
    reranking = RerankingSettings(enabled=True, weight=0.7, timeout_seconds=30)
    app = create_app(settings.model_copy(update={"reranking": reranking}), store, embedder)
    yield app
    backend: Backend = app.extensions[EXTENSION]
    backend.close()
    shutil.rmtree(settings.home / "models")


def test_hits_have_model_scores_and_metrics_have_the_stage(with_minilm: Any) -> None:
    client = with_minilm.test_client()
    answer = client.post(
        "/search-code", json={"query": "where is a failed job called again", "explain": True}
    ).get_json()
    assert answer["degraded"] == []
    assert answer["results"][0]["path"] == "src/retry.py"
    assert -1 <= answer["results"][0]["rerank_score"] <= 1
    again = client.post(
        "/search-code", json={"query": "where is a failed job called again", "explain": True}
    ).get_json()
    assert again["results"] == answer["results"]
    metrics = client.get("/metrics").text
    assert 'codequarry_search_stage_seconds_bucket{le="+Inf",stage="rerank"}' in metrics


def test_a_request_may_skip_the_second_stage(with_minilm: Any) -> None:
    answer = with_minilm.test_client().post("/search-code", json={"query": "retry", "rerank": False}).get_json()
    assert not any("rerank_score" in hit for hit in answer["results"])


def test_if_the_model_is_not_installed_answers_say_how_to_install_it(
    settings: SettingsModel, store: Any, embedder: Any, indexed: Any, tmp_path: Any
) -> None:
    changed = {"reranking": RerankingSettings(enabled=True), "home": tmp_path}
    client = create_app(settings.model_copy(update=changed), store, embedder).test_client()
    answer = client.post("/search-code", json={"query": "retry"}).get_json()
    (warning,) = answer["degraded"]
    assert warning.startswith("reranking: ") and "codequarry models install minilm" in warning
    assert len(answer["results"]) > 3
    assert 'codequarry_degraded_searches_total{stage="reranking"}' in client.get("/metrics").text
