"""A text whose secrets were masked, and where they were."""

from dataclasses import dataclass

from codequarry.shared.secret_counts import SecretCounts

MASK = "*"
PRIVATE_KEY = "private-key"
# What may stand between two lines of one private key: quotes, line ends as `\\n`, white space and a sign.
RUN_GAP = 60


@dataclass(frozen=True, slots=True)
class FoundSecret:
    """One finding: the rule, and where the secret is in the text's characters, the end exclusive."""

    rule: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class MaskedText:
    """A text in which every character of a secret is a ``*``; ``secrets`` say where those were."""

    text: str
    secrets: tuple[FoundSecret, ...] = ()

    @property
    def counts(self) -> SecretCounts:
        """The findings by rule; a private key counts once, though each of its lines is masked by itself."""
        counted: list[str] = []
        last = FoundSecret("", -RUN_GAP, -RUN_GAP)
        for one in self.secrets:
            goes_on = one.rule == last.rule == PRIVATE_KEY and one.start - last.end < RUN_GAP
            counted += [] if goes_on else [one.rule]
            last = one
        return SecretCounts.of_rules(counted)

    def touches(self, start: int, end: int) -> bool:
        """Return whether a secret has a character in such a range."""
        return any(secret.start < end and start < secret.end for secret in self.secrets)
