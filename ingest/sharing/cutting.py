"""Whether an import is worth sharing, and the batches that it is cut into: both by what its files take to read."""

from collections.abc import Iterator, Sequence

from codequarry.ingest.files.scan import FileTask

# The mean over the 7,500 files of 8 public repositories; there half of the time goes by files, half by their bytes.
USUAL_BYTES = 5_500
# A batch ends with the files of the settings or so many bytes: all take about as long, so nobody is waited for.
BATCH_BYTES = 4_000_000
# At the end small batches, so that all who take part end at about the same time: the last fifth, in quarters.
LAST_SHARE = 5
LAST_PARTS = 4


def is_large(tasks: Sequence[FileTask], share_files: int) -> bool:
    """Tell whether the files that are read take as long as more than ``share_files`` of the usual size."""
    read = [task.size for task in tasks if task.skip is None]
    return len(read) / 2 + sum(read) / USUAL_BYTES / 2 > share_files


def cut(tasks: Sequence[FileTask], most_files: int) -> Iterator[list[FileTask]]:
    """Yield the batches, in order."""
    last = len(tasks) - len(tasks) // LAST_SHARE
    batch: list[FileTask] = []
    size = 0
    for at, task in enumerate(tasks):
        part = 1 if at < last else LAST_PARTS
        batch.append(task)
        size += _bytes(task)
        if len(batch) * part >= most_files or size * part >= BATCH_BYTES:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _bytes(task: FileTask) -> int:
    return task.size if task.skip is None else 0
