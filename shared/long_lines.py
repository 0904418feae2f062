"""Shortens lines that are too long for people and agents to read: a minified file may have a megabyte in one line."""

from collections.abc import Iterable

# Wider than any line that somebody wrote by hand.
MOST_CHARACTERS = 1_000
# What is shown before a word that was searched for.
_BEFORE = 200


def shorten_line(line: str, words: Iterable[str] = ()) -> str:
    """Return a line, or the part of a long one with the first of ``words``, else its start; say what is left out."""
    if len(line) <= MOST_CHARACTERS:
        return line
    lower = line.lower()
    places = [at for word in words if (at := lower.find(word)) >= 0]
    start = max(0, min(places, default=0) - _BEFORE)
    shown = line[start : start + MOST_CHARACTERS]
    left = len(line) - start - len(shown)
    before = f"… {start:,} characters, then " if start else ""
    return f"{before}{shown}{f' … {left:,} more characters' if left else ''}"


def shorten_lines(text: str) -> str:
    """Return a text with its long lines shortened."""
    if len(text) <= MOST_CHARACTERS:
        return text
    return "\n".join(map(shorten_line, text.split("\n")))
