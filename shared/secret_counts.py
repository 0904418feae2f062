"""How many secrets were masked in a file, by rule: what a file record keeps of them."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

_BEGIN = "masked: "


@dataclass(frozen=True, slots=True)
class SecretCounts:
    """Numbers of secrets by rule, in so many files; never a secret, nor the hash of one, which gives weak ones away."""

    by_rule: Mapping[str, int] = field(default_factory=dict)
    files: int = 0

    @classmethod
    def of_rules(cls, rules: Iterable[str]) -> "SecretCounts":
        """Count findings by their rule."""
        found = Counter(rules)
        return cls(dict(sorted(found.items())), int(bool(found)))

    @classmethod
    def of_detail(cls, detail: str) -> "SecretCounts":
        """Read the ``detail`` of a file record; nothing was masked where it says something else."""
        if not detail.startswith(_BEGIN):
            return cls()
        parts = (part.rpartition("=") for part in detail.removeprefix(_BEGIN).split(" "))
        return cls({rule: int(count) for rule, _, count in parts if rule and count.isdigit()}, 1)

    @classmethod
    def of_details(cls, details: Iterable[str]) -> "SecretCounts":
        """Add up what many file records say."""
        return sum(map(cls.of_detail, details), cls())

    @property
    def detail(self) -> str:
        """What a file record keeps: ``masked: jwt=1 private-key=2``, empty where nothing was masked."""
        found = " ".join(f"{rule}={count}" for rule, count in self.by_rule.items())
        return _BEGIN + found if found else ""

    @property
    def total(self) -> int:
        """How many secrets there are."""
        return sum(self.by_rule.values())

    def __add__(self, other: "SecretCounts") -> "SecretCounts":
        return SecretCounts(
            dict(sorted((Counter(self.by_rule) + Counter(other.by_rule)).items())), self.files + other.files
        )
