"""Whom the MCP server answers: the owner of the index, or a key of it, looked at anew with every call.

The process has the whole index in its hands, so a key's secret proves nothing here: a key is named by its id or its
name, which are no secrets (docs/decisions/0027). A whole key is taken too, and then its secret has to be right. What is
given and does not hold is never answered as the owner.
"""

from collections.abc import Callable

from pydantic import SecretStr

from codequarry.search_api.auth import ApiKeys, Asker, NoOwner
from codequarry.shared.access.grants import OWNER, Principal
from codequarry.shared.access.key_list import find_key
from codequarry.shared.access.keys import moment, split_token
from codequarry.shared.errors import NotIndexed, Unauthorized
from codequarry.shared.settings.config import SettingsModel
from codequarry.shared.store.port import Store


class McpCaller:
    """Says who asks the MCP server of ``settings``."""

    def __init__(self, settings: SettingsModel, store: Callable[[], Store]) -> None:
        self._asked: SecretStr | None = settings.mcp.key
        self._store = store
        self._keys = ApiKeys(settings, store, NoOwner())

    def principal(self) -> Principal:
        """Return who asks; Unauthorized if the key is not in use any more, Forbidden if it may not search."""
        if self._asked is None:
            return OWNER
        principal = self._of(self._asked.get_secret_value())
        principal.require("search")
        return principal

    def _of(self, asked: str) -> Principal:
        if split_token(asked):
            return self._keys.authenticate(Asker(asked, "", ""))
        try:
            key = find_key(self._store(), asked)
        except NotIndexed:
            raise Unauthorized(
                f"this server is limited to the key '{asked}', and no key in use has that id or name: codequarry keys "
                "list names them"
            ) from None
        state = key.state(moment())
        if state != "active":
            raise Unauthorized(f"this server is limited to the key '{asked}', which is {state}; make another one")
        return key.principal
