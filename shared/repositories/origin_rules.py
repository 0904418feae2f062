"""Which origins a request may name: somebody else's text must not make the service read its own machine or network.

A person at the command line, and whoever writes the settings, may name anything; these rules are for what comes over
HTTP. The addresses are looked at again when the origin is fetched, and git is bound to the ones that were looked at.
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
# What every resolver and git's own client read alike. In other alphabets, percent signs and a dot at the end they
# differ, and git would ask for the address of a host that is not the one whose address was looked at.
_HOST = re.compile(r"[a-z0-9_]([a-z0-9._-]*[a-z0-9_])?|[0-9a-f:.]*:[0-9a-f:.]*")
# NAT64 (RFC 6052), and what was meant to be compatible with IPv4 (RFC 4291, 2.5.5.1).
_WITH_IPV4 = (ipaddress.IPv6Network("64:ff9b::/96"), ipaddress.IPv6Network("::/96"))
_NO_LOCAL_PATHS = (
    "a request may not name a repository by this path: [api] local_roots lists the folders below which it may"
)


def resolve_host(host: str, port: int) -> Sequence[str]:
    """Return the addresses of a host; UsageError where it has none."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        raise UsageError(f"the host {host} has no address") from None
    return list(dict.fromkeys(str(place[4][0]) for place in found))


@dataclass(frozen=True, slots=True)
class OriginPlace:
    """An origin that a request may name, and where it is; a local path is on no host."""

    origin: str
    host: str = ""
    port: int = 0
    addresses: tuple[str, ...] = ()


def accepted_origin(text: str, settings: SettingsModel, resolve: Resolve = resolve_host) -> str:
    """Return an origin that a request may name; UsageError says which rule is against it.

    For a local path the error is the same whether or not anything is there.
    """
    return check_origin(text, settings, resolve).origin


def check_origin(text: str, settings: SettingsModel, resolve: Resolve = resolve_host) -> OriginPlace:
    """Return the same with the host and the addresses that were looked at; errors as of ``accepted_origin``."""
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
        raise UsageError("the host of originUri is of letters, digits, '.' and '-'; one in another alphabet as xn--…")
    check_host(host, settings)
    return OriginPlace(origin, host, port, allowed_addresses(host, port, settings, resolve))


def _host_of(origin: str, scheme: str, settings: SettingsModel) -> tuple[str, int]:
    _check_scheme(scheme, settings)
    try:
        url = urlsplit(origin)
        host, port = (url.hostname or "").lower(), url.port or DEFAULT_PORTS[scheme]
    except ValueError:
        # The text is not repeated: what looks like a wrong port may be the rest of a password.
        raise UsageError("originUri cannot be read: its host or port is malformed") from None
    if url.password is not None or (url.username and scheme != "ssh"):
        raise UsageError("originUri holds an account; tokens belong into the settings of the service ([git.tokens])")
    if not host or host.startswith("-"):
        raise UsageError("originUri names no host")
    return host, port


def _check_scheme(scheme: str, settings: SettingsModel) -> None:
    allowed = settings.git.allowed_schemes
    if scheme not in allowed or scheme not in DEFAULT_PORTS:
        raise UsageError(f"a request may not name a '{scheme}' origin; [git] allowed_schemes: {', '.join(allowed)}")


def host_matches(host: str, patterns: Iterable[str]) -> bool:
    """Tell whether a host, in lower case, fits a pattern of names in which * is any characters."""
    return any(fnmatchcase(host, pattern.lower()) for pattern in patterns)


def check_host(host: str, settings: SettingsModel) -> None:
    """Raise UsageError for a host that is not on the list, where there is one."""
    patterns = settings.git.allowed_hosts
    if patterns and not host_matches(host, patterns):
        raise UsageError(f"a request may not name a repository on {host}: it is not among [git] allowed_hosts")


def allowed_addresses(
    host: str, port: int, settings: SettingsModel, resolve: Resolve = resolve_host
) -> tuple[str, ...]:
    """Return the addresses of a host; UsageError where one of them is private and in no allowed network."""
    networks = [ipaddress.ip_network(network) for network in settings.git.private_networks]
    addresses = tuple(resolve(host, port))
    for text in addresses:
        address = _address(text)
        if not (_is_public(address) or any(address in network for network in networks)):
            # The address itself is not told: a request must not learn how the network inside is laid out.
            raise UsageError(f"{host} is in a private network; [git] private_networks lists those that are allowed")
    return addresses


def _address(text: str) -> Address:
    address = ipaddress.ip_address(text.partition("%")[0])
    # ::ffff:10.0.0.1 is 10.0.0.1 by another name, and so are the forms of 6to4 and NAT64; Teredo's are not public.
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
