"""One file version on its way from git to chunks."""

from dataclasses import dataclass

from codequarry.shared.model import KindOfFile


@dataclass(frozen=True, slots=True)
class PathLabels:
    """What the path rules of the settings say about a file."""

    microservice: str | None = None
    aggregate: str | None = None
    tags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A decoded file version. ``text`` keeps the file's own line ends; ``encoding`` is set where it was not UTF-8."""

    repo: str
    path: str
    blob: str
    language: str
    text: str
    kind_of_file: KindOfFile = "source"
    labels: PathLabels = PathLabels()
    encoding: str | None = None
