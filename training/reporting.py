"""Prints the progress of the training."""

import sys
import time


def say(text: str) -> None:
    """Print a message to stderr, with the time of day."""
    print(f"{time.strftime('%H:%M:%S')} {text}", file=sys.stderr, flush=True)
