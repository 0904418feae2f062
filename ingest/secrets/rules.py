"""Loads the rule files, gitleaks' and our own: patterns with keywords, of which a text must contain at least one."""

import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from typing import Any

from codequarry.ingest.secrets.engine import KeywordSet, compiled
from codequarry.ingest.secrets.policy import RULE_FILES


@dataclass(frozen=True, slots=True)
class SecretRule:
    """An RE2 pattern over UTF-8; ``group`` holds the secret; 0 means the first group that matched (or the whole match).

    ``entropy`` is the minimum in bits per character, ``judge`` names a test in ``values.JUDGES``.
    """

    id: str
    pattern: bytes
    keywords: tuple[str, ...]
    group: int = 0
    entropy: float = 0.0
    judge: str = ""

    def find(self, data: bytes) -> Iterator[tuple[int, int]]:
        """Yield the spans that match, before they are judged."""
        # Compiled when a text has a keyword of the rule: few repositories need most of the rules.
        for match in compiled(self.pattern).finditer(data):
            yield match.span(self.group or next((at for at, text in enumerate(match.groups(), 1) if text), 0))


class RuleBook:
    """The rules of all files; one pass over a text finds those worth trying."""

    def __init__(self, rules: tuple[SecretRule, ...]) -> None:
        self._rules = rules
        keywords = sorted({keyword for rule in rules for keyword in rule.keywords})
        self._keywords = KeywordSet(keywords)
        places = {keyword: place for place, keyword in enumerate(keywords)}
        self._rules_of: list[list[int]] = [[] for _ in keywords]
        for number, rule in enumerate(rules):
            for keyword in rule.keywords:
                self._rules_of[places[keyword]].append(number)

    def worth_trying(self, lowered: bytes) -> list[SecretRule]:
        """Return the rules that have a keyword in the text, which must be in lower case."""
        numbers = {number for place in self._keywords.found_in(lowered) for number in self._rules_of[place]}
        return [self._rules[number] for number in sorted(numbers)]


@lru_cache(maxsize=1)
def rule_book() -> RuleBook:
    """Return the rules, read on the first call (10 ms)."""
    return RuleBook(tuple(_rule(entry) for name in RULE_FILES for entry in _entries(name)))


def _entries(name: str) -> list[dict[str, Any]]:
    entries: list[dict[str, Any]] = tomllib.loads(files(__package__).joinpath(name).read_text("utf-8"))["rules"]
    return entries


def _rule(entry: dict[str, Any]) -> SecretRule:
    keywords = tuple(keyword.lower() for keyword in entry["keywords"])
    return SecretRule(
        entry["id"],
        entry["regex"].encode(),
        keywords,
        entry.get("group", 0),
        entry.get("entropy", 0.0),
        entry.get("judge", ""),
    )
