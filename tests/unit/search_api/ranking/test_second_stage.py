"""The second stage takes nothing from an answer, whatever its model does, and says what it did not do."""

from collections.abc import Iterator, Sequence
from threading import Event
from threading import enumerate as enumerate_threads

import pytest

from codequarry.search_api.ranking import second_stage as second
from codequarry.search_api.ranking.score_fusion import key_of
from codequarry.search_api.ranking.second_stage import (
    PAUSE_SECONDS,
    RETRY_SECONDS,
    SecondStage,
    second_stage,
    text_of,
)
from codequarry.shared.errors import EmbeddingError
from codequarry.shared.settings.config import SettingsModel
from codequarry.shared.settings.reranking import RerankingSettings

LONG = 60.0
ORIGINS = {"quarry": "https://example.org/quarry", "secret": "https://example.org/secret"}


class Model:
    """A re-ranker that scores by length, fails, hangs, or is on another machine, as it is told."""

    name = "model"

    def __init__(self, *, leaves_machine: bool = False) -> None:
        self.leaves_machine = leaves_machine
        self.error: Exception | None = None
        self.slow_from: int | None = None
        self.released = Event()
        self.asked: list[list[str]] = []
        self.closed = False

    def score(self, query: str, texts: Sequence[str], seconds: float) -> Iterator[tuple[int, float]]:
        self.asked.append(list(texts))
        if self.error:
            raise self.error
        for index, text in enumerate(texts):
            if self.slow_from is not None and index >= self.slow_from:
                self.released.wait(LONG)
            yield index, float(len(text))

    def close(self) -> None:
        self.closed = True


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def model():
    made = Model()
    yield made
    made.released.set()


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def stage(model, clock):
    """Give a function that makes the stage; only code of `quarry` may go to another machine."""

    def make(seconds=LONG, open_model=lambda: model):
        settings = RerankingSettings(enabled=True, timeout_seconds=min(seconds, 30), weight=0.4)
        return SecondStage(settings, open_model, lambda origin: origin.endswith("quarry"), clock)

    return make


@pytest.fixture
def chunks(make_chunk):
    return [make_chunk("a\n" * count, f"src/{count}.py") for count in (1, 2, 3)]


def test_every_candidate_is_scored(stage, chunks, model):
    found = stage().score("query", chunks, ORIGINS)
    assert found.scores == {key_of(chunk): float(len(text_of(chunk))) for chunk in chunks}
    assert (found.weight, found.warning) == (0.4, "")


def test_candidates_that_are_late_are_left_out_and_counted(stage, chunks, model):
    model.slow_from = 1
    found = stage(seconds=0.5).score("query", chunks, ORIGINS)
    assert set(found.scores) == {key_of(chunks[0])}
    assert found.warning == "reranking: of 3 candidates 2 were not scored within 0.5 s, and keep their places"


def test_a_model_that_is_silent_is_left_alone_for_a_while(stage, chunks, model, clock):
    model.slow_from = 0
    silent = stage(seconds=0.05)
    assert "3 were not scored within 0.05 s" in silent.score("query", chunks, ORIGINS).warning
    assert "did not answer a moment ago" in silent.score("query", chunks, ORIGINS).warning
    assert len(model.asked) == 1
    clock.now += PAUSE_SECONDS
    model.slow_from = None
    assert silent.score("query", chunks, ORIGINS).warning == ""


def test_searches_that_a_model_is_too_slow_for_leave_so_many_runs_of_it_behind_and_no_more(
    stage, chunks, model, clock, monkeypatch
):
    """What it remembers comes at once, so that it is not silent; what it must read holds it up."""
    monkeypatch.setattr(second, "MAX_ABANDONED_CALLS", 3)
    model.slow_from = 1
    slow = stage(seconds=0.01)
    said = []
    for _ in range(5):
        said.append(slow.score("query", chunks, ORIGINS).warning)
        clock.now += PAUSE_SECONDS
    assert len(model.asked) == 3
    assert ["is still busy with earlier searches" in one for one in said] == [False] * 3 + [True] * 2
    model.slow_from = None
    model.released.set()
    for thread in enumerate_threads():
        if thread.name == "reranking":
            thread.join(LONG)
    slow.score("query", chunks, ORIGINS)
    assert len(model.asked) == 4


