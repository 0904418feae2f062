"""What a Maven project says of itself."""

import xml.etree.ElementTree as ET
from pathlib import Path


def licences_of(pom: Path) -> list[str]:
    """Return the names of the licences that a project gives itself; none where it inherits them."""
    lists = (one for one in ET.parse(pom).getroot() if _local(one) == "licenses")
    return [_text(one, "name") for listed in lists for one in listed if _local(one) == "license"]


def parent_of(pom: Path) -> tuple[str, str, str] | None:
    """Return group, name and version of a project's parent, whose licence it inherits."""
    parent = next((one for one in ET.parse(pom).getroot() if _local(one) == "parent"), None)
    if parent is None:
        return None
    return _text(parent, "groupId"), _text(parent, "artifactId"), _text(parent, "version")


def _text(element: ET.Element, name: str) -> str:
    return next(((one.text or "").strip() for one in element if _local(one) == name), "")


def _local(element: ET.Element) -> str:
    return element.tag.rsplit("}", 1)[-1]
