"""Rules for origins in HTTP requests, which must not make the service read its own machine or network (SSRF).

Other callers may name any origin. Each fetch checks the addresses again, and git connects only to checked addresses.
"""

import ipaddress
import re
import socket
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from urllib.parse import unquote, urlsplit

from codequarry.shared.errors import UsageError
from codequarry.shared.origins import DEFAULT_PORTS, SCP_LIKE
from codequarry.shared.repositories.local_rules import permitted_folder
from codequarry.shared.settings.config import SettingsModel

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Resolve = Callable[[str, int], Sequence[str]]

_CONTROL = re.compile(r"[\x00-\x20\x7f]")
# Host names that every resolver and git's client read alike. They differ on other alphabets, percent signs and a
# trailing dot, so git might connect to a different host from the one that was checked.
_HOST = re.compile(r"[a-z0-9_]([a-z0-9._-]*[a-z0-9_])?|[0-9a-f:.]*:[0-9a-f:.]*")
# NAT64 (RFC 6052), and IPv4-compatible addresses (RFC 4291, 2.5.5.1).
_WITH_IPV4 = (ipaddress.IPv6Network("64:ff9b::/96"), ipaddress.IPv6Network("::/96"))
_NO_LOCAL_PATHS = (
    "requests may not name a repository by this path; [api] local_roots lists the folders in which they may"
)


def resolve_host(host: str, port: int) -> Sequence[str]:
    """Return the addresses of a host; raise UsageError if it has none."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        raise UsageError(f"the host {host} has no address; check the URL") from None
    return list(dict.fromkeys(str(place[4][0]) for place in found))


@dataclass(frozen=True, slots=True)
class OriginPlace:
    """An origin that a request may name, with its host and addresses (empty for a local path)."""

    origin: str
    host: str = ""
    port: int = 0
    addresses: tuple[str, ...] = ()


def accepted_origin(text: str, settings: SettingsModel, resolve: Resolve = resolve_host) -> str:
    """Return an origin that a request may name; UsageError names the rule that it breaks, not whether a path exists."""
    return check_origin(text, settings, resolve).origin


def check_origin(text: str, settings: SettingsModel, resolve: Resolve = resolve_host) -> OriginPlace:
    """Return an accepted origin with its host and the addresses that were checked; raise like ``accepted_origin``."""
    origin = text.strip()
    if not origin or _CONTROL.search(origin) or origin.startswith("-"):
        raise UsageError("originUri must be the URL of a git repository")
    scp_like = None if origin.startswith(("/", ".", "~")) else SCP_LIKE.match(origin)
    if "://" in origin:
        scheme = origin.partition("://")[0].lower()
        if scheme == "file":
            return OriginPlace(_local(unquote(urlsplit(origin).path), settings))
        host, port = _host_of(origin, scheme, settings)
    elif scp_like:
        _check_scheme("ssh", settings)
        host, port = scp_like["host"].lower().strip("[]"), DEFAULT_PORTS["ssh"]
    else:
        return OriginPlace(_local(origin, settings))
    if not _HOST.fullmatch(host):
        raise UsageError("originUri's host may contain letters, digits, '.' and '-'; write other alphabets as xn--…")
    check_host(host, settings)
    return OriginPlace(origin, host, port, allowed_addresses(host, port, settings, resolve))


def _host_of(origin: str, scheme: str, settings: SettingsModel) -> tuple[str, int]:
    _check_scheme(scheme, settings)
    try:
        url = urlsplit(origin)
        host, port = (url.hostname or "").lower(), url.port or DEFAULT_PORTS[scheme]
    except ValueError:
        # The message does not repeat the URL: what looks like a wrong port may be part of a password.
        raise UsageError("originUri is invalid: its host or port is malformed") from None
    if url.password is not None or (url.username and scheme != "ssh"):
        raise UsageError("originUri must not contain credentials; set tokens in the service's settings ([git.tokens])")
    if not host or host.startswith("-"):
        raise UsageError("originUri has no host")
    return host, port


def _check_scheme(scheme: str, settings: SettingsModel) -> None:
    allowed = settings.git.allowed_schemes
    if scheme not in allowed or scheme not in DEFAULT_PORTS:
        raise UsageError(f"requests may not name a '{scheme}' origin; [git] allowed_schemes: {', '.join(allowed)}")


def host_matches(host: str, patterns: Iterable[str]) -> bool:
    """Return whether a lower-case host matches a pattern, in which * matches any characters."""
    return any(fnmatchcase(host, pattern.lower()) for pattern in patterns)


def check_host(host: str, settings: SettingsModel) -> None:
    """Raise UsageError if there is a list of allowed hosts and the host is not on it."""
    patterns = settings.git.allowed_hosts
    if patterns and not host_matches(host, patterns):
        raise UsageError(f"requests may not name a repository on {host}: it is not in [git] allowed_hosts")


def allowed_addresses(
    host: str, port: int, settings: SettingsModel, resolve: Resolve = resolve_host
) -> tuple[str, ...]:
    """Return the addresses of a host; raise UsageError if an address is private and not in an allowed network."""
    networks = [ipaddress.ip_network(network) for network in settings.git.private_networks]
    addresses = tuple(resolve(host, port))
    for text in addresses:
        address = _address(text)
        if not (_is_public(address) or any(address in network for network in networks)):
            # The message omits the address: clients must not learn the layout of the internal network.
            raise UsageError(f"{host} is in a private network; [git] private_networks lists the allowed networks")
    return addresses


def _address(text: str) -> Address:
    address = ipaddress.ip_address(text.partition("%")[0])
    # ::ffff:10.0.0.1 is another form of 10.0.0.1, and so are its 6to4 and NAT64 forms. Teredo's are not public.
    if isinstance(address, ipaddress.IPv6Address):
        inner = address.ipv4_mapped or address.sixtofour
        own = address.is_loopback or address.is_unspecified
        embedded = not own and any(address in network for network in _WITH_IPV4)
        return inner or (ipaddress.IPv4Address(int(address) & 0xFFFFFFFF) if embedded else address)
    return address


def _is_public(address: Address) -> bool:
    return address.is_global and not address.is_multicast


def _local(path: str, settings: SettingsModel) -> str:
    folder = permitted_folder(path, settings.api.local_roots)
    if folder is None:
        raise UsageError(_NO_LOCAL_PATHS)
    return str(folder)
