"""Turns comments into documentation text, and declarations into one-line signatures."""

import re

# Longer doc comments are cut: the first paragraphs have the explanation.
MAX_DOC_CHARACTERS = 2_000
# The documentation of each definition is shortened to this many characters; its chunk has all of it.
MAX_SENTENCE = 120
# Longer signatures are parameter lists that nobody reads in a search result.
MAX_SIGNATURE_CHARACTERS = 500

_OPENING = re.compile(r"^\s*(?:/\*+(?!/)!?|\(\*+(?!\))|<!--+|//[/!]*|#+[!']?|--+(?: [|^])?|;+|%+)[ \t]?")
_CLOSING = re.compile(r"(?<!\s)\s*(?:(?<!\*)\*+[/)]|(?<!-)--+>)\s*$")
_STAR = re.compile(r"^\s*\*+(?!/)[ \t]?")
_PARAMETER = re.compile(r"""<(?:param|typeparam|exception)\s+(?:name|cref)="(?:[A-Z]:)?([^"]*)"\s*>""")
_XML_TAG = re.compile(
    r"</?(?:summary|remarks|para|returns|value|example|c|code|see|seealso|exception|param|typeparam)\b[^>]*>"
)
_CREF = re.compile(r"""<(?:see|paramref|typeparamref|seealso)\s+(?:cref|name|langword)="(?:[A-Z]:)?([^"]*)"\s*/>""")
_TRAILER = re.compile(r"(?<!\s)\s*(?:\{|:|=>|=|\bdo|;|\bthen)\s*$")


def clean_comment(text: str) -> str:
    """Return the text of a block or line comment without its comment markers."""
    if text.lstrip().startswith(("/*", "(*", "<!--")):
        first, *following = _CLOSING.sub("", _OPENING.sub("", text, count=1)).split("\n")
        lines = [first.strip(), *(_STAR.sub("", line).strip() for line in following)]
    else:
        lines = [_OPENING.sub("", line).rstrip() for line in text.split("\n")]
    cleaned = "\n".join(lines)
    if "<" in cleaned:
        cleaned = _XML_TAG.sub("", _PARAMETER.sub(r"\1: ", _CREF.sub(r"\1", cleaned)))
    return cleaned.strip()


def doc_text(comments: list[str]) -> str:
    """Join the comments before a declaration into its documentation."""
    joined = "\n".join(filter(None, (clean_comment(comment) for comment in comments)))
    return shorten(joined, MAX_DOC_CHARACTERS)


def shorten(text: str, limit: int) -> str:
    """Cut ``text`` at the last white space before ``limit`` characters."""
    if len(text) <= limit:
        return text
    cut = text[:limit]
    head = cut.rsplit(None, 1)[0] if len(cut.split(None, 1)) > 1 else cut
    return head.rstrip()


def fold_signature(text: str) -> str:
    """Return the head of a declaration in one line, without the token that opens its body."""
    folded = " ".join(text.split())
    while (shorter := _TRAILER.sub("", folded)) != folded:
        folded = shorter
    return shorten(folded, MAX_SIGNATURE_CHARACTERS)


def summary(doc: str, limit: int = 200) -> str:
    """Return the first paragraph of a documentation text in one line."""
    return shorten(" ".join(doc.split("\n\n", 1)[0].split()), limit)
