"""Progress output of a backup."""

from codequarry.cli.commands.backup import StepLines, describe
from codequarry.shared.store.backups import Step


def test_steps_are_described_in_their_unit() -> None:
    assert describe(Step("copying vectors", 2_000_000, 4_000_000)) == "copying vectors: 2.0 MB of 4.0 MB"
    assert describe(Step("writing chunks", 1_000, 20_000, "documents")) == "writing chunks: 1,000 of 20,000 documents"


def test_a_log_gets_a_line_every_five_seconds(capsys) -> None:
    now = [0.0]
    lines = StepLines(lambda: now[0])
    for second in range(12):
        now[0] = float(second)
        lines(Step("copying", second, 12, "documents"))
    assert capsys.readouterr().err.splitlines() == [
        "copying: 5 of 12 documents",
        "copying: 10 of 12 documents",
    ]
