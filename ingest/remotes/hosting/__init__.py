"""Lists the repositories of an organisation or group through its code host's API."""
