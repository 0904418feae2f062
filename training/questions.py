"""Words that people put before what they look for; a third of the texts get some of them during training."""

from collections.abc import Sequence

from codequarry.shared.embedding.vocabulary import Vocabulary

# Our own list of everyday forms; none comes from a set of queries that anything is measured on.
FORMS = (
    "how does {} work", "how do i", "how to", "how can i", "how is", "how are", "where is", "where are", "where do we",
    "what does", "what is", "which function", "which code", "what happens when", "why does", "find the code that",
    "show me the code that", "code that", "code to", "function to", "function that", "method to", "class that",
    "example of", "implementation of", "using", "check if", "get the", "when", "is there a way to",
)  # fmt: skip


def question_tokens(vocabulary: Vocabulary) -> tuple[tuple[int, ...], ...]:
    """Return the tokens of each form."""
    return tuple(tuple(vocabulary.ids(form)) for form in FORMS)


def language_tokens(vocabulary: Vocabulary, languages: Sequence[str]) -> tuple[tuple[int, ...], ...]:
    """Return the tokens of each language's name."""
    return tuple(tuple(vocabulary.ids(name)) for name in languages)
