"""`codequarry embed-check`: how similar two texts are, what is nearest in an index, and why."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest

from codequarry.cli.terminal import nearness
from codequarry.cli.terminal.text_arguments import TextArgument
from codequarry.ingest.run.pipeline import IndexRequest, index_repository
from codequarry.search_api.search.neighbours import nearest_chunks
from codequarry.search_api.versions.catalog import Catalog
from codequarry.shared.embedding.port import Window
from codequarry.shared.embedding.token_pairs import explain_by_tokens
from codequarry.shared.embedding.token_table import TokenTable
from codequarry.shared.embedding.vocabulary import Vocabulary

FILES = {
    "src/retry.py": (
        "def retry_delay(attempt: int) -> float:\n"
        '    """Return the seconds to wait before the next attempt."""\n    return min(2.0**attempt, 60.0)\n'
    ),
    "src/server.go": "package server\n\n// Serve answers requests.\nfunc Serve(port int) error {\n\treturn nil\n}\n",
    "docs/paint.md": "# Paint\n\nMix the colours of the walls.\n",
    "logo.png": bytes(range(256)),
}
QUESTION = "how many seconds to wait before the next attempt"


@pytest.fixture(scope="module")
def indexed(new_workspace: Callable[[], Any]) -> Any:
    """Return a workspace with a small indexed repository, for tests that only read."""
    place = new_workspace()
    place.indexed("project", FILES)
    return place


def test_two_files_are_compared_and_described(indexed: Any) -> None:
    body = indexed.run("embed-check", QUESTION, "project/src/retry.py", "--json").json
    assert body["query"] == {"source": "text", "path": None, "characters": len(QUESTION)}
    assert body["document"] == {
        "source": "file",
        "path": "project/src/retry.py",
        "characters": len(FILES["src/retry.py"]),
    }
    other = indexed.run("embed-check", QUESTION, "@project/docs/paint.md", "--json").json
    assert 1 >= body["similarity"] > other["similarity"] >= -1
    assert body["model"] == other["model"]
    assert body["explains"], "the built-in model is a sum over tokens"
    assert sum(body["explanation"][kind]["total"] for kind in ("shared", "related", "opposed")) == pytest.approx(
        body["similarity"], abs=1e-5
    )


def test_a_word_has_similarity_1_with_itself(workspace: Any) -> None:
    """Several words can have different weights in a query and in code."""
    outcome = workspace.run("embed-check", "retry", "retry")
    assert outcome.code == 0
    assert outcome.out.splitlines()[0] == "similarity  1.0000"
    assert "document    text, 5 characters" in outcome.out
    assert not (workspace.folder / "home").exists(), "comparing two texts needs no index"


def test_options_choose_between_texts_and_files(indexed: Any) -> None:
    body = indexed.run("embed-check", "--text", "project/src/retry.py", "@retry", "--json").json
    assert [body[side]["source"] for side in ("query", "document")] == ["text", "text"]
    body = indexed.run("embed-check", "--file", "project/src/retry.py", "project/docs/paint.md", "--json").json
    assert [body[side]["source"] for side in ("query", "document")] == ["file", "file"]


def test_the_nearest_chunks_are_found_only_by_vector(indexed: Any) -> None:
    body = indexed.run("embed-check", QUESTION, "--nearest", "--json").json
    first = body["results"][0]
    assert (first["repo"], first["path"], first["qualified_name"]) == ("project", "src/retry.py", "retry_delay")
    assert (first["start_line"], first["end_line"], first["ref"]) == (1, 3, "main")
    similarities = [hit["similarity"] for hit in body["results"]]
    assert similarities == sorted(similarities, reverse=True)
    assert {hit["path"] for hit in body["results"]} == {"src/retry.py", "src/server.go", "docs/paint.md"}
    assert [entry["repo"] for entry in body["freshness"]] == ["project"]


def test_the_searched_chunks_can_be_filtered(indexed: Any) -> None:
    def paths(*flags: object) -> set[str]:
        body = indexed.run("embed-check", QUESTION, "--nearest", "--json", *flags).json
        return {hit["path"] for hit in body["results"]}

    assert paths("--top-k", 1) == paths("-k", 1, "--repo", "project") == {"src/retry.py"}
    assert paths("--lang", "go") == {"src/server.go"}
    assert paths("--path", "docs/", "--branch", "main") == {"docs/paint.md"}


def test_the_nearest_chunks_as_text_have_place_and_symbol(indexed: Any) -> None:
    outcome = indexed.run("embed-check", QUESTION, "--nearest", "--top-k", 1)
    assert outcome.code == 0
    assert outcome.out.startswith("src/retry.py:1-3  retry_delay  function  0.")
    nothing = indexed.run("embed-check", QUESTION, "--nearest", "--lang", "rust")
    assert (nothing.code, nothing.out, nothing.err.splitlines()[0]) == (0, "", "no chunk matches the filters")


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["x"], 2, "give a second text or file, or --nearest"),
        (["x", "y", "--nearest"], 2, "--nearest takes only one text or file"),
        (["x", "y", "--repo", "project"], 2, "--top-k, --repo, --language, --path and versions select chunks"),
        (["x", "y", "--text", "--file"], 2, "--text and --file are mutually exclusive"),
        (["x", "--nearest", "--top-k", "0"], 2, "Invalid value for '--top-k'"),
        (["-", "-"], 2, "stdin can be read only once"),
        (["x", "-"], 2, "the document from stdin is empty"),
        (["x", "@nothing.py"], 2, "there is no file 'nothing.py'"),
        (["x", "project/logo.png"], 2, "'project/logo.png' is not text that can be embedded: binary"),
        ([" ", "y"], 2, "the query is empty"),
        (["x", "--nearest", "--repo", "projct"], 1, "repository 'projct' is not indexed; indexed: project"),
        (["x", "--nearest", "--branch", "dev"], 1, "branch 'dev' is not indexed"),
    ],
)
def test_wrong_usage_is_reported_in_one_line(indexed: Any, arguments: list[str], code: int, message: str) -> None:
    outcome = indexed.run("embed-check", *arguments)
    assert outcome.error.startswith(f"error: {message}")
    assert outcome.code == code


def test_without_an_index_nearest_is_an_error(workspace: Any) -> None:
    outcome = workspace.run("embed-check", "x", "--nearest")
    assert outcome.error == "error: nothing is indexed yet; index a repository: codequarry index PATH_OR_URL"
    assert outcome.code == 1
    assert not (workspace.folder / "home").exists()


def test_code_of_a_guarded_repository_is_not_sent_to_an_external_model(workspace: Any) -> None:
    repository = workspace.repository("secret", {"src/a.py": "def a():\n    return 1\n"})
    (workspace.folder / "codequarry.toml").write_text(
        f'[[repositories]]\norigin = "{repository.folder}"\nexternal_models = false\n'
    )
    elsewhere = {"CODEQUARRY_EMBEDDING__MODEL": "text-embedding-3-small", "CODEQUARRY_EMBEDDING__API_KEY": "no-key"}
    outcome = workspace.run("embed-check", "what it returns", "secret/src/a.py", variables=elsewhere)
    assert outcome.error.startswith("error: 'secret/src/a.py' has external_models = false")
    assert outcome.code == 2
    assert workspace.run("embed-check", "what it returns", "secret/src/a.py").code == 0

    (workspace.folder / "link").symlink_to(repository.folder)
    repository.git("clone", "--quiet", str(workspace.folder / "link"), str(workspace.folder / "clone"))
    for argument in ("@~/secret/src/a.py", "secret/.git/config", "clone/src/a.py"):
        refused = workspace.run("embed-check", "what it returns", argument, variables=elsewhere)
        assert (refused.code, "was sent" in refused.error) == (2, True), argument
    (repository.folder / ".git" / "config").write_text("[broken")
    unknown = workspace.run("embed-check", "what it returns", "secret/src/a.py", variables=elsewhere)
    assert unknown.error.startswith("error: 'secret/src/a.py' is in a repository that git cannot read")
    assert unknown.code == 2


class TableEmbedder:
    """A model made of a token table, which reads ``window`` characters at a time."""

    leaves_machine = False

    preferred_batch = 256

    def __init__(self, table: TokenTable, window: int | None = None) -> None:
        self.name, self.dimension, self.max_tokens = "a-table", table.dimension, window
        self._table = table

    def windows(self, text: str) -> list[Window]:
        size = self.max_tokens or max(1, len(text))
        starts = range(0, max(1, len(text)), size)
        return [Window(start, start + size, text[start : start + size]) for start in starts]

    def embed_documents(self, texts: Any) -> Any:
        return self._table.embed(texts)

    def embed_query(self, text: str) -> Any:
        return self._table.embed([text])[0]

    def explain(self, query: str, document: str, most: int) -> Any:
        return explain_by_tokens(self._table, query, document, most)

    def close(self) -> None:
        """Do nothing; there is nothing to release."""


WORDS = ["retry", "delay", "attempt", "seconds", "wait", "next", "serve", "port", "return", "src", "py", "paint"]


def table_of(words: list[str], dimension: int) -> TokenTable:
    """Return a table of words and of pieces for all other words, with random vectors."""
    tokens = [*words, *(f"##{letter}" for letter in "abcdefghijklmnopqrstuvwxyz0123456789")]
    weights = np.random.default_rng(5).standard_normal((len(tokens), dimension))
    return TokenTable.of(Vocabulary(tokens), weights.astype(np.float32))


def neighbours(store: Any, model: TableEmbedder, text: str, most: int = 3) -> tuple[nearness.Nearest, dict[str, Any]]:
    catalog, query = Catalog(store), TextArgument(text)
    found = nearest_chunks(catalog, model.embed_query(text), {}, 10)
    shown = nearness.nearest(catalog, found, model, query, most)
    return shown, nearness.nearest_json(shown, model, query)


@pytest.fixture(params=[None, 90], ids=["whole", "in strides"])
def search(request, make_repository, make_workshop_on_each, embedder):
    """Index a repository with a token table, and return a function that finds the nearest chunks of a text."""
    model = TableEmbedder(table_of(WORDS, embedder.dimension), request.param)
    workshop = replace(make_workshop_on_each(), embedder=model)
    index_repository(IndexRequest(make_repository(files=FILES).origin), workshop)
    return partial(neighbours, workshop.store, model)


def test_the_parts_of_an_explanation_add_up_to_the_similarity(
    search: Callable[..., tuple[nearness.Nearest, dict[str, Any]]],
) -> None:
    _, body = search("retry delay in seconds")
    assert body["explains"]
    assert body["results"][0]["path"] == "src/retry.py"
    for hit in body["results"]:
        parts = hit["explanation"]
        expected = pytest.approx(hit["similarity"], abs=1e-5)
        assert sum(parts[kind]["total"] for kind in ("shared", "related", "opposed")) == expected
        assert parts["by_query"]["total"] == parts["by_document"]["total"] == expected
        for part in parts.values():
            shown = sum(pair["contribution"] for pair in part["top"])
            assert shown + part["rest"] == pytest.approx(part["total"], abs=1e-5)
            assert part["others"] == part["count"] - len(part["top"])
    shared = body["results"][0]["explanation"]["shared"]["top"]
    assert {pair["query"] for pair in shared} <= {"retry", "delay", "seconds", "##i", "##n"}


def test_an_explanation_as_text_has_a_line_for_the_query_and_for_each_kind_of_pair(
    search: Callable[..., tuple[nearness.Nearest, dict[str, Any]]], capsys: pytest.CaptureFixture[str]
) -> None:
    shown, body = search("retry", most=1)
    nearness.show_nearest(shown)
    head, *lines = capsys.readouterr().out.split("\n\n")[0].splitlines()
    assert head.startswith("src/retry.py:1-3  retry_delay  function  0.")
    assert [line.split()[0] for line in lines] == ["query", "both", "related", "opposed"]
    assert (
        lines[0] == f"    query +{body['results'][0]['similarity']:.3f}: retry +{body['results'][0]['similarity']:.3f}"
    )
    assert lines[1].partition(": ")[2].startswith("retry +0.")
    assert " more +" in lines[2]
    assert " more -" in lines[3]
    assert list(nearness.nearest_remarks(shown, body)) == []


def test_a_chunk_embedded_from_a_different_text_is_not_explained(versioned_index: Any, embedder: Any) -> None:
    """This happens in an index of another version; here the vector is of the lines without the path before them."""
    model = TableEmbedder(table_of(WORDS, embedder.dimension))
    index = type(versioned_index)(versioned_index.store, model)
    index.publish(index.add("project"), "c" * 40, {"src/backoff/delay.py": "def retry_delay(): ...\n"})
    shown, body = neighbours(index.store, model, "retry delay")
    assert [hit["explanation"] for hit in body["results"]] == [None]
    (remark,) = nearness.nearest_remarks(shown, body)
    assert remark.startswith("note: 1 chunk embedded from outdated text")
