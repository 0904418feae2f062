"""Pure functions that find the client address of a request that came through trusted proxies."""

from collections.abc import Sequence
from ipaddress import IPv4Network, IPv6Address, IPv6Network, ip_address

Network = IPv4Network | IPv6Network
# An internet client usually has a whole network of this prefix length.
IPV6_PREFIX_BITS = 64


def client_address(peer: str, forwarded_for: Sequence[str], trusted: Sequence[Network]) -> str:
    """Return the address of the client: the last address that is not a trusted proxy.

    Each proxy appends the address of its peer to ``X-Forwarded-For`` (``forwarded_for``), so an entry is only reliable
    if every address after it is trusted. A client can forge all other entries.
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
    """Return whether an address is in a trusted network."""
    if not trusted or not _is_address(address):
        return False
    parsed = ip_address(address.partition("%")[0])
    mapped = getattr(parsed, "ipv4_mapped", None)
    return any((mapped or parsed) in network for network in trusted)


def group_of(address: str) -> str:
    """Return the address or network that counts as one client: an IPv4 address, or an IPv6 address's /64 network."""
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
    """Return the address, without a port, of ``1.2.3.4:5678``, ``[2001:db8::1]:5678`` or a bare address."""
    if hop.startswith("["):
        return hop[1:].partition("]")[0]
    return hop.partition(":")[0] if hop.count(":") == 1 else hop
