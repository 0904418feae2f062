"""Addresses of this machine."""

import ipaddress


def is_loopback(host: str) -> bool:
    """Tell whether an address or a name means this machine alone."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False
