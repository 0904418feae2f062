"""Asks an OpenAI-compatible server for an answer to a chat, with retries."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from codequarry.ingest.commentary.prompt import ChatMessages, sent_tokens
from codequarry.shared.embedding.model_api import ModelApi, Server, split_account
from codequarry.shared.embedding.retries import Patience
from codequarry.shared.errors import EmbeddingError

if TYPE_CHECKING:
    import openai

    from codequarry.shared.settings.commentary import CommentarySettings

OPENAI_URL = "https://api.openai.com/v1"


@dataclass(frozen=True, slots=True)
class Answer:
    """The text of an answer, and the tokens that were sent and received."""

    text: str
    tokens: int


class ChatApi:
    """The connection to a server of language models. Safe to use from several threads."""

    def __init__(self, settings: "CommentarySettings", patience: Patience | None = None) -> None:
        key = settings.api_key.get_secret_value() if settings.api_key else None
        base_url, credentials = split_account(settings.base_url or OPENAI_URL, key)
        self.base_url = base_url
        self._model = settings.model
        self._patience = patience or Patience(settings.max_retries, settings.timeout_seconds)
        self._api = ModelApi(Server(base_url, "commentary", "commentary"), credentials)

    def ask(self, messages: ChatMessages, is_wanted: Callable[[], bool]) -> Answer:
        """Return the server's answer; raise RefusedText if it refuses this chat, EmbeddingError if it fails."""

        def once(client: "openai.OpenAI", headers: "dict[str, str | openai.Omit]", limits: "openai.Timeout") -> str:
            asked: Any = [dict(message) for message in messages]
            answer = client.chat.completions.with_raw_response.create(
                model=self._model, messages=asked, extra_headers=headers, timeout=limits
            )
            return answer.text

        body = self._api.send(once, self._patience, is_wanted)
        text = _text(body)
        if text is None:
            raise EmbeddingError(f"commentary server {self.base_url}: the answer has no choices with a message")
        return Answer(text, _tokens(body) or sent_tokens(messages))

    def close(self) -> None:
        """Close the connections."""
        self._api.close()


def _text(body: object) -> str | None:
    choices = body.get("choices") if isinstance(body, Mapping) else None
    first = choices[0] if isinstance(choices, list) and choices else None
    message = first.get("message") if isinstance(first, Mapping) else None
    if not isinstance(message, Mapping):
        return None
    content = message.get("content")
    return content if isinstance(content, str) else ""


def _tokens(body: object) -> int:
    usage = body.get("usage") if isinstance(body, Mapping) else None
    total = usage.get("total_tokens") if isinstance(usage, Mapping) else None
    return total if isinstance(total, int) and total > 0 else 0
