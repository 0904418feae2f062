"""The one token counter that chunk sizes are measured with, whatever model embeds the chunks.

Sub-word tokenizers cut code into words of at most some six letters, groups of digits and single signs. This counter
does the same with one expression, so that a change of the model changes strides, never chunks. White space is free,
and no token spans two lines: the count of a text is the sum of the counts of its lines.
"""

import re

# Ideographs, kana and Hangul are about one token a character; other letters about one for six.
_PIECE = re.compile(
    r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\U00020000-\U0003ffff]"
    r"|[^\W\d_\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\U00020000-\U0003ffff]{1,6}"
    r"|\d{1,3}"
    r"|[^\w\s]"
    r"|_"
)

# The same for ASCII, and several times as fast.
_ASCII_PIECE = re.compile(r"[A-Za-z]{1,6}|[0-9]{1,3}|[^\sA-Za-z0-9]")


def count_tokens(text: str) -> int:
    """Count the tokens of ``text``."""
    return len((_ASCII_PIECE if text.isascii() else _PIECE).findall(text))
