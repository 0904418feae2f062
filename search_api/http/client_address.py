"""Which address a request comes from, behind proxies that the operator trusts. Pure."""

from collections.abc import Sequence
from ipaddress import IPv4Network, IPv6Address, IPv6Network, ip_address

Network = IPv4Network | IPv6Network
# A client on the internet usually has a whole network of this length.
IPV6_PREFIX_BITS = 64


def client_address(peer: str, forwarded_for: Sequence[str], trusted: Sequence[Network]) -> str:
    """Return the address of the client: the last one that no trusted proxy has.

    ``forwarded_for`` are the values of ``X-Forwarded-For``. Each proxy adds at the end whom it got the request from, so
    what stands before the first address that is not trusted was written by anybody, and counts for nothing.
    """
    address = peer
    hops = [hop.strip() for value in forwarded_for for hop in value.split(",")]
    while hops and is_trusted(address, trusted):
        hop = _without_port(hops.pop())
        if not _is_address(hop):
            break
        address = hop
    return address


def is_trusted(address: str, trusted: Sequence[Network]) -> bool:
    """Tell whether an address is one of a trusted proxy."""
    if not trusted or not _is_address(address):
        return False
    parsed = ip_address(address.partition("%")[0])
    mapped = getattr(parsed, "ipv4_mapped", None)
    return any((mapped or parsed) in network for network in trusted)


def group_of(address: str) -> str:
    """Return what counts as one client: an IPv4 address, or the /64 network of an IPv6 one."""
    try:
        parsed = ip_address(address.partition("%")[0])
    except ValueError:
        return address
    if not isinstance(parsed, IPv6Address):
        return str(parsed)
    if parsed.ipv4_mapped:
        return str(parsed.ipv4_mapped)
    bits = parsed.max_prefixlen - IPV6_PREFIX_BITS
    return f"{IPv6Address(int(parsed) >> bits << bits)}/{IPV6_PREFIX_BITS}"


def _is_address(text: str) -> bool:
    try:
        ip_address(text.partition("%")[0])
    except ValueError:
        return False
    return True


def _without_port(hop: str) -> str:
    """Return the address of ``1.2.3.4:5678``, ``[2001:db8::1]:5678`` or of an address alone."""
    if hop.startswith("["):
        return hop[1:].partition("]")[0]
    return hop.partition(":")[0] if hop.count(":") == 1 else hop
