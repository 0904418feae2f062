"""Has chunks described by a language model, as far as the server answers and the settings allow."""

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from codequarry.ingest.commentary.cache import CommentaryCache
from codequarry.ingest.commentary.chat_api import ChatApi
from codequarry.ingest.commentary.prompt import (
    ANSWER_TOKENS,
    ChatMessages,
    cleaned,
    commentary_key,
    messages_about,
    sent_tokens,
    wants_commentary,
)
from codequarry.shared.embedding.model_api import RefusedText
from codequarry.shared.embedding.request_threads import run_abandonable
from codequarry.shared.errors import EmbeddingError
from codequarry.shared.liveness.breaker import Breaker
from codequarry.shared.model import Chunk
from codequarry.shared.settings.commentary import CommentarySettings

# After a failure, chunks are left without commentary for this long; then one batch tries again.
_LEFT_ALONE_SECONDS = 60.0
_LONGEST_SECONDS = 600.0
# Answers are cached after so many for each parallel request: an interrupted run loses fewer.
_ANSWERS_PER_THREAD = 8

# Every model answers this; if a server refuses it, the chunk is not to blame.
_HARMLESS: ChatMessages = ({"role": "user", "content": "Say yes."},)

Say = Callable[[int, int], None]
"""Reports how many of how many chunks are described."""


@dataclass
class Described:
    """The commentary of some chunks by chunk id, and what it took; ``missing`` chunks must be described later."""

    texts: dict[str, str] = field(default_factory=dict)
    missing: set[str] = field(default_factory=set)
    asked: int = 0
    reused: int = 0
    tokens: int = 0
    problem: str = ""


class Describer:
    """Describes the chunks of one repository. It never fails because of the server."""

    def __init__(self, settings: CommentarySettings, cache: CommentaryCache, api: ChatApi | None = None) -> None:
        self._settings, self._cache = settings, cache
        self._api = api or ChatApi(settings)
        self._breaker = Breaker(_LEFT_ALONE_SECONDS, _LONGEST_SECONDS)
        self._problem = ""
        self._spent = 0
        self._has_answered = False

    def describe(self, chunks: Sequence[Chunk], say: Say = lambda done, total: None) -> Described:
        """Return the commentary of the chunks that need one."""
        asked = {chunk.id: messages_about(chunk) for chunk in chunks if wants_commentary(chunk)}
        keys = {name: commentary_key(messages, self._settings) for name, messages in asked.items()}
        new = {key: asked[name] for name, key in keys.items() if key not in self._cache.known()}
        found = Described(reused=sum(key not in new for key in keys.values()))
        if new:
            self._ask_all(new, found, say)
        known = self._cache.known()
        for name, key in keys.items():
            if key in known:
                found.texts[name] = known[key]
            else:
                found.missing.add(name)
        found.problem = self._problem if found.missing else ""
        return found

    def _ask_all(self, new: Mapping[str, ChatMessages], found: Described, say: Say) -> None:
        keys = list(new)
        size = self._settings.concurrency * _ANSWERS_PER_THREAD
        for start in range(0, len(keys), size):
            batch = {key: new[key] for key in keys[start : start + size]}
            if not self._may_ask(batch):
                return
            answers: dict[str, tuple[str, int]] = {}
            try:
                self._ask(batch, answers)
            finally:  # also if the run is stopped
                done = dict(answers)  # abandoned threads may still add to it
                self._cache.add({key: text for key, (text, _) in done.items()})
                spent = sum(tokens for _, tokens in done.values())
                self._spent += spent
                found.tokens += spent
                found.asked += len(done)
            say(start + len(batch), len(keys))

    def _may_ask(self, batch: Mapping[str, ChatMessages]) -> bool:
        limit = self._settings.max_tokens_per_run
        if limit is not None and self._spent + sum(map(estimated_tokens, batch.values())) > limit:
            self._problem = f"[commentary] max_tokens_per_run = {limit} is reached"
            return False
        return self._breaker.allows()

    def _ask(self, batch: Mapping[str, ChatMessages], answers: dict[str, tuple[str, int]]) -> None:
        over = threading.Event()
        tasks = [partial(self._ask_one, key, messages, answers, over) for key, messages in batch.items()]
        try:
            run_abandonable(tasks, self._settings.concurrency, over)
        except EmbeddingError as error:
            self._problem = str(error)
            self._breaker.record_failure()
        else:
            self._breaker.record_success()

    def _ask_one(
        self, key: str, messages: ChatMessages, answers: dict[str, tuple[str, int]], over: threading.Event
    ) -> None:
        try:
            answer = self._api.ask(messages, lambda: not over.is_set())
        except RefusedText as error:
            self._check_server(error)
            # Asking again would not help, and a chunk without commentary is found by its text.
            answers[key] = ("", estimated_tokens(messages))
            return
        self._has_answered = True
        if not over.is_set():
            answers[key] = (cleaned(answer.text), answer.tokens)

    def _check_server(self, refusal: RefusedText) -> None:
        """Raise EmbeddingError if the server refuses everything, so that the chunk is not to blame."""
        if not self._has_answered:
            try:
                self._api.ask(_HARMLESS, lambda: True)
            except RefusedText:
                raise EmbeddingError(
                    f"commentary server {self._api.base_url} refuses every chat: {refusal}; see [commentary] model"
                ) from None
            self._has_answered = True

    def close(self) -> None:
        """Close the connections."""
        self._api.close()


def estimated_tokens(messages: ChatMessages) -> int:
    """Return about how many tokens a description takes, sent and received."""
    return sent_tokens(messages) + ANSWER_TOKENS
