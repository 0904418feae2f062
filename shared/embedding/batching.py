"""Splitting many texts into requests of bounded size."""

from collections.abc import Iterator, Sequence

from codequarry.shared.embedding.tokens import count_tokens


def batches(texts: Sequence[str], most_texts: int, most_tokens: int) -> Iterator[list[int]]:
    """Yield the indices of the texts of each request; empty texts are left out, a text that is too long goes alone."""
    members: list[int] = []
    tokens = 0
    for index, text in enumerate(texts):
        if not text:
            continue
        count = count_tokens(text)
        if members and (len(members) == most_texts or tokens + count > most_tokens):
            yield members
            members, tokens = [], 0
        members.append(index)
        tokens += count
    if members:
        yield members
