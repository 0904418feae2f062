"""Counts of masked secrets by rule, as kept in file records."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

_BEGIN = "masked: "


@dataclass(frozen=True, slots=True)
class SecretCounts:
    """The number of secrets by rule, and of files; never a secret or its hash, because a hash reveals weak secrets."""

    by_rule: Mapping[str, int] = field(default_factory=dict)
    files: int = 0

    @classmethod
    def of_rules(cls, rules: Iterable[str]) -> "SecretCounts":
        """Count findings by rule."""
        found = Counter(rules)
        return cls(dict(sorted(found.items())), int(bool(found)))

    @classmethod
    def of_detail(cls, detail: str) -> "SecretCounts":
        """Parse the ``detail`` of a file record; the counts are empty if it describes something else."""
        if not detail.startswith(_BEGIN):
            return cls()
        parts = (part.rpartition("=") for part in detail.removeprefix(_BEGIN).split(" "))
        return cls({rule: int(count) for rule, _, count in parts if rule and count.isdigit()}, 1)

    @classmethod
    def of_details(cls, details: Iterable[str]) -> "SecretCounts":
        """Add up the details of many file records."""
        return sum(map(cls.of_detail, details), cls())

    @property
    def detail(self) -> str:
        """The text for a file record, as in ``masked: jwt=1 private-key=2``; empty if nothing was masked."""
        found = " ".join(f"{rule}={count}" for rule, count in self.by_rule.items())
        return _BEGIN + found if found else ""

    @property
    def total(self) -> int:
        """The number of secrets."""
        return sum(self.by_rule.values())

    def __add__(self, other: "SecretCounts") -> "SecretCounts":
        return SecretCounts(
            dict(sorted((Counter(self.by_rule) + Counter(other.by_rule)).items())), self.files + other.files
        )
