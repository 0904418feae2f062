"""Reading the next batch while the current batch is written."""

import pytest

from codequarry.ingest.files.read_file import ReadFile
from codequarry.ingest.files.scan import FileTask
from codequarry.ingest.shared_import import read_ahead
from codequarry.ingest.shared_import.read_ahead import ReadingAhead
from codequarry.shared.errors import LeaseHeld


class Readers:
    """Reads in this process, up to ``most`` files ahead of the consumer."""

    def __init__(self, most=3):
        self.most = most

    def read(self, tasks):
        waiting = iter(tasks)
        in_flight = []
        while True:
            while len(in_flight) < self.most and (task := next(waiting, None)):
                in_flight.append(task)
            if not in_flight:
                return
            yield ReadFile(in_flight.pop(0), "indexed")

    def close(self):
        """Do nothing: nothing is open."""


class Batches:
    """Batches of four files, recording the order of events."""

    def __init__(self, number):
        self.left = [(at, [FileTask(f"{at}/{file}", "0" * 40, 1, "") for file in range(4)]) for at in range(number)]
        self.events = []

    def claim(self):
        if not self.left:
            return None
        batch = self.left.pop(0)
        self.events.append(("taken", batch[0]))
        return batch

    def finish(self, at, files):
        assert {file.task.path for file in files} == {f"{at}/{number}" for number in range(4)}
        self.events.append(("written", at))


def test_every_batch_is_written_completely_and_once():
    batches = Batches(5)
    ReadingAhead(Readers()).work(batches.claim, batches.finish)
    assert [at for what, at in batches.events if what == "written"] == [0, 1, 2, 3, 4]


def test_the_next_batch_is_claimed_early_once_writing_is_known_to_be_quick():
    batches = Batches(3)
    ReadingAhead(Readers()).work(batches.claim, batches.finish)
    assert batches.events == [
        ("taken", 0), ("written", 0), ("taken", 1), ("taken", 2), ("written", 1), ("written", 2),
    ]  # fmt: skip


def test_if_writing_is_slow_the_next_batch_is_left_to_others(monkeypatch):
    monkeypatch.setattr(read_ahead, "AHEAD_SECONDS", -1.0)
    batches = Batches(3)
    ReadingAhead(Readers()).work(batches.claim, batches.finish)
    assert batches.events == [(what, at) for at in range(3) for what in ("taken", "written")]


def test_the_pace_is_remembered_between_turns():
    reading = ReadingAhead(Readers())
    for _ in range(2):
        batches = Batches(2)
        reading.work(batches.claim, batches.finish)
    assert batches.events == [("taken", 0), ("taken", 1), ("written", 0), ("written", 1)]


def test_an_error_while_writing_ends_the_work():
    batches = Batches(3)

    def lose(at, files):
        raise LeaseHeld("somebody else has it")

    with pytest.raises(LeaseHeld):
        ReadingAhead(Readers()).work(batches.claim, lose)
    assert batches.events == [("taken", 0)]
