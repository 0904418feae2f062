"""Requests in threads that nobody has to wait for: a silent server must not hold up a run that is to end."""

import queue
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress

from codequarry.shared.stop_request import LOOK_SECONDS, check_stop

Task = Callable[[], None]


def run_abandonable(tasks: Sequence[Task], most_threads: int, over: threading.Event) -> None:
    """Do tasks, several at a time; raise the first error, or Stopped or Interrupted if the run is to end.

    ``over`` is set when this returns or raises: tasks that have not begun are left out. Those that have begun go on in
    their threads, which do not keep the process from ending, and what they do is of no use to anybody.
    """
    waiting: queue.SimpleQueue[Task] = queue.SimpleQueue()
    outcomes: queue.SimpleQueue[BaseException | None] = queue.SimpleQueue()
    for task in tasks:
        waiting.put(task)

    def work() -> None:
        with suppress(queue.Empty):
            while not over.is_set():
                outcomes.put(_outcome(waiting.get_nowait()))

    try:
        for _ in range(min(most_threads, len(tasks))):
            threading.Thread(target=work, name="embed", daemon=True).start()
        for _ in tasks:
            if (error := _next(outcomes)) is not None:
                raise error
    finally:
        over.set()


def _outcome(task: Task) -> BaseException | None:
    try:
        task()
    except BaseException as error:
        return error
    return None


def _next(outcomes: "queue.SimpleQueue[BaseException | None]") -> BaseException | None:
    while True:
        check_stop()
        with suppress(queue.Empty):
            return outcomes.get(timeout=LOOK_SECONDS)
