"""The grammars: an allow-list, loaded once per process, with a budget for each parse."""

import time
import zlib
from dataclasses import dataclass
from functools import cache
from typing import cast

import tree_sitter_language_pack as language_pack
from tree_sitter import Language, Node, Parser, Query, QueryCursor, QueryError, Tree

from codequarry.ingest.chunking.grammars.cfamily import CPP, C, looks_like_cpp
from codequarry.ingest.chunking.grammars.csharp import CSHARP
from codequarry.ingest.chunking.grammars.ecmascript import JAVASCRIPT, TSX, TYPESCRIPT
from codequarry.ingest.chunking.grammars.golang import GO
from codequarry.ingest.chunking.grammars.java import JAVA
from codequarry.ingest.chunking.grammars.kotlin import KOTLIN
from codequarry.ingest.chunking.grammars.php import PHP
from codequarry.ingest.chunking.grammars.python import PYTHON
from codequarry.ingest.chunking.grammars.ruby import RUBY
from codequarry.ingest.chunking.grammars.rust import RUST
from codequarry.ingest.chunking.grammars.scala import SCALA
from codequarry.ingest.chunking.grammars.shell import BASH
from codequarry.ingest.chunking.grammars.swift import SWIFT
from codequarry.ingest.chunking.language_spec import LanguageSpec
from codequarry.ingest.chunking.tagged_languages import OCAML_INTERFACE, TAGGED, looks_like_objective_c
from codequarry.ingest.chunking.tags import query_source, read_tags

# Only these languages are parsed: the pack has grammars that never return (cobol on the input "x").
SPECS: dict[str, LanguageSpec] = {
    "python": PYTHON,
    "javascript": JAVASCRIPT,
    "typescript": TYPESCRIPT,
    "go": GO,
    "rust": RUST,
    "java": JAVA,
    "kotlin": KOTLIN,
    "scala": SCALA,
    "c": C,
    "c++": CPP,
    "c#": CSHARP,
    "ruby": RUBY,
    "php": PHP,
    "swift": SWIFT,
    "shell": BASH,
    **TAGGED,
}

# Larger files are data, whatever their extension, and their trees take about fifty times their size in memory.
MAX_PARSED_BYTES = 2_000_000
# A parse of normal input reports progress at least once per eight bytes. A grammar that makes no progress is stopped at
# the same count on every machine.
_STEPS_PER_BYTE = 0.25
_FREE_STEPS = 2_000
# Error recovery can take seconds for a few steps. Processor time is measured, so that a busy machine makes the same
# chunks; files from real repositories need less than a tenth of this.
_MAX_PARSE_SECONDS = 4.0
# None of 14,398 source files (Go's and Python's libraries, C headers, seventeen repositories) compresses below 3%.
_REPETITIVE = 0.015
_STRETCH = 16_384
# Shorter stretches do no harm: a thousand repetitions take a tenth of a second.
_SHORTEST_STRETCH = 3_000


@dataclass(frozen=True, slots=True)
class Grammar:
    """A loaded language: its rules, parser tables and query."""

    spec: LanguageSpec
    language: Language
    query: Query

    def parse(self, data: bytes) -> Tree | None:
        """Parse a file; return None if it takes too long."""
        if len(data) > MAX_PARSED_BYTES or is_repetitive(data):
            return None
        source = memoryview(self.spec.prepare(data))
        budget = _Budget(_FREE_STEPS + int(len(data) * _STEPS_PER_BYTE))
        # The tree keeps the callback, not the text, so ``Node.text`` must not be used.
        try:
            return Parser(self.language).parse(lambda offset, point: source[offset:], progress_callback=budget.is_spent)
        except ValueError:  # raised if the callback stops the parse
            return None

    def captures(self, root: Node) -> dict[str, list[Node]]:
        """Run the query over the whole tree; the nodes of each capture come in file order."""
        # The binding collects nodes in sets, whose order differs between processes. The first binding of a name counts.
        found = QueryCursor(self.query).captures(root)
        return {name: sorted(nodes, key=_place) for name, nodes in found.items()}

    def read(self, root: Node, data: bytes) -> tuple[LanguageSpec, dict[str, list[Node]]]:
        """Return the rules for a tree and the captures of its query."""
        if self.spec.tags is not None:
            return read_tags(self.spec, self.query, root, data)
        return self.spec, self.captures(root)


def _place(node: Node) -> tuple[int, int, int]:
    return node.start_byte, node.end_byte, node.kind_id


def is_repetitive(data: bytes) -> bool:
    """Return whether some stretch of a file repeats a few bytes over and over."""
    # On thousands of ``x=>`` or ``a<b,``, error recovery runs for minutes in a single step, which no callback can stop.
    starts = range(0, max(len(data) - _STRETCH // 2, 1), _STRETCH)
    stretches = (data[start : start + _STRETCH] for start in starts)
    long = (stretch for stretch in stretches if len(stretch) >= _SHORTEST_STRETCH)
    return any(len(zlib.compress(stretch, 1)) < _REPETITIVE * len(stretch) for stretch in long)


class _Budget:
    def __init__(self, steps: int) -> None:
        self._left = steps
        self._deadline = time.thread_time() + _MAX_PARSE_SECONDS

    def is_spent(self, offset: int, has_error: bool) -> bool:
        self._left -= 1
        return self._left < 0 or time.thread_time() > self._deadline


def spec_for(language: str, path: str, text: str) -> LanguageSpec | None:
    """Return the rules for a file: JSX has its own grammar, and a header may be C++ or Objective-C."""
    lower = path.lower()
    if language == "typescript" and lower.endswith(".tsx"):
        return TSX
    if language == "c" and lower.endswith(".h"):
        if looks_like_objective_c(text):
            return SPECS["objective-c"]
        if looks_like_cpp(text):
            return CPP
    if language == "ocaml" and lower.endswith(".mli"):
        return OCAML_INTERFACE
    return SPECS.get(language)


@cache
def _load(name: str, query: str) -> tuple[Language, Query]:
    language = language_pack.get_language(cast("language_pack.SupportedLanguage", name))
    return language, Query(language, query)


def load_grammar(spec: LanguageSpec) -> Grammar | None:
    """Return the grammar of ``spec``, or None if the installation lacks it or has an incompatible version."""
    names = spec.naming.query if spec.naming is not None else ""
    try:
        # Query files are read when they are needed: a process that meets no Haskell never reads Haskell's.
        own = spec.query if spec.tags is None else query_source(spec.tags)
        language, query = _load(spec.grammar, own + names)
    except (LookupError, ImportError, OSError, QueryError):
        return None
    return Grammar(spec, language, query)
