"""Resolve the names in the Rust files of a work tree with the compiler, by the links that rustdoc writes.

export RUSTC_BOOTSTRAP=1 CARGO_TARGET_DIR=TARGET
export RUSTDOCFLAGS="-Zunstable-options --generate-link-to-definition --document-private-items"
cargo doc --no-deps --workspace
python -m bench.relations.rust_rustdoc TREE TARGET/doc > truth.jsonl
"""

import argparse
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from bench.relations.rust_pages import ITEM, Lines, Link, declared, follow, read_links
from bench.relations.truth import Definition, Place, Reference, write_references

KEYWORDS = {"self", "Self", "super", "crate"}
TYPES = {"struct", "enum", "trait", "type", "union"}
EXTERNAL_TYPE = re.compile(r"/(?:struct|enum|trait|type|union|primitive)\.[^/#]*$")
DECLARING = re.compile(r"(?:fn|struct|enum|trait|type|const|static|mod|union|macro_rules!|mut)\s+(?:r#)?$")


class Workspace:
    """A work tree and the source pages that rustdoc has written for it."""

    def __init__(self, tree: Path, pages: Path) -> None:
        self._tree, self._pages = tree, pages
        self._folders = dict(_crates(tree))
        self._sources: dict[str, list[str]] = {}

    def references(self) -> Iterator[Reference]:
        """Yield the references to everything but local variables and parameters, in all pages."""
        seen: set[str] = set()
        for page in sorted((self._pages / "src").rglob("*.rs.html")):
            path = self._path(page)
            if path and path not in seen:
                seen.add(path)
                for link in read_links(page):
                    reference = self._reference(path, page, link)
                    if reference is not None:
                        yield reference

    def _path(self, page: Path) -> str | None:
        """Return the path of the source file that a page shows."""
        if not page.is_relative_to(self._pages / "src"):
            return None
        crate, *rest = page.relative_to(self._pages / "src").parts
        if crate not in self._folders:
            return None
        path = (self._folders[crate] / Path(*rest)).with_suffix("")
        return path.relative_to(self._tree).as_posix() if path.is_file() else None

    def _source(self, path: str) -> list[str]:
        if path not in self._sources:
            self._sources[path] = (self._tree / path).read_text(encoding="utf-8").split("\n")
        return self._sources[path]

    def _reference(self, path: str, page: Path, link: Link) -> Reference | None:
        name = re.search(r"(\w+)!?$", link.text)
        line = self._source(path)[link.line - 1]
        if name is None or name[1] in KEYWORDS:
            return None
        column = link.column + name.start(1)
        if not line.startswith(name[1], column) or DECLARING.search(line[:column]):
            return None
        if link.address.startswith("https:"):
            kind = _kind(line, column, link.text, "struct" if EXTERNAL_TYPE.search(link.address) else "")
            return Reference(Place(path, link.line, column, name[1], kind), outside=True)
        lines = follow(page, link.address)
        target = self._path(lines.page) if lines else None
        if lines is None or target is None:
            return Reference(Place(path, link.line, column, name[1], _kind(line, column, link.text, "")))
        found = declared(self._source(target), lines, name[1])
        if found is None or (target, found[0]) == (path, link.line):
            return None
        definition, keyword = Definition(target, found[0], found[1]), found[2]
        kind = _kind(line, column, link.text, keyword)
        return Reference(Place(path, link.line, column, name[1], kind), (definition, *self._module(target, lines)))

    def _module(self, path: str, lines: Lines) -> Iterator[Definition]:
        """Yield the file of the module if the lines are its declaration, ``mod name;``."""
        item = ITEM.match(self._source(path)[lines.first - 1])
        if item and item[1] == "mod" and self._source(path)[lines.first - 1].rstrip().endswith(";"):
            parent = Path(path)
            own = parent.stem in ("mod", "lib", "main")
            folder = parent.parent if own else parent.with_suffix("")
            for name in (folder / f"{item[2]}.rs", folder / item[2] / "mod.rs"):
                if (self._tree / name).is_file():
                    yield Definition(name.as_posix(), 1, item[2])


def _crates(tree: Path) -> Iterator[tuple[str, Path]]:
    """Yield the name and the folder of the root file of every crate in the workspace."""
    command = ["cargo", "metadata", "--no-deps", "--format-version=1"]
    metadata = json.loads(subprocess.run(command, cwd=tree, check=True, stdout=subprocess.PIPE).stdout)
    for package in metadata["packages"]:
        for target in package["targets"]:
            if {"lib", "bin", "proc-macro", "rlib"} & set(target["kind"]):
                yield target["name"].replace("-", "_"), Path(target["src_path"]).parent


def _kind(line: str, column: int, text: str, keyword: str) -> str:
    """Judge the kind of a use by what stands around it and by what it refers to."""
    after = re.sub(r"^\w+", "", line[column:])
    if re.match(r"\s*(?:pub(?:\([^)]*\))?\s+)?use\b", line):
        return "import"
    if text.endswith("!") or re.match(r"(?:::<[^(]*>)?\(", after):
        return "call"
    if keyword == "trait" and re.match(r"\s*(?:unsafe\s+)?impl\b", line) and re.match(r"(?:<.*>)?\s+for\b", after):
        return "inherits"
    return "type" if keyword in TYPES else "other"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tree", type=Path)
    parser.add_argument("pages", type=Path, help="the folder doc that cargo has written")
    options = parser.parse_args()
    write_references(Workspace(options.tree.resolve(), options.pages.resolve()).references(), sys.stdout)


if __name__ == "__main__":
    main()
