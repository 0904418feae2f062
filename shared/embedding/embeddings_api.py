"""Requests for embeddings to an OpenAI-compatible server."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from codequarry.shared.embedding.model_api import ApiCredentials, ModelApi, Server
from codequarry.shared.embedding.retries import Patience

if TYPE_CHECKING:
    import openai


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where and how to send requests; ``fields`` go into every request. It contains no secret."""

    base_url: str
    model: str
    encoding_format: Literal["float", "base64"]
    fields: Mapping[str, object]


class EmbeddingsApi(ModelApi):
    """The connection to one server of embeddings. Safe to use from several threads."""

    def __init__(self, endpoint: Endpoint, credentials: ApiCredentials) -> None:
        super().__init__(Server(endpoint.base_url, "embeddings", "embedding"), credentials)
        self._endpoint = endpoint

    def request(
        self, texts: Sequence[str], input_type: str, patience: Patience, is_wanted: Callable[[], bool] = lambda: True
    ) -> object:
        """Return the decoded JSON of the answer, not validated; raise the errors of ``send``."""
        fields = {**self._endpoint.fields, **({"input_type": input_type} if input_type else {})}

        def once(client: "openai.OpenAI", headers: "dict[str, str | openai.Omit]", limits: "openai.Timeout") -> str:
            answer = client.embeddings.with_raw_response.create(
                model=self._endpoint.model,
                input=list(texts),
                encoding_format=self._endpoint.encoding_format,
                extra_headers=headers,
                extra_body=fields or None,
                timeout=limits,
            )
            return answer.text

        return self.send(once, patience, is_wanted)
