"""The signals of a candidate, each between 0 and 1.

semantic     how near its vector is to the query's
lexical      the share of the query's information that its tokens hold (bm25f.py)
definition   how exactly it defines a symbol that the query names
path         whether the query names its path
phrase       the share of the quoted phrases that it holds verbatim
"""

from collections.abc import Sequence
from dataclasses import dataclass

from codequarry.search_api.query.names import Name
from codequarry.shared.model import Candidate, Chunk

# A name that differs only in case or underscores is probably meant, but an exact match is likelier.
EXACT_NAME = 1.0
SAME_LETTERS = 0.6
SAME_WORDS = 0.45
# The candidate has a different scope from the query's name: `Writer.read` for `Reader.read`.
WRONG_SCOPE = 0.5
# A chunk of several small neighbours is less about each symbol that it defines.
ONE_OF_SEVERAL = 0.95
# A class that lists a member may only declare it; if the member has its own chunk, that chunk defines it.
MEMBER = 0.8
# A prototype or an interface's method; the implementation should rank above it.
WITHOUT_BODY = 0.93
# The part of a split symbol with its signature defines it; the first part (its doc comment) is better than the middle.
FIRST_PART = 0.9
LATER_PART = 0.5
# Number of characters of a signature that suffice to recognise it in a part.
SIGNATURE_HEAD = 24
# Weight of a definition by type of chunk: classes above their constructors, code above a heading with the same words.
DEFINING_TYPES = {
    "class": 1.0,
    "interface": 1.0,
    "enum": 1.0,
    "function": 1.0,
    "method": 0.98,
    "block": 0.98,
    "config": 0.6,
    "file": 0.6,
    "documentation": 0.3,
}


@dataclass(frozen=True, slots=True)
class Signals:
    """The signals of one candidate, each 0 to 1."""

    semantic: float = 0.0
    lexical: float = 0.0
    definition: float = 0.0
    path: float = 0.0
    phrase: float = 0.0


def semantic_signal(similarity: float | None) -> float:
    """Return the cosine, or 0 if it is negative: opposite meanings are no nearer than unrelated meanings."""
    return min(max(similarity or 0.0, 0.0), 1.0)


def definition_signal(chunk: Chunk, names: Sequence[Name]) -> float:
    """Return how exactly a chunk defines one of the named symbols."""
    best = max((_defines(chunk, name) for name in names), default=0.0)
    if not best:
        return 0.0
    return best * DEFINING_TYPES[chunk.symbol_type] * _part_weight(chunk)


def _part_weight(chunk: Chunk) -> float:
    if not chunk.symbol_part or (chunk.signature and chunk.signature[:SIGNATURE_HEAD] in chunk.text):
        return 1.0
    return FIRST_PART if chunk.symbol_part.startswith("1/") else LATER_PART


def _defines(chunk: Chunk, name: Name) -> float:
    fit = _is_named(chunk, name.last)
    if not fit:
        among = max((_same_name(defined, name.last) for defined in chunk.defines), default=0.0)
        fit = among * (MEMBER if chunk.symbol_name else ONE_OF_SEVERAL)
    if fit and name.scope and not _defines_in_full(chunk, name) and not _in_scope(chunk, name.scope):
        fit *= WRONG_SCOPE
    return fit


def _defines_in_full(chunk: Chunk, name: Name) -> bool:
    """Return whether the chunk defines the name with its scope, as keys of configuration are: ``server.port``."""
    wanted = name.qualified.lower()
    return any(defined.lower() == wanted for defined in chunk.defines)


def _is_named(chunk: Chunk, asked: str) -> float:
    if not chunk.symbol_name:
        return 0.0
    is_bare = chunk.symbol_type in ("function", "method") and chunk.body_start_char is None
    return _same_name(chunk.symbol_name, asked) * (WITHOUT_BODY if is_bare else 1.0)


def _same_name(defined: str, asked: str) -> float:
    if defined == asked:
        return EXACT_NAME
    lower, wanted = defined.lower(), asked.lower()
    if lower == wanted:
        return SAME_LETTERS
    return SAME_WORDS if lower.replace("_", "") == wanted.replace("_", "") else 0.0


def _in_scope(chunk: Chunk, scope: Sequence[str]) -> bool:
    """Return whether the chunk's path, package and qualified name contain the parts of a scope in order."""
    words = f"{chunk.path} {chunk.package or ''} {chunk.qualified_name or ''}".lower()
    position = 0
    for part in scope:
        position = words.find(part.lower(), position)
        if position < 0:
            return False
    return True


def path_signal(path: str, paths: Sequence[str]) -> float:
    """Return 1 if the query names the file or the end of its path, or else 0."""
    lower = path.lower()
    return float(any(lower == asked or lower.endswith("/" + asked) for asked in paths))


def phrase_signal(candidate: Candidate, phrases: Sequence[str]) -> float:
    """Return the share of phrases in the text, documentation or path; a match in a different case counts 0.6."""
    if not phrases:
        return 0.0
    chunk = candidate.chunk
    text = f"{chunk.text}\n{chunk.doc}\n{chunk.path}"
    found = sum(EXACT_NAME if phrase in text else SAME_LETTERS * (phrase.lower() in text.lower()) for phrase in phrases)
    return found / len(phrases)
