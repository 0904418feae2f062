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
    """One pinned package. ``licence`` is the SPDX expression that its own metadata gave when it was pinned."""

    registry: Registry
    name: str
    version: str
    licence: str = ""

    @property
    def key(self) -> str:
        """What names it among all, also as a file."""
        return f"{self.registry}-{self.name}-{self.version}".replace("/", "+").replace(":", "+")


def read_packages(path: Path = LIST) -> list[Package]:
    """Read the pinned list; raise ValueError for a line that is none."""
    with path.open(newline="") as file:
        rows = list(csv.reader(file, delimiter="\t"))
    if not rows or tuple(rows[0]) != _COLUMNS:
        raise ValueError(f"{path} does not begin with {' '.join(_COLUMNS)}")
    return [_package(path, number, row) for number, row in enumerate(rows[1:], 2)]


def _package(path: Path, number: int, row: list[str]) -> Package:
    registry = next((one for one in REGISTRIES if row and one == row[0]), None)
    if registry is None or len(row) != len(_COLUMNS) or not all(row):
        raise ValueError(f"{path}:{number}: not a registry, name, version and licence: {row}")
    return Package(registry, *row[1:])


def write_packages(packages: Iterable[Package], path: Path = LIST) -> None:
    """Write the pinned list, sorted, whole or not at all."""
    with whole(path) as fresh, fresh.open("w", newline="") as file:
        writer = csv.writer(file, delimiter="\t", lineterminator="\n")
        writer.writerow(_COLUMNS)
        writer.writerows((one.registry, one.name, one.version, one.licence) for one in sorted(packages))
