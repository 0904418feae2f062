"""What describing chunks would cost, without asking the model."""

from collections.abc import Iterable
from dataclasses import dataclass

from codequarry.ingest.commentary.cache import CommentaryCache
from codequarry.ingest.commentary.prompt import (
    ANSWER_TOKENS,
    commentary_key,
    messages_about,
    sent_tokens,
    wants_commentary,
)
from codequarry.shared.model import Chunk
from codequarry.shared.settings.commentary import CommentarySettings
from codequarry.shared.store.port import DocumentStore


@dataclass(frozen=True, slots=True)
class CommentaryEstimate:
    """About how many chunks a run would have described, the tokens sent and received, and their price if it is set."""

    chunks: int
    input_tokens: int
    output_tokens: int
    cost: float | None = None


def estimate_commentary(
    chunks: Iterable[tuple[Chunk, float]], settings: CommentarySettings, store: DocumentStore, repo_id: str
) -> CommentaryEstimate | None:
    """Return the estimate for chunks, each with the number it represents, or None if there is no commentary."""
    if not settings.enabled:
        return None
    known = CommentaryCache(store, repo_id).known() if repo_id else {}
    count = sent = 0.0
    for chunk, weight in chunks:
        messages = messages_about(chunk)
        if wants_commentary(chunk) and commentary_key(messages, settings) not in known:
            count += weight
            sent += weight * sent_tokens(messages)
    received = count * ANSWER_TOKENS
    return CommentaryEstimate(round(count), round(sent), round(received), _cost(sent, received, settings))


def _cost(sent: float, received: float, settings: CommentarySettings) -> float | None:
    prices = (settings.input_price_per_million_tokens, settings.output_price_per_million_tokens)
    if prices == (None, None):
        return None
    return (sent * (prices[0] or 0.0) + received * (prices[1] or 0.0)) / 1e6
