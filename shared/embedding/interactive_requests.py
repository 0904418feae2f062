"""Requests to a model server while a client waits: a slow server gets its time, a silent server fails quickly."""

from collections.abc import Sequence
from functools import partial
from threading import Event

from codequarry.shared.embedding.embeddings_api import EmbeddingsApi
from codequarry.shared.embedding.model_api import ApiCredentials
from codequarry.shared.embedding.retries import Patience
from codequarry.shared.errors import EmbedderUnavailable, EmbeddingError
from codequarry.shared.liveness.pulse import Silent, pulse_of


class InteractiveRequests:
    """Requests to one server that succeed or fail quickly. Safe to use from several threads."""

    def __init__(self, api: EmbeddingsApi, base_url: str, credentials: ApiCredentials) -> None:
        self._api, self._where = api, f"embeddings server {base_url}"
        self._pulse = pulse_of(base_url, partial(_gives_sign, base_url, credentials))

    def request(self, texts: Sequence[str], input_type: str, patience: Patience) -> object:
        """Return an answer within ``patience.timeout`` seconds, retries included, or raise EmbedderUnavailable."""
        if not self._pulse.allows():
            raise EmbedderUnavailable(f"{self._where} did not answer a moment ago")
        self._api.connected()  # now, so that this time does not count as the server's
        is_wanted = Event()
        is_wanted.set()
        send = partial(self._api.request, texts, input_type, patience, is_wanted.is_set)
        try:
            body = self._pulse.ask(send, patience.timeout)
        except Silent:
            raise EmbedderUnavailable(f"{self._where} does not respond") from None
        except TimeoutError:
            raise EmbedderUnavailable(f"{self._where} did not answer within {patience.timeout:g} s") from None
        except EmbeddingError as error:
            if not isinstance(error, EmbedderUnavailable):
                self._pulse.record_success()  # an error is an answer too
            raise
        finally:
            is_wanted.clear()
        self._pulse.record_success()
        return body


def _gives_sign(base_url: str, credentials: ApiCredentials, seconds: float) -> bool:
    """Return whether a server responds when asked for its list of models, which costs no model time."""
    import openai

    with openai.OpenAI(api_key="none", base_url=base_url, max_retries=0, timeout=seconds) as client:
        try:
            client.models.with_raw_response.list(extra_headers=credentials.headers())
        except openai.APIStatusError:
            return True
        except openai.OpenAIError:
            return False
    return True
