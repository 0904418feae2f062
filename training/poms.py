"""Reads the POM of a Maven project."""

import xml.etree.ElementTree as ET
from pathlib import Path


def licences_of(pom: Path) -> list[str]:
    """Return the names of a project's licences, none if it inherits them."""
    lists = (element for element in ET.parse(pom).getroot() if _local(element) == "licenses")
    return [_text(element, "name") for listed in lists for element in listed if _local(element) == "license"]


def parent_of(pom: Path) -> tuple[str, str, str] | None:
    """Return group, name and version of a project's parent, from which it may inherit licences."""
    parent = next((element for element in ET.parse(pom).getroot() if _local(element) == "parent"), None)
    if parent is None:
        return None
    return _text(parent, "groupId"), _text(parent, "artifactId"), _text(parent, "version")


def _text(element: ET.Element, name: str) -> str:
    return next(((child.text or "").strip() for child in element if _local(child) == name), "")


def _local(element: ET.Element) -> str:
    return element.tag.rsplit("}", 1)[-1]
