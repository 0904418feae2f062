"""Requests to a model's server for which somebody waits: a slow server is waited for, a silent one given up soon."""

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future, InvalidStateError
from contextlib import suppress
from functools import partial

from codequarry.shared.embedding.embeddings_api import Credentials, EmbeddingsApi
from codequarry.shared.embedding.patience import Patience
from codequarry.shared.errors import EmbedderUnavailable, EmbeddingError
from codequarry.shared.pulse import pulse_of


class PromptRequests:
    """The requests to one server that are answered soon or not at all; may be used from several threads."""

    def __init__(self, api: EmbeddingsApi, base_url: str, credentials: Credentials) -> None:
        self._api, self._where = api, f"embeddings server {base_url}"
        self._pulse = pulse_of(base_url, partial(_gives_sign, base_url, credentials))

    def request(self, texts: Sequence[str], input_type: str, patience: Patience) -> object:
        """Do as ``EmbeddingsApi.request``, but within ``patience.timeout`` seconds, repetitions included.

        EmbedderUnavailable as soon as the server shows no sign of life, and at once if it showed none a moment ago.
        """
        if not self._pulse.lets_pass():
            raise EmbedderUnavailable(f"{self._where} did not answer a moment ago")
        self._api.connected()  # the time that this takes is not the server's
        answer: Future[object] = Future()
        silent = EmbedderUnavailable(f"{self._where} shows no sign of life")
        send = partial(self._api.request, texts, input_type, patience, lambda: not answer.done())
        with self._pulse.watched(lambda: _fail(answer, silent)):
            # The library's requests can't be ended from outside: one that is given up is left to its own limit.
            threading.Thread(target=_fulfil, args=(answer, send), name="query", daemon=True).start()
            try:
                body = answer.result(patience.timeout)
            except TimeoutError:
                late = EmbedderUnavailable(f"{self._where} did not answer within {patience.timeout:g} s")
                _fail(answer, late)
                raise late from None
            except EmbeddingError as error:
                if not isinstance(error, EmbedderUnavailable):
                    self._pulse.is_there()  # it has answered, if not well
                raise
        self._pulse.is_there()
        return body


def _gives_sign(base_url: str, credentials: Credentials, seconds: float) -> bool:
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


def _fulfil(answer: "Future[object]", send: Callable[[], object]) -> None:
    try:
        body = send()
    except Exception as error:
        _fail(answer, error)
    else:
        with suppress(InvalidStateError):  # nobody waits any more
            answer.set_result(body)


def _fail(answer: "Future[object]", error: Exception) -> None:
    with suppress(InvalidStateError):  # it has ended in another way
        answer.set_exception(error)
