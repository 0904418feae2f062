"""Guards fetches from an origin that a request named: its host is checked again, and git is bound to the result.

A name may resolve to a different address the second time, so git does not resolve it but gets the checked addresses.
"""

import ipaddress
import os
import re
from collections.abc import Mapping

from codequarry.ingest.git.origins import Origin
from codequarry.ingest.git.process import run_git
from codequarry.shared.errors import NotAtOrigin, UsageError
from codequarry.shared.repositories.origin_rules import Resolve, check_origin, resolve_host
from codequarry.shared.settings.config import SettingsModel

# The first git version that accepts addresses along with a URL; older versions would resolve the name again.
BINDING_GIT = (2, 37)


def guarded_configuration(
    origin: Origin, settings: SettingsModel, resolve: Resolve = resolve_host
) -> Mapping[str, str]:
    """Return the configuration that binds git to an origin's addresses; raise NotAtOrigin if a rule forbids them now.

    If ``[git] proxy`` is set, the proxy resolves the name and must protect its network. The addresses of ssh origins
    are only checked, because ssh accepts no address along with the name.
    """
    try:
        place = check_origin(origin.url, settings, resolve)
    except UsageError as error:
        raise NotAtOrigin(f"{origin.url} is not fetched: {error}") from None
    if origin.scheme not in ("https", "http") or settings.git.proxy:
        return {}
    _check_git(origin)
    quoted = (f"[{address}]" if ipaddress.ip_address(address).version == 6 else address for address in place.addresses)
    return {"http.curloptResolve": f"{place.host}:{place.port}:{','.join(quoted)}"}


def _check_git(origin: Origin) -> None:
    """Raise NotAtOrigin if git is so old that it would silently ignore the addresses."""
    version = run_git(("--version",), dict(os.environ), what="cannot ask git for its version").decode()
    numbers = re.search(r"(\d+)\.(\d+)", version)
    if not numbers or (int(numbers[1]), int(numbers[2])) < BINDING_GIT:
        wanted = ".".join(map(str, BINDING_GIT))
        why = f"fetching an origin that a request named needs git {wanted} or newer; this is {version.strip()}"
        raise NotAtOrigin(f"{origin.url} is not fetched: {why}")
