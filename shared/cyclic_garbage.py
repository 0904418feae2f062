"""Python's search for cyclic garbage, which costs time for every object that stays."""

import gc

# New objects between two searches (Python's default is 700, 10 and 10). An index run makes millions that stay, and
# hardly a cycle: on 4,900 chunks its process spent 0.05 instead of 0.17 of 3.4 s on searches, in the same memory.
_THRESHOLDS = (50_000, 20, 20)


def search_garbage_rarely() -> None:
    """Search less often, in a process that ends when its work is done."""
    gc.set_threshold(*_THRESHOLDS)
