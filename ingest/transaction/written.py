"""What a run has written so far."""

from collections import Counter
from dataclasses import dataclass, field, fields

from codequarry.shared.secret_counts import SecretCounts


@dataclass
class Written:
    """What a run has written so far."""

    files: int = 0
    rows: int = 0
    chunks: int = 0
    embedded: int = 0
    reused: int = 0
    tokens: int = 0
    described: int = 0
    commentary_reused: int = 0
    commentary_missing: int = 0
    commentary_tokens: int = 0
    commentary_problem: str = ""
    history_problem: str = ""
    verdicts: Counter[str] = field(default_factory=Counter)
    secrets: SecretCounts = field(default_factory=SecretCounts)

    def add(self, other: "Written") -> None:
        """Add what another process has written."""
        for name in (count.name for count in fields(self) if isinstance(count.default, int)):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.commentary_problem = self.commentary_problem or other.commentary_problem
        self.history_problem = self.history_problem or other.history_problem
        self.verdicts.update(other.verdicts)
        self.secrets += other.secrets
