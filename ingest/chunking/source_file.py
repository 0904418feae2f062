"""A file version as input to the chunker."""

from dataclasses import dataclass

from codequarry.shared.model import KindOfFile


@dataclass(frozen=True, slots=True)
class PathLabels:
    """What the path rules of the settings assign to a file."""

    microservice: str | None = None
    aggregate: str | None = None
    tags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A decoded file version. ``text`` keeps its line ends; ``encoding`` is None for UTF-8."""

    repo: str
    path: str
    blob: str
    language: str
    text: str
    kind_of_file: KindOfFile = "source"
    labels: PathLabels = PathLabels()
    encoding: str | None = None
