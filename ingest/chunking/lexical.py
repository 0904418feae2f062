"""What of a chunk is searched: its lexical fields, and the text that is embedded."""

from codequarry.ingest.chunking.comments import summary
from codequarry.shared.identifiers import tokenize
from codequarry.shared.model import Chunk, Tokens


def lexical_tokens(chunk: Chunk) -> Tokens:
    """Return the chunk's lexical fields as the stores index them."""
    names = " ".join(dict.fromkeys(filter(None, (chunk.qualified_name, chunk.symbol_name, *chunk.defines))))
    return Tokens(
        symbol=tokenize(names),
        signature=tokenize(chunk.signature or ""),
        path=tokenize(chunk.path),
        doc=tokenize(f"{chunk.doc} {chunk.commentary}"),
        body=tokenize(chunk.text),
    )


def embedded_text(chunk: Chunk) -> str:
    """Return what is embedded: path, enclosing symbols, what it is, then the text.

    No repository, ref or line number is in it, so that the same chunk on another branch, in a fork or further down
    its file is embedded once.
    """
    about = summary(chunk.doc) if chunk.doc and chunk.doc[:40] not in chunk.text[:400] else ""
    lines = (chunk.path, chunk.context, chunk.qualified_name or "", about, chunk.commentary, chunk.text.rstrip())
    return "\n".join(filter(None, lines))
