"""Loopback addresses."""

import ipaddress


def is_loopback(host: str) -> bool:
    """Return whether an address or host name can be reached only from this machine."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False
