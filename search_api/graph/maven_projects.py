"""What a POM says of a Maven project: its coordinates and those of its dependencies."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from xml.etree import ElementTree

# A declared entity may stand for gigabytes of text; no POM needs one.
_DECLARATION = re.compile(r"<!\s*(?:DOCTYPE|ENTITY)", re.IGNORECASE)
_PROPERTY = re.compile(r"\$\{([^}]+)\}")
# A property may name another; a longer chain is a circle.
_MAX_PROPERTIES = 5
# Where a project, and each of its profiles, lists dependencies. Managed ones are versions of what others may need.
_DEPENDENCIES = ("dependencies/dependency", "profiles/profile/dependencies/dependency")


@dataclass(frozen=True, slots=True)
class MavenProject:
    """A project and what it depends on, each as ``group:artifact``."""

    name: str
    dependencies: frozenset[str]


def read_pom(text: str) -> MavenProject | None:
    """Return the project that a POM describes, or None if it names none or can't be read."""
    if _DECLARATION.search(text):
        return None
    try:
        root = ElementTree.fromstring(text)
    except (ElementTree.ParseError, ValueError, RecursionError):
        return None
    # The namespace says only the version of the format.
    for element in root.iter():
        element.tag = element.tag.rpartition("}")[2]
    pom = _Pom(root)
    name = pom.coordinates(root, pom.text(root, "parent/groupId"))
    if root.tag != "project" or name is None:
        return None
    return MavenProject(name, frozenset(pom.dependencies()))


class _Pom:
    """Reads elements, with properties in place of their names."""

    def __init__(self, root: ElementTree.Element) -> None:
        self._root = root
        self._properties = {child.tag: (child.text or "").strip() for child in root.iterfind("properties/*")}

    def text(self, element: ElementTree.Element, path: str) -> str:
        """Return the text of an element below another, or nothing."""
        found = (element.findtext(path) or "").strip()
        for _ in range(_MAX_PROPERTIES):
            if "${" not in found:
                break
            found = _PROPERTY.sub(lambda match: self._property(match[1]), found)
        return found

    def coordinates(self, element: ElementTree.Element, group: str = "") -> str | None:
        """Return ``group:artifact`` of a project or dependency, or None if one of them is not known."""
        named = (self.text(element, "groupId") or group, self.text(element, "artifactId"))
        return ":".join(named) if all(named) and not any("${" in part for part in named) else None

    def dependencies(self) -> Iterator[str]:
        """Yield the coordinates of the dependencies."""
        for path in _DEPENDENCIES:
            for element in self._root.iterfind(path):
                if (name := self.coordinates(element)) is not None:
                    yield name

    def _property(self, name: str) -> str:
        """Return the value of a property; one that the POM does not give stays as it is written."""
        path = re.sub(r"^(?:project|pom)\.", "", name)
        if path in {"groupId", "artifactId", "parent.groupId", "parent.artifactId"}:
            element = path.replace(".", "/")
            return self._root.findtext(element) or self._root.findtext(f"parent/{element}") or f"${{{name}}}"
        return self._properties.get(name, f"${{{name}}}")
