"""Fetching what a request named: the origin's host is looked at again, and git is bound to what was looked at.

A name may have another address the second time it is asked for. So git does not ask: it gets the addresses with it.
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

# The first git that takes addresses with a URL; an older one would ask for them anew.
BINDING_GIT = (2, 37)


def guarded_configuration(
    origin: Origin, settings: SettingsModel, resolve: Resolve = resolve_host
) -> Mapping[str, str]:
    """Return what binds git to the addresses of an origin; NotAtOrigin where a rule is against it by now.

    Where ``[git] proxy`` is set the proxy asks for the address, and has to guard its network. Of ssh origins the
    addresses are only looked at: ssh takes no address beside the name.
    """
    try:
        place = check_origin(origin.url, settings, resolve)
    except UsageError as error:
        raise NotAtOrigin(f"{origin.url} is not fetched: {error}") from None
    if origin.scheme not in ("https", "http") or settings.git.proxy:
        return {}
    _check_git(origin)
    listed = ",".join(f"[{one}]" if ipaddress.ip_address(one).version == 6 else one for one in place.addresses)
    return {"http.curloptResolve": f"{place.host}:{place.port}:{listed}"}


def _check_git(origin: Origin) -> None:
    """Raise NotAtOrigin where git would not read what binds it, and say nothing."""
    said = run_git(("--version",), dict(os.environ), what="cannot ask git for its version").decode()
    numbers = re.search(r"(\d+)\.(\d+)", said)
    if not numbers or (int(numbers[1]), int(numbers[2])) < BINDING_GIT:
        wanted = ".".join(map(str, BINDING_GIT))
        why = f"a request named it, which takes git {wanted}, not {said.strip()}"
        raise NotAtOrigin(f"{origin.url} is not fetched: {why}")
