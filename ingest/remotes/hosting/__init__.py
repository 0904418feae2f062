"""Listing the repositories of an organisation or group by the API of its code host."""
