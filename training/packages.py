"""The packages that the model learns from: pinned, each with its licence."""

import csv
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

from training.writing import whole

Registry = Literal["pypi", "npm", "crates", "go", "maven", "debian"]
REGISTRIES: tuple[Registry, ...] = get_args(Registry)

LIST = Path(__file__).parent / "packages.tsv"
_COLUMNS = ("registry", "name", "version", "licence")


@dataclass(frozen=True, slots=True, order=True)
class Package:
    """A pinned package; ``licence`` is the SPDX expression in its metadata when it was pinned."""

    registry: Registry
    name: str
    version: str
    licence: str = ""

    @property
    def key(self) -> str:
        """Unique name of the package, also for files."""
        return f"{self.registry}-{self.name}-{self.version}".replace("/", "+").replace(":", "+")


def read_packages(path: Path = LIST) -> list[Package]:
    """Read the pinned list; raise ValueError for a malformed line."""
    with path.open(newline="") as file:
        rows = list(csv.reader(file, delimiter="\t"))
    if not rows or tuple(rows[0]) != _COLUMNS:
        raise ValueError(f"{path} does not begin with {' '.join(_COLUMNS)}")
    return [_package(path, number, row) for number, row in enumerate(rows[1:], 2)]


def _package(path: Path, number: int, row: list[str]) -> Package:
    registry = next((name for name in REGISTRIES if row and name == row[0]), None)
    if registry is None or len(row) != len(_COLUMNS) or not all(row):
        raise ValueError(f"{path}:{number}: not a registry, name, version and licence: {row}")
    return Package(registry, *row[1:])


def write_packages(packages: Iterable[Package], path: Path = LIST) -> None:
    """Write the pinned list, sorted, whole or not at all."""
    with whole(path) as fresh, fresh.open("w", newline="") as file:
        writer = csv.writer(file, delimiter="\t", lineterminator="\n")
        writer.writerow(_COLUMNS)
        writer.writerows((item.registry, item.name, item.version, item.licence) for item in sorted(packages))
