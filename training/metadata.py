"""Reads the licence of a package from its metadata, for each registry."""

import json
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping
from email.parser import Parser
from pathlib import Path

from training.archives import files_of
from training.clients import Fetched
from training.licences import expression_of, is_permissive, licence_of_text
from training.packages import Registry
from training.poms import licences_of

_CLASSIFIER = "License :: "
_LICENCE_FILES = frozenset({"license", "license.txt", "license.md", "licence", "copying", "license-mit", "unlicense"})
# A wheel also lists authors and notices as licence files; only these contain its terms.
_TERMS = re.compile(r"(?i)(?:un)?licen[cs]e|copying")
_DIST_INFO = re.compile(r"[^/]+\.dist-info/")


def licence_of(fetched: Fetched) -> str | None:
    """Return the SPDX expression of a package's licence, from its metadata; None if it is unclear."""
    return _READERS[fetched.package.registry](fetched)


def _pypi(fetched: Fetched) -> str | None:
    text = _first(fetched, frozenset({"metadata"}), lambda path: path.count("/") == 1)
    head = Parser().parsestr(text, headersonly=True)
    if expression := head.get("License-Expression"):
        return expression_of([expression])
    classifiers = [name.rsplit(" :: ", 1)[1] for name in head.get_all("Classifier", []) if name.startswith(_CLASSIFIER)]
    by_classifier = expression_of([name for name in classifiers if name != "OSI Approved"])
    field = head.get("License", "")
    if not classifiers and field in ("", "UNKNOWN"):
        return _by_licence_files(fetched, head.get_all("License-File", []))
    # If the classifiers are unclear, the field decides: a name, or a whole text.
    return by_classifier or (expression_of([field]) if len(field) < 80 else licence_text(field))


def _by_licence_files(fetched: Fetched, named: list[str]) -> str | None:
    """Judge a wheel whose metadata name only its licence files: all of them must be permissive."""
    terms = [path for path in named if _TERMS.match(Path(path).name)]
    names = frozenset(Path(path).name.lower() for path in terms)
    texts = [data for path, data in files_of(fetched.archive, names) if _DIST_INFO.match(path)] if names else []
    if len(texts) != len(terms):
        return None
    return expression_of([licence_text(data.decode(errors="replace")) or "" for data in texts])


def licence_text(text: str) -> str | None:
    """Return the licence of a whole text, or None if it is not permissive."""
    found = licence_of_text(text)
    return found if found and is_permissive(found) else None


def _npm(fetched: Fetched) -> str | None:
    text = _first(fetched, frozenset({"package.json"}), lambda path: path.count("/") == 1)
    values = json.loads(text or "{}")
    named = values.get("license") or values.get("licenses") or ""
    named = named if isinstance(named, list) else [named]
    return expression_of([item.get("type", "") if isinstance(item, dict) else str(item) for item in named])


def _crates(fetched: Fetched) -> str | None:
    text = _first(fetched, frozenset({"cargo.toml"}), lambda path: path.count("/") == 1)
    named = tomllib.loads(text).get("package", {}).get("license", "")
    return expression_of([named]) if isinstance(named, str) else None


def _go(fetched: Fetched) -> str | None:
    # Modules have no metadata except the text of their licence.
    depth = f"{fetched.package.name}@{fetched.package.version}/".count("/")
    return licence_text(_first(fetched, _LICENCE_FILES, lambda path: path.count("/") == depth))


def _maven(fetched: Fetched) -> str | None:
    for pom in fetched.metadata:
        if names := licences_of(pom):
            return expression_of(names)
    return None


def _debian(fetched: Fetched) -> str | None:
    """Return the licence of all files in the copyright file; files under other terms are ``refused_files``."""
    text = _copyright(fetched)
    if "Files:" not in text:
        return licence_text(text)
    return next((licence for files, licence in _paragraphs(text) if "*" in files), None)


def refused_files(fetched: Fetched) -> list[str]:
    """Return patterns of the files whose terms differ from their package's and are not permissive."""
    if fetched.package.registry != "debian":
        return []
    return [pattern for files, licence in _paragraphs(_copyright(fetched)) if licence is None for pattern in files]


def _copyright(fetched: Fetched) -> str:
    place = f"/{fetched.package.name}/copyright"
    return _first(fetched, frozenset({"copyright"}), lambda path: path.endswith(place))


def _paragraphs(text: str) -> Iterator[tuple[list[str], str | None]]:
    """Yield the patterns and licence of each paragraph in Debian's copyright format, except for the packaging."""
    for paragraph in re.split(r"\n\s*\n", text):
        files = re.search(r"^Files:((?:.*|\n[ \t]+.*)+)", paragraph, re.MULTILINE)
        named = re.search(r"^License:\s*(.*)", paragraph, re.MULTILINE)
        patterns = files[1].split() if files else []
        if named and patterns and not all(pattern.startswith("debian") for pattern in patterns):
            expression = re.sub(r"(?i)\bor\b", "OR", re.sub(r"(?i)\band\b", "AND", named[1].replace(",", " ")))
            yield patterns, expression_of([expression])


_READERS: Mapping[Registry, Callable[[Fetched], str | None]] = {
    "pypi": _pypi,
    "npm": _npm,
    "crates": _crates,
    "go": _go,
    "maven": _maven,
    "debian": _debian,
}


def _first(fetched: Fetched, names: frozenset[str], fits: Callable[[str], bool]) -> str:
    for path, data in files_of(fetched.archive, names):
        if fits(path):
            return data.decode(errors="replace")
    return ""
