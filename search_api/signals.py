"""What speaks for a candidate, each thing between 0 and 1.

semantic     how near its vector is to the query's
lexical      the share of the query's information that its tokens hold (lexical.py)
definition   how exactly it defines a symbol that the query names
name         how far its symbol's name is made of the query's words
path         how far its path is one that the query names, or is made of the query's words
phrase       the share of the quoted phrases that it holds verbatim
"""

from collections.abc import Sequence
from dataclasses import dataclass

from codequarry.search_api.names import Name
from codequarry.shared.identifiers import split_identifier
from codequarry.shared.model import Candidate, Chunk

# A name in another case or without its underscores is likely meant, but one written exactly so is likelier.
EXACT_NAME = 1.0
SAME_LETTERS = 0.85
SAME_WORDS = 0.7
# The scope that the query gives is not the candidate's: `Reader.read` asked, `Writer.read` found.
WRONG_SCOPE = 0.5
# Among the several things that a chunk of small neighbours defines, each is less what the chunk is about.
ONE_OF_SEVERAL = 0.95
# Where a symbol was split, its first part has the name and the signature.
LATER_PART = 0.5
# What defines a name: types before what they construct, code before a heading that has the same words.
DEFINING_TYPES = {
    "class": 1.0,
    "interface": 1.0,
    "enum": 1.0,
    "function": 1.0,
    "method": 0.97,
    "block": 0.95,
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
    name: float = 0.0
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
    part = LATER_PART if chunk.symbol_part and not chunk.symbol_part.startswith("1/") else 1.0
    return best * DEFINING_TYPES[chunk.symbol_type] * part


def _defines(chunk: Chunk, name: Name) -> float:
    own = _same_name(chunk.symbol_name, name.last) if chunk.symbol_name else 0.0
    among = max((_same_name(defined, name.last) for defined in chunk.defines), default=0.0)
    fit = max(own, ONE_OF_SEVERAL * among)
    if fit and name.scope and not _in_scope(chunk, name.scope):
        fit *= WRONG_SCOPE
    return fit


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


def name_signal(chunk: Chunk, words: frozenset[str]) -> float:
    """Return the share of the words of the chunk's symbol name that the query has."""
    if not chunk.symbol_name or chunk.symbol_type == "documentation":
        return 0.0
    parts = set(split_identifier(chunk.symbol_name))
    return len(parts & words) / len(parts) if parts else 0.0


def path_signal(path: str, paths: Sequence[str], words: frozenset[str]) -> float:
    """Return 1 for a path that the query names, else the share of the file name's words that the query has."""
    lower = path.lower()
    if any(lower == asked or lower.endswith("/" + asked) for asked in paths):
        return 1.0
    stem = path.rpartition("/")[2].partition(".")[0]
    parts = set(split_identifier(stem))
    return len(parts & words) / len(parts) if parts else 0.0


def phrase_signal(candidate: Candidate, phrases: Sequence[str]) -> float:
    """Return the share of the phrases that the text, its documentation or its path holds, in their case or not."""
    if not phrases:
        return 0.0
    chunk = candidate.chunk
    text = f"{chunk.text}\n{chunk.doc}\n{chunk.path}"
    found = sum(EXACT_NAME if phrase in text else SAME_LETTERS * (phrase.lower() in text.lower()) for phrase in phrases)
    return found / len(phrases)
