"""A text with masked secrets, and their positions."""

from dataclasses import dataclass

from codequarry.shared.secret_counts import SecretCounts

MASK = "*"
PRIVATE_KEY = "private-key"
# Limit for the characters between two lines of a private key: quotes, line ends as `\\n`, white space and a sign.
RUN_GAP = 60


@dataclass(frozen=True, slots=True)
class FoundSecret:
    """The rule and the character range (end exclusive) of a secret."""

    rule: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class MaskedText:
    """A text in which every character of a secret is a ``*``; ``secrets`` has their positions."""

    text: str
    secrets: tuple[FoundSecret, ...] = ()

    @property
    def counts(self) -> SecretCounts:
        """The number of secrets by rule; the lines of a private key, masked separately, count once."""
        counted: list[str] = []
        last = FoundSecret("", -RUN_GAP, -RUN_GAP)
        for secret in self.secrets:
            continues = secret.rule == last.rule == PRIVATE_KEY and secret.start - last.end < RUN_GAP
            counted += [] if continues else [secret.rule]
            last = secret
        return SecretCounts.of_rules(counted)

    def touches(self, start: int, end: int) -> bool:
        """Return whether a secret overlaps a character range."""
        return any(secret.start < end and start < secret.end for secret in self.secrets)
