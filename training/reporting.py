"""Telling how far the training is."""

import sys
import time


def say(text: str) -> None:
    """Tell it on stderr, with the time of day."""
    print(f"{time.strftime('%H:%M:%S')} {text}", file=sys.stderr, flush=True)