@pytest.mark.parametrize(
    ("error", "says"),
    [(EmbeddingError("no memory left"), "no memory left"), (KeyError("x"), "KeyError in the model; see the log")],
)
def test_a_model_that_fails_changes_nothing_and_is_asked_again(stage, chunks, model, error, says):
    failing = stage()
    model.error = error
    found = failing.score("query", chunks, ORIGINS)
    assert found.scores == {}
    assert found.warning == f"reranking: hits are in the order of the first stage: {says}"
    model.error = None
    assert failing.score("query", chunks, ORIGINS).warning == ""


def test_a_model_that_is_not_there_is_looked_for_again_after_a_while(stage, chunks, model, clock):
    there = False

    def open_model():
        if not there:
            raise EmbeddingError("model 'm' is not installed")
        return model

    waiting = stage(open_model=open_model)
    assert waiting.score("query", chunks, ORIGINS).warning.endswith("model 'm' is not installed")
    there = True
    assert waiting.score("query", chunks, ORIGINS).scores == {}
    clock.now += RETRY_SECONDS
    assert len(waiting.score("query", chunks, ORIGINS).scores) == 3


@pytest.mark.parametrize("error", [PermissionError(13, "Permission denied"), ImportError("libgomp.so.1")])
def test_a_model_that_can_not_be_opened_for_whatever_reason_changes_nothing(stage, chunks, error):
    def open_model():
        raise error

    found = stage(open_model=open_model).score("query", chunks, ORIGINS)
    said = f"{type(error).__name__} in the model; see the log"
    assert (found.scores, found.warning) == ({}, f"reranking: hits are in the order of the first stage: {said}")


def test_scores_that_are_no_numbers_are_left_out(stage, chunks, model, monkeypatch):
    scores = [(0, float("nan")), (1, float("inf")), (2, 0.123456)]
    monkeypatch.setattr(model, "score", lambda *_: iter(scores))
    found = stage().score("query", chunks, ORIGINS)
    assert found.scores == {key_of(chunks[2]): 0.1235}
    assert "2 were not scored" in found.warning


def test_code_that_must_stay_is_not_sent_to_a_model_on_another_machine(stage, make_chunk, model):
    """Neither is that of a repository of which nothing is known."""
    model.leaves_machine = True
    chunks = [make_chunk(f"{repo}\n", "a.py", repo=repo, id=repo) for repo in ("quarry", "secret", "unknown")]
    found = stage().score("query", chunks, ORIGINS)
    assert model.asked == [[text_of(chunks[0])]]
    assert set(found.scores) == {key_of(chunks[0])}
    said = "reranking: of 3 candidates 2 stayed on this machine (external_models = false), and keep their places"
    assert found.warning == said
    assert stage().score("query", chunks[1:], ORIGINS).scores == {}
    assert len(model.asked) == 1, "not even the query, where no code goes with it"
    model.leaves_machine = False
    assert len(stage().score("query", chunks, ORIGINS).scores) == 3


def test_the_model_is_opened_once_and_closed_with_the_stage(model, chunks, stage):
    opened = []

    def open_model():
        opened.append(model)
        return model

    used = stage(open_model=open_model)
    used.close()
    assert not model.closed
    used.score("query", chunks, ORIGINS)
    used.score("query", chunks, ORIGINS)
    used.close()
    assert (len(opened), model.closed) == (1, True)


def test_without_the_setting_there_is_none():
    assert second_stage(SettingsModel()) is None
    assert second_stage(SettingsModel(reranking=RerankingSettings(enabled=True))) is not None


def test_what_the_model_reads_begins_with_the_path(make_chunk):
    chunk = make_chunk("def flush(): ...\n", "src/io.py", qualified_name="io.flush", doc="Empty the buffer.")
    assert text_of(chunk).split("\n") == ["src/io.py", "io.flush", "Empty the buffer.", "def flush(): ...", ""]
