import json
from collections.abc import Sequence

from bench.relations.compare import Score
from bench.relations.table import Measured, measure, print_language, total

CALLS, ALL = Score(10, 8, 6), Score(100, 90, 81)


def measured(name="shop", scores: Sequence[Score] = (CALLS, ALL), held=False):
    return Measured(name, held, tuple(scores))


def test_a_row_has_precision_and_recall_of_calls_and_of_all_edges():
    assert measured(held=True).row("Go") == "| Go | shop | yes | 100 | .750 | .600 | .900 | .810 |"


def test_a_total_counts_references_and_is_held_out_if_all_are():
    other = measured("till", (Score(0, 0, 0), Score(900, 10, 9)), held=True)
    sum_ = total("all", [measured(), other])
    assert (sum_.is_held_out, sum_.scores) == (False, (CALLS, Score(1000, 100, 90)))
    assert total("held", [other]).is_held_out


def test_each_repository_has_a_row_before_the_totals(capsys):
    print_language("go", [measured(), measured("till", held=True)])
    names = [line.split("|")[1:4] for line in capsys.readouterr().out.splitlines()]
    assert [[cell.strip() for cell in cells] for cells in names] == [
        ["Go", "shop", ""], ["", "till", "yes"], ["", "**held out**", "yes"], ["", "**all**", ""],
    ]  # fmt: skip


def test_a_language_without_repositories_has_no_rows(capsys):
    print_language("go", [])
    assert capsys.readouterr().out == ""


def test_repositories_that_the_folder_lacks_are_left_out(tmp_path):
    (tmp_path / "python" / "shop.tree").mkdir(parents=True)
    (tmp_path / "python" / "shop.tree" / "a.py").write_text("def pay():\n    pass\npay()\n")
    use = {"path": "a.py", "line": 3, "column": 0, "name": "pay", "kind": "call"}
    truth = use | {"to": {"path": "a.py", "line": 1, "name": "pay"}}
    (tmp_path / "python" / "shop.jsonl").write_text(json.dumps(truth) + "\n")
    (tmp_path / "python" / "till.tree").mkdir()
    found = list(measure(tmp_path, "python", [("shop", True), ("till", False), ("gone", False)]))
    assert found == [Measured("shop", True, (Score(1, 1, 1), Score(1, 1, 1)))]
