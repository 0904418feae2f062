"""Questions about versions, each asked of the search engine and of git, with the comparison of their answers.

Every function of a question gets the ``Questions`` with the repository; what it returns as a difference is printed.
"""

import random
import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from bench.branched_repository import DECLARED, BranchedRepository
from codequarry.search_api.answers.hits import Hit, SearchAnswer
from codequarry.search_api.answers.symbol_versions import SymbolVersions
from codequarry.search_api.query.symbol_request import symbol_request
from codequarry.search_api.search.engine import SearchEngine, parse_request
from codequarry.search_api.search.symbol_versions import symbol_versions

# A page of hits, of which none is left out because its file has others; and as many as a page can have.
PAGE, MOST = {"top_k": 20, "max_per_file": 20}, {"top_k": 200, "max_per_file": 200}
DEFINES = r"^[[:space:]]*(async )?(def|class) {}[^A-Za-z0-9_]"
DEFINED = re.compile(r"^[+-]?\s*(?:async )?(?:def|class) (\w{6,})\b", re.MULTILINE)
FEW_FILES = 5
# What the first run of a version reads, by default.
MESSAGES, DIFFS = 1000, 100
Place = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Question:
    """A question with its cases; ``differences`` compares the answers to one case."""

    title: str
    cases: Callable[["Questions"], Sequence[str]]
    ours: Callable[["Questions", SearchEngine, str], Any]
    git: Callable[["Questions", str], str]
    differences: Callable[["Questions", str, Any, str], list[str]]


@dataclass(frozen=True)
class Questions:
    """What questions are asked about: a repository, and how many cases of each question."""

    made: BranchedRepository
    seed: int
    count: int

    def some(self, values: Sequence[str]) -> list[str]:
        """Return some of the values, the same in every run."""
        return random.Random(self.seed).sample(sorted(set(values)), min(self.count, len(set(values))))

    @cached_property
    def subjects(self) -> dict[str, str]:
        """The first line of the message of each commit that is at the tip or near it."""
        commits = (self.made.default, *self.made.branches)
        lines = self.made.git("log", "--no-walk", "--format=%H %s", *commits).splitlines()
        lines += self.made.git("log", "--max-count=1500", "--format=%H %s", self.made.default).splitlines()
        return dict((commit, subject) for commit, _, subject in (line.partition(" ") for line in lines))

    @property
    def steps(self) -> tuple[str, ...]:
        """The arguments with which git tells about the steps of the default branch that were indexed one by one."""
        return ("--first-parent", "--diff-merges=first-parent", f"{self.made.heads[0]}..{self.made.heads[-1]}")

    @cached_property
    def changed_names(self) -> list[str]:
        """Names whose definitions were added, removed or changed in these steps, and that few files declare."""
        patch = self.made.git("log", *self.steps, "--patch", "-U0", "--format=", "--", "*.py")
        changed = "\n".join(line for line in patch.splitlines() if line[:1] in "+-" and line[:3] not in ("+++", "---"))
        return [name for name in sorted(set(DEFINED.findall(changed))) if self._is_rare(name)]

    @cached_property
    def names(self) -> list[str]:
        """Names that the default branch declares and that few of its files mention."""
        found = self.made.git("grep", "-h", "-E", DEFINES.format("[a-z_]{8,}"), self.made.default, "--", "*.py")
        chance = random.Random(self.seed)
        names = sorted(set(DEFINED.findall(found)))
        chance.shuffle(names)
        return [name for name in names[: 10 * self.count] if self._is_rare(name)]

    def _is_rare(self, name: str) -> bool:
        return len(self.made.git("grep", "-l", "-w", "-F", name, self.made.default).split()) <= FEW_FILES

    @cached_property
    def commits(self) -> str:
        """The commits of the default branch that are indexed, one per line."""
        return self._indexed(MESSAGES)

    @cached_property
    def commits_with_changes(self) -> str:
        """Those whose changes are indexed too."""
        return self._indexed(DIFFS)

    def _indexed(self, first: int) -> str:
        start, end = self.made.heads[0], self.made.heads[-1]
        return self.made.git("rev-list", f"--max-count={first}", start) + self.made.git("rev-list", f"{start}..{end}")


# Which versions contain a text?


