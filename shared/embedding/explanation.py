"""Why two texts are similar: what their tokens add to the similarity, and which models can explain it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar, runtime_checkable


@dataclass(frozen=True, slots=True)
class Pair:
    """What a query token and a document token add, and how often each counts (more often in declared names)."""

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
    """Anything that contributes to a similarity."""

    @property
    def contribution(self) -> float:
        """The amount that it adds; negative if it lowers the similarity."""
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

    Among the pairs, ``shared`` are tokens that both texts have, ``related`` are different tokens that raise the
    similarity, and ``opposed`` are tokens that lower it. A text without tokens adds nothing.
    """

    similarity: float
    shared: Parts[Pair]
    related: Parts[Pair]
    opposed: Parts[Pair]
    query: Parts[TokenShare]
    document: Parts[TokenShare]


@runtime_checkable
class Explaining(Protocol):
    """The extra ability of an embedder whose vectors are sums over tokens."""

    def explain(self, query: str, document: str, most: int) -> TokenExplanation:
        """Split the cosine of a query and a document, with the ``most`` largest contributions of each kind."""
        ...
