"""Why two texts are near: what their tokens add to the similarity, and which models can tell."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar, runtime_checkable


@dataclass(frozen=True, slots=True)
class Pair:
    """What a token of the query and a token of the document add, and how often each counts (declared names: more)."""

    query: str
    document: str
    query_count: int
    document_count: int
    contribution: float


@dataclass(frozen=True, slots=True)
class TokenShare:
    """A token of a text, how often it counts, and what it adds together with all tokens of the other text."""

    token: str
    count: int
    contribution: float


class Contribution(Protocol):
    """Anything that adds to a similarity."""

    @property
    def contribution(self) -> float:
        """What it adds; negative if it takes away."""
        ...


Part = TypeVar("Part", bound=Contribution)


@dataclass(frozen=True, slots=True)
class Parts(Generic[Part]):
    """Contributions of one kind: their number, their sum, and the largest of them, in order."""

    count: int
    total: float
    top: Sequence[Part]

    @property
    def others(self) -> int:
        """Number of contributions that are not in ``top``."""
        return self.count - len(self.top)

    @property
    def rest(self) -> float:
        """Sum of the contributions that are not in ``top``."""
        return self.total - sum(part.contribution for part in self.top) if self.others else 0.0


@dataclass(frozen=True, slots=True)
class TokenExplanation:
    """A similarity split in three ways, each of which adds up to it: by pairs, by query tokens, by document tokens.

    Of the pairs, ``shared`` are tokens that both texts have, ``related`` are different tokens that add something, and
    ``opposed`` are tokens that take away. A text without tokens adds nothing.
    """

    similarity: float
    shared: Parts[Pair]
    related: Parts[Pair]
    opposed: Parts[Pair]
    query: Parts[TokenShare]
    document: Parts[TokenShare]


@runtime_checkable
class Explaining(Protocol):
    """What an embedder can also do if its vectors are sums over tokens."""

    def explain(self, query: str, document: str, most: int) -> TokenExplanation:
        """Split the cosine of a query and a document, with the ``most`` largest contributions of each kind."""
        ...
