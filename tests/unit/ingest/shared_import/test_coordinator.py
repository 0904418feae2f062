"""Which imports are shared, and how they are split into batches."""

from dataclasses import replace

import pytest

from codequarry.ingest.files.scan import FileTask
from codequarry.ingest.shared_import.coordinator import BATCH_BYTES, USUAL_BYTES, cut, is_large


def tasks(number, size=1, skip=None):
    return [FileTask(f"f{at}", "0" * 40, size, "", skip) for at in range(number)]


def test_batches_are_limited_by_number_and_size_and_the_last_are_smaller():
    assert [len(batch) for batch in cut(tasks(20, BATCH_BYTES // 2), 200)] == [2] * 8 + [1] * 4
    assert [len(batch) for batch in cut(tasks(50), 8)] == [8] * 5 + [2] * 5


@pytest.mark.parametrize("number", [0, 1, 4, 7, 999])
def test_every_file_is_in_one_batch(number):
    cuts = list(cut(tasks(number), 10))
    assert [task for batch in cuts for task in batch] == tasks(number)
    assert all(cuts)


def test_skipped_files_do_not_count_by_size():
    skipped = [replace(task, skip="too-large") for task in tasks(4, BATCH_BYTES)]
    assert [len(batch) for batch in cut(skipped, 200)] == [4]


@pytest.mark.parametrize(
    ("files", "large"),
    [
        (tasks(1_001, USUAL_BYTES), True),
        (tasks(1_000, USUAL_BYTES), False),
        (tasks(1_500, 100), False),
        (tasks(600, 3 * USUAL_BYTES), True),
        (tasks(5_000, USUAL_BYTES, "vendored"), False),
        ([], False),
    ],
    ids=["many", "few", "tiny", "large", "skipped", "none"],
)
def test_an_import_is_large_by_number_and_size_of_the_files_read(files, large):
    assert is_large(files, 1_000) is large
