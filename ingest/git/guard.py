"""Fetching what a request named: the origin's host is looked at again, and git is bound to what was looked at.

A name may have another address the second time it is asked for. So git does not ask: it gets the addresses with it.
"""

import ipaddress
from collections.abc import Mapping

from codequarry.ingest.git.origins import Origin
from codequarry.shared.errors import NotAtOrigin, UsageError
from codequarry.shared.repositories.origin_rules import Resolve, looked_at, resolve_host
from codequarry.shared.settings.config import SettingsModel


def guarded_configuration(
    origin: Origin, settings: SettingsModel, resolve: Resolve = resolve_host
) -> Mapping[str, str]:
    """Return what binds git to the addresses of an origin; NotAtOrigin where a rule is against it by now.

    Where ``[git] proxy`` is set the proxy asks for the address, and has to guard its network. Of ssh origins the
    addresses are only looked at: ssh takes no address beside the name.
    """
    try:
        place = looked_at(origin.url, settings, resolve)
    except UsageError as error:
        raise NotAtOrigin(f"{origin.url} is not fetched: {error}") from None
    if origin.scheme not in ("https", "http") or settings.git.proxy:
        return {}
    listed = ",".join(f"[{one}]" if ipaddress.ip_address(one).version == 6 else one for one in place.addresses)
    return {"http.curloptResolve": f"{place.host}:{place.port}:{listed}"}
