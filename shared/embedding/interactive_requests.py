"""Requests to a model's server for which somebody waits: a slow server is waited for, a silent one given up soon."""

from collections.abc import Sequence
from functools import partial
from threading import Event

from codequarry.shared.embedding.embeddings_api import ApiCredentials, EmbeddingsApi
from codequarry.shared.embedding.retries import Patience
from codequarry.shared.errors import EmbedderUnavailable, EmbeddingError
from codequarry.shared.liveness.pulse import Silent, pulse_of


class InteractiveRequests:
    """The requests to one server that are answered soon or not at all; may be used from several threads."""

    def __init__(self, api: EmbeddingsApi, base_url: str, credentials: ApiCredentials) -> None:
        self._api, self._where = api, f"embeddings server {base_url}"
        self._pulse = pulse_of(base_url, partial(_gives_sign, base_url, credentials))

    def request(self, texts: Sequence[str], input_type: str, patience: Patience) -> object:
        """Do as ``EmbeddingsApi.request``, but within ``patience.timeout`` seconds, repetitions included.

        EmbedderUnavailable as soon as the server shows no sign of life, and at once if it showed none a moment ago.
        """
        if not self._pulse.allows():
            raise EmbedderUnavailable(f"{self._where} did not answer a moment ago")
        self._api.connected()  # the time that this takes is not the server's
        is_wanted = Event()
        is_wanted.set()
        send = partial(self._api.request, texts, input_type, patience, is_wanted.is_set)
        try:
            body = self._pulse.ask(send, patience.timeout)
        except Silent:
            raise EmbedderUnavailable(f"{self._where} shows no sign of life") from None
        except TimeoutError:
            raise EmbedderUnavailable(f"{self._where} did not answer within {patience.timeout:g} s") from None
        except EmbeddingError as error:
            if not isinstance(error, EmbedderUnavailable):
                self._pulse.record_success()  # it has answered, if not well
            raise
        finally:
            is_wanted.clear()
        self._pulse.record_success()
        return body


def _gives_sign(base_url: str, credentials: ApiCredentials, seconds: float) -> bool:
    """Ask a server for the list of its models, which takes none of them; any answer will do."""
    import openai

    with openai.OpenAI(api_key="none", base_url=base_url, max_retries=0, timeout=seconds) as client:
        try:
            client.models.with_raw_response.list(extra_headers=credentials.headers())
        except openai.APIStatusError:
            return True
        except openai.OpenAIError:
            return False
    return True