def _places(questions: Questions, hits: Sequence[Hit], name: str) -> Iterator[Place]:
    """Yield the versions and paths of the hits and their variants whose text has the name."""
    variants = [(hit, variant) for hit in hits for variant in hit.variants or ()]
    contents = questions.made.contents({variant.blob for _, variant in variants})
    for hit in hits:
        if mentions(name, hit.text):
            yield from ((version.ref, hit.path) for version in hit.versions or ())
    for hit, variant in variants:
        lines = contents[variant.blob][variant.start_line - 1 : variant.end_line]
        if mentions(name, "\n".join(lines)):
            yield from ((version.ref, hit.path) for version in variant.versions)


def mentions(name: str, text: str) -> bool:
    """Return whether a text has a name as a whole word."""
    return re.search(rf"\b{re.escape(name)}\b", text) is not None


def differences_of(ours: set[Any], expected: set[Any]) -> list[str]:
    """Return what only one of two answers has."""
    differences = [(f"{len(ours - expected)} only ours", ours - expected)] if ours - expected else []
    differences += [(f"{len(expected - ours)} only git's", expected - ours)] if expected - ours else []
    return [f"{label}, such as {sorted(values)[:3]}" for label, values in differences]


def about(case: str, differences: list[str]) -> list[str]:
    """Return the differences of a case as one line."""
    return [f"{case}: {'; '.join(differences)}"] if differences else []


def _containing(_: Questions, engine: SearchEngine, name: str) -> SearchAnswer:
    return engine.search(parse_request({"query": f'"{name}"', **PAGE, "filters": {"ref": "*"}}))


def _compare_containing(questions: Questions, name: str, answer: SearchAnswer, told: str) -> list[str]:
    ours = set(_places(questions, answer.results, name))
    return about(name, differences_of(ours, {_place(line) for line in told.splitlines()}))


def _place(line: str) -> Place:
    ref, path = line.split(":", 2)[:2]
    return ref, path


CONTAINING = Question(
    "a. versions that contain a text",
    lambda questions: [*questions.some(DECLARED), *questions.some(questions.names)],
    _containing,
    lambda questions, name: questions.made.git("grep", "-l", "-w", "-F", name, *questions.made.versions),
    _compare_containing,
)


# Which versions have a declaration, with which text, and which lack it?


def _compare_declaring(questions: Questions, name: str, answer: SymbolVersions, told: str) -> list[str]:
    made, ours, texts = questions.made, set(), defaultdict(set)
    problems = []
    for declaration in answer.declarations:
        having = [version.ref for text in declaration.texts for version in text.versions]
        lacking = [version.ref for version in declaration.lacking]
        if sorted([*having, *lacking]) != sorted(made.versions):
            problems.append(f"{declaration.path} does not have every version once")
        ours |= {(ref, declaration.path) for ref in having}
        contents = made.contents({f"{ref}:{declaration.path}" for ref in having})
        for text in declaration.texts:
            for version in text.versions:
                lines = contents[f"{version.ref}:{declaration.path}"][version.start_line - 1 : version.end_line]
                if not text.shared:
                    texts[declaration.path, declaration.symbol, text.content_hash].add("\n".join(lines).strip("\n"))
    problems += [f"{place[0]} has {len(found)} texts as one" for place, found in texts.items() if len(found) > 1]
    for text in range(2):
        known = frozenset(made.declared.get((name, text), ()))
        found = {frozenset(v.ref for v in text.versions) for item in answer.declarations for text in item.texts}
        if known and known not in found:
            problems.append(f"text {text} is not in exactly its {len(known)} branches")
    expected = {_place(line) for line in told.splitlines() if DEFINED.match(line.split(":", 3)[3])}
    return about(name, [*problems, *differences_of(ours, expected)])


def _definitions(questions: Questions, name: str) -> str:
    # Patterns instead of fixed words make git grep five to twenty times slower.
    return questions.made.git("grep", "-n", "-w", "-F", *_defining(name), *questions.made.versions, "--", "*.py")


def _defining(name: str) -> tuple[str, ...]:
    return "-e", f"def {name}", "-e", f"class {name}"


DECLARING = Question(
    "b. versions that declare a symbol",
    CONTAINING.cases,
    lambda _, engine, name: symbol_versions(engine, symbol_request(name, {}, limit=200)),
    _definitions,
    _compare_declaring,
)
