"""How many processors there are, and how numpy shares them; that is to be said before numpy is imported."""

import os


def use_one_blas_thread() -> None:
    """Compute each matrix-vector product in one thread, unless the environment says otherwise.

    Such a product waits for memory, not for processors; a second thread mostly spins, and takes the processor from the
    next search. Measured with 144 questions over 62,000 chunks on 2 busy cores: 25 instead of 44 ms of processor time
    and p50 46 instead of 59 ms a search.
    """
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


def processor_count() -> int:
    """Return how many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
