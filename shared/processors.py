"""The number of processors and of numpy's threads, which must be set before numpy is imported."""

import os


def use_one_blas_thread() -> None:
    """Compute each matrix-vector product in one thread, unless the environment says otherwise.

    These products are memory-bound: a second thread mostly spins and takes processor time from other searches.
    Measured with 144 queries over 62,000 chunks on 2 busy cores: 25 instead of 44 ms of processor time per search, and
    p50 46 instead of 59 ms.
    """
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


def processor_count() -> int:
    """Return the number of processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
