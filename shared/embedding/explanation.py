"""Why two texts are near: what their tokens add to the similarity, and which models can tell."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar, runtime_checkable


@dataclass(frozen=True, slots=True)
class Pair:
    """A token of the query and one of the document; how often each counts, and what the two add together.

    A token counts as often as the text has it, and more where the model says so: a name that is declared.
    """

    query: str
    document: str
    query_count: int
    document_count: int
    contribution: float


@dataclass(frozen=True, slots=True)
class TokenShare:
    """A token of one text, how often it counts, and what it adds together with all tokens of the other text."""

    token: str
    count: int
    contribution: float


class Contribution(Protocol):
    """Whatever adds to a similarity."""

    @property
    def contribution(self) -> float:
        """What it adds; less than nothing where it takes away."""
        ...


Part = TypeVar("Part", bound=Contribution)


@dataclass(frozen=True, slots=True)
class Parts(Generic[Part]):
    """Contributions of one kind: how many there are, what they add in all, and the largest of them, in order."""

    count: int
    total: float
    top: Sequence[Part]

    @property
    def others(self) -> int:
        """How many are not among the largest."""
        return self.count - len(self.top)

    @property
    def rest(self) -> float:
        """What those add."""
        return self.total - sum(part.contribution for part in self.top) if self.others else 0.0


@dataclass(frozen=True, slots=True)
class TokenExplanation:
    """A similarity taken apart, in three ways that each add up to it; a text without any token has nothing to add.

    By pairs: ``shared`` are tokens that both texts have, ``related`` different ones that add something, ``opposed``
    those that take away. By the tokens of the query, and by those of the document.
    """

    similarity: float
    shared: Parts[Pair]
    related: Parts[Pair]
    opposed: Parts[Pair]
    query: Parts[TokenShare]
    document: Parts[TokenShare]


@runtime_checkable
class Explaining(Protocol):
    """What an embedder can do besides, if its vectors are sums over tokens."""

    def explain(self, query: str, document: str, most: int) -> TokenExplanation:
        """Take apart the similarity of a query and a document, with the ``most`` largest contributions of each kind.

        It is the cosine of ``embed_query`` and ``embed_documents`` of the two.
        """
        ...
