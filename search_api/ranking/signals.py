"""What speaks for a candidate, each thing between 0 and 1.

semantic     how near its vector is to the query's
lexical      the share of the query's information that its tokens hold (lexical.py)
definition   how exactly it defines a symbol that the query names
path         whether its path is one that the query names
phrase       the share of the quoted phrases that it holds verbatim
"""

from collections.abc import Sequence
from dataclasses import dataclass

from codequarry.search_api.query.names import Name
from codequarry.shared.model import Candidate, Chunk

# A name in another case or without its underscores is likely meant, but one written exactly so is likelier.
EXACT_NAME = 1.0
SAME_LETTERS = 0.6
SAME_WORDS = 0.45
# The scope that the query gives is not the candidate's: `Reader.read` asked, `Writer.read` found.
WRONG_SCOPE = 0.5
# Among the several things that a chunk of small neighbours defines, each is less what the chunk is about.
ONE_OF_SEVERAL = 0.95
# A class that lists a member may only declare it; where the member has a chunk of its own, that defines it.
MEMBER = 0.8
# A prototype, or a method of an interface: what is looked for is where the thing is done.
WITHOUT_BODY = 0.93
# Where a symbol was split, the part that has its signature defines it, and its doc comment is better than its middle.
FIRST_PART = 0.9
LATER_PART = 0.5
# So much of a signature is enough to tell whether a part has it.
SIGNATURE_HEAD = 24
# What defines a name: types before what they construct, code before a heading that has the same words.
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
    """Return the cosine where it is positive: opposite meanings are no nearer than unrelated ones."""
    return min(max(similarity or 0.0, 0.0), 1.0)


def definition_signal(chunk: Chunk, names: Sequence[Name]) -> float:
    """Return how exactly a chunk defines one of the named symbols."""
    best = max((_defines(chunk, name) for name in names), default=0.0)
    if not best:
        return 0.0
    return best * DEFINING_TYPES[chunk.symbol_type] * _part_weight(chunk)


def _part_weight(chunk: Chunk) -> float:
    """Return how much of a definition a part of a split symbol is."""
    if not chunk.symbol_part or (chunk.signature and chunk.signature[:SIGNATURE_HEAD] in chunk.text):
        return 1.0
    return FIRST_PART if chunk.symbol_part.startswith("1/") else LATER_PART


def _defines(chunk: Chunk, name: Name) -> float:
    fit = _is_named(chunk, name.last)
    if not fit:
        among = max((_same_name(defined, name.last) for defined in chunk.defines), default=0.0)
        fit = among * (MEMBER if chunk.symbol_name else ONE_OF_SEVERAL)
    if fit and name.scope and not _in_scope(chunk, name.scope):
        fit *= WRONG_SCOPE
    return fit


def _is_named(chunk: Chunk, asked: str) -> float:
    """Return how well the chunk's own symbol has the name that is asked for."""
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
    """Tell whether the parts before a name are, in order, in the chunk's qualified name, package or file path."""
    words = f"{chunk.path} {chunk.package or ''} {chunk.qualified_name or ''}".lower()
    position = 0
    for part in scope:
        position = words.find(part.lower(), position)
        if position < 0:
            return False
    return True


def path_signal(path: str, paths: Sequence[str]) -> float:
    """Return 1 for a path that the query names by its file or more of its end."""
    lower = path.lower()
    return float(any(lower == asked or lower.endswith("/" + asked) for asked in paths))


def phrase_signal(candidate: Candidate, phrases: Sequence[str]) -> float:
    """Return the share of the phrases that the text, its documentation or its path holds, in their case or not."""
    if not phrases:
        return 0.0
    chunk = candidate.chunk
    text = f"{chunk.text}\n{chunk.doc}\n{chunk.path}"
    found = sum(EXACT_NAME if phrase in text else SAME_LETTERS * (phrase.lower() in text.lower()) for phrase in phrases)
    return found / len(phrases)
