"""Who the MCP server answers as."""

from collections.abc import Callable

from pydantic import SecretStr

from codequarry.search_api.access.authentication import ApiKeys, RefuseAll, RequestCredentials
from codequarry.shared.access.grants import OWNER, Principal
from codequarry.shared.access.key_list import find_key
from codequarry.shared.access.keys import moment, split_token
from codequarry.shared.errors import NotIndexed, Unauthorized
from codequarry.shared.settings.config import SettingsModel
from codequarry.shared.store.port import DocumentStore


class McpCaller:
    """The principal of the MCP server, from ``[mcp] key``: a token, or the id or name of a key."""

    def __init__(self, settings: SettingsModel, store: Callable[[], DocumentStore]) -> None:
        self._configured: SecretStr | None = settings.mcp.key
        self._store = store
        self._keys = ApiKeys(settings, store, RefuseAll())

    def principal(self) -> Principal:
        """Return the principal; raise Unauthorized if the key is not active, or Forbidden if it lacks ``search``."""
        if self._configured is None:
            return OWNER
        principal = self._principal_of(self._configured.get_secret_value())
        principal.require("search")
        return principal

    def _principal_of(self, key_or_name: str) -> Principal:
        if split_token(key_or_name):
            return self._keys.authenticate(RequestCredentials(key_or_name, "", ""))
        limited = f"this server is limited to the key '{key_or_name}'"
        try:
            key = find_key(self._store(), key_or_name)
        except NotIndexed:
            raise Unauthorized(f"{limited}, but no key in use has that id or name; see codequarry keys list") from None
        state = key.state(moment())
        if state != "active":
            raise Unauthorized(f"{limited}, which is {state}; create another key")
        return key.principal
