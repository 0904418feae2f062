"""The names of Go's packages, which import paths show only by convention."""

import re

_VERSION = re.compile(r"v\d+")


def go_package_name(module: str) -> str:
    """Return the name that a package most likely has: ``yaml`` for ``gopkg.in/go-yaml.v3``."""
    parts = [part for part in module.split("/") if part]
    last = parts[-2] if len(parts) > 1 and _VERSION.fullmatch(parts[-1]) else parts[-1] if parts else ""
    return re.sub(r"\.v\d+$", "", last).removeprefix("go-").removesuffix("-go").removesuffix(".go")
