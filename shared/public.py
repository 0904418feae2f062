"""What is said of an error to whoever may not know where the machines behind the service are."""

import re

from codequarry.shared.errors import EmbeddingError, StoreError

# A list of URLs with the word before it, and the addresses that a server names by itself.
_URLS = re.compile(r"(?: at| from)?\s*\b[a-z][a-z0-9+.-]*://[^\s,;'\"()]+(?:, [a-z][a-z0-9+.-]*://[^\s,;'\"()]+)*")
_ADDRESSES = re.compile(r"\[?\b\d{1,3}(?:\.\d{1,3}){3}(?::\d+)?\]?|\[[0-9a-f:]*::?[0-9a-f:]+\](?::\d+)?", re.IGNORECASE)


def public(error: Exception) -> str:
    """Return the message of an error for a caller of the API; the operator's log has it with its addresses.

    Those of origins stay: callers name them.
    """
    message = str(error)
    if not isinstance(error, StoreError | EmbeddingError):
        return message
    return _ADDRESSES.sub("(an address)", _URLS.sub("", message)).strip()
