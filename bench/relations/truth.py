"""References as an independent tool resolves them, written as JSON lines."""

import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TextIO

UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, order=True)
class Definition:
    """The place of a definition's name in the repository; lines count from 1."""

    path: str
    line: int
    name: str


@dataclass(frozen=True, slots=True)
class Place:
    """A name in a source file and the kind of its use; lines count from 1, columns in characters from 0."""

    path: str
    line: int
    column: int
    name: str
    kind: str


@dataclass(frozen=True, slots=True)
class Reference:
    """A use of a name. It has no targets if its definition is ``outside`` the repository or the tool cannot tell."""

    place: Place
    targets: tuple[Definition, ...] = ()
    outside: bool = False

    def row(self) -> dict[str, Any]:
        """Return the reference as a JSON object; ``to_any`` lists all targets if there are several."""
        row = asdict(self.place)
        row["to"] = asdict(self.targets[0]) if self.targets else None if self.outside else UNKNOWN
        if len(self.targets) > 1:
            row["to_any"] = [asdict(target) for target in self.targets]
        return row


def write_references(references: Iterable[Reference], output: TextIO) -> None:
    """Write one JSON object per line."""
    for reference in references:
        output.write(json.dumps(reference.row(), ensure_ascii=False) + "\n")


def read_rows(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the JSON objects of a file of JSON lines."""
    with path.open(encoding="utf-8") as lines:
        yield from (json.loads(line) for line in lines if line.strip())
