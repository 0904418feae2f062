"""How a comparison is shown to a person."""

import numpy as np
import pytest

from codequarry.cli.terminal import nearness
from codequarry.cli.terminal.text_arguments import TextArgument
from codequarry.shared.embedding.port import Window
from codequarry.shared.embedding.token_pairs import explain_by_tokens
from codequarry.shared.embedding.token_table import TokenTable
from codequarry.shared.embedding.vocabulary import Vocabulary


class PlainEmbedder:
    """A model without explanations; with ``cuts`` it reads three words at a time."""

    name, dimension, max_tokens, leaves_machine = "a-table", 2, None, False

    def __init__(self, cuts: bool = False) -> None:
        weights = np.array([[2, 0], [1, 0], [-1, 0], [0, 1]], dtype=np.float32)
        self._table = TokenTable.of(Vocabulary(["retry", "again", "undo", "file"]), weights)
        self._size = 3 if cuts else 1000

    def windows(self, text):
        words = text.split()
        starts = range(0, max(1, len(words)), self._size)
        return [Window(at, at + self._size, " ".join(words[at : at + self._size])) for at in starts]

    def embed_documents(self, texts):
        return self._table.embed(texts)

    def embed_query(self, text):
        return self._table.embed([text])[0]

    def close(self):
        """Do nothing: there is nothing to close."""


class TableEmbedder(PlainEmbedder):
    """The same model with explanations by token."""

    def explain(self, query, document, most):
        return explain_by_tokens(self._table, query, document, most)


def compared(query, document, most=8, cuts=False):
    return nearness.comparison_json(TableEmbedder(cuts), TextArgument(query), TextArgument(document), most)


def test_the_rows_of_the_table_add_up(capsys):
    nearness.show_comparison(compared("retry file", "retry again again undo"))
    # The document is 2 + √2 - 1 = 2.4142 long, the query √5 = 2.2361.
    assert capsys.readouterr().out == (
        "similarity  0.8944\n"
        "model       a-table\n"
        "query       text, 10 characters\n"
        "document    text, 22 characters\n"
        "\n"
        "tokens in both             +0.7410  1\n"
        "  retry                    +0.7410\n"
        "different tokens, related  +0.5239  1\n"
        "  retry ~ again            +0.5239  1 × 2\n"
        "different tokens, opposed  -0.3705  1\n"
        "  retry ~ undo             -0.3705\n"
        "similarity                 +0.8944\n"
        "\n"
        "by token of the query  +0.8944  2\n"
        "  retry                +0.8944\n"
        "  file                 +0.0000\n"
        "\n"
        "by token of the document  +0.8944  3\n"
        "  retry                   +0.7410\n"
        "  again                   +0.5239  2\n"
        "  undo                    -0.3705\n"
    )


def test_unlisted_tokens_are_summed_up(capsys):
    nearness.show_comparison(compared("retry", "retry again undo", most=0))
    rows = capsys.readouterr().out.splitlines()
    assert "  1 more                   +1.0000" in rows
    assert "  1 more                   -0.5000" in rows


def test_a_long_document_is_as_near_as_its_nearest_part():
    body = compared("retry", "file file file retry again again undo", cuts=True)
    assert (body["similarity"], body["windows"], body["window"], body["query_cut"]) == (1.0, 3, 1, False)
    assert list(nearness.remarks(body)) == [
        "note: the document is longer than the model's window; the figures are for its nearest part, part 2 of 3"
    ]
    assert compared("retry again undo file", "file", cuts=True)["query_cut"]


def test_a_text_without_known_tokens_is_noted(capsys):
    body = compared("retry", "{}")
    assert body["similarity"] == pytest.approx(0.5**0.5), "an unknown text lies halfway between the axes"
    (note,) = nearness.remarks(body)
    assert note == "note: the model knows none of the document's tokens; all such texts have equal vectors"
    nearness.show_comparison(body)
    assert "similarity                 +0.7071" in capsys.readouterr().out


def test_a_model_without_token_sums_shows_only_the_similarity(capsys):
    body = nearness.comparison_json(PlainEmbedder(), TextArgument("retry"), TextArgument("again file"), 8)
    assert (body["explains"], body["explanation"]) == (False, None)
    nearness.show_comparison(body)
    assert len(capsys.readouterr().out.splitlines()) == 4
    assert list(nearness.remarks(body)) == ["note: model a-table cannot tell what each token contributes"]
