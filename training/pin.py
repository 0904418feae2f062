"""Add packages to the pinned list, in their newest versions, if their licences allow it.

python -m training.pin --work FOLDER pypi:attrs npm:rxjs maven:co.fs2:fs2-core_2.13
python -m training.pin --work FOLDER --from names.txt
"""

import argparse
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import cast

from training.clients import NotFetched, fetch
from training.kept_apart import is_kept_apart
from training.metadata import licence_of
from training.packages import LIST, REGISTRIES, Package, Registry, read_packages, write_packages

# Threads that fetch packages; most of the time they wait for the registries.
AT_ONCE = 6


def pinned(name: str, work: Path) -> Package | str:
    """Return the pinned package, or a message why it is not pinned."""
    registry, _, bare = name.partition(":")
    if registry not in REGISTRIES or not bare:
        return f"{name}: not of the form REGISTRY:NAME, with one of {', '.join(REGISTRIES)}"
    package = Package(cast(Registry, registry), bare, "")
    if is_kept_apart(package):
        return f"{name}: excluded from training, because models are measured on it"
    try:
        fetched = fetch(package, work)
        licence = licence_of(fetched)
    except NotFetched as error:
        return f"{name}: {error}"
    except Exception as error:
        return f"{name}: {type(error).__name__}: {error}"
    if licence is None:
        return f"{name}: its licence is unclear or not permissive"
    return Package(fetched.package.registry, bare, fetched.package.version, licence)


def main() -> None:
    """Pin the named packages; print which were not pinned, and why."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="REGISTRY:NAME")
    parser.add_argument("--from", dest="file", type=Path, metavar="FILE", help="file of names, one per line")
    parser.add_argument("--work", type=Path, required=True, metavar="FOLDER", help="folder for archives")
    options = parser.parse_args()
    known = {(package.registry, package.name): package for package in (read_packages() if LIST.exists() else [])}
    names = options.names + (options.file.read_text().split() if options.file else [])
    fresh = [name for name in names if tuple(name.split(":", 1)) not in known]
    with ThreadPoolExecutor(AT_ONCE) as pool:
        for number, found in enumerate(pool.map(lambda name: pinned(name, options.work / "packages"), fresh), 1):
            if isinstance(found, str):
                print(found, file=sys.stderr)
                continue
            known[found.registry, found.name] = found
            if number % 20 == 0:
                write_packages(known.values())
    write_packages(known.values())


if __name__ == "__main__":
    main()
