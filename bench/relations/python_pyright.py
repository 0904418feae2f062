"""Resolve the names in the Python files of a work tree with pyright's language server.

    python -m bench.relations.python_pyright TREE --server node_modules/pyright/langserver.index.js > truth.jsonl

``--python`` names an interpreter that has the packages which the repository needs, without the repository itself.
"""

import argparse
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from bench.relations.language_server import LanguageServer, Target, language_server
from bench.relations.python_names import SourceFile, read_source
from bench.relations.truth import Definition, Place, Reference, write_references


def resolve(tree: Path, server: LanguageServer) -> Iterator[Reference]:
    """Yield the references of all Python files of the tree except those to local variables and parameters."""
    texts = dict(_texts(tree))
    sources = dict(_parsed(texts))
    for name, source in sources.items():
        places = [(use.line, use.column) for use in source.uses]
        answers = server.definitions(tree / name, texts[name], "python", places)
        for use, targets in zip(source.uses, answers, strict=True):
            reference = _reference(tree, use, targets, sources)
            if reference is not None:
                yield reference


def _texts(tree: Path) -> Iterator[tuple[str, str]]:
    for path in sorted(tree.rglob("*.py")):
        yield path.relative_to(tree).as_posix(), path.read_text(encoding="utf-8", errors="replace")


def _parsed(texts: Mapping[str, str]) -> Iterator[tuple[str, SourceFile]]:
    for name, text in texts.items():
        try:
            yield name, read_source(name, text)
        except (SyntaxError, ValueError) as error:
            print(f"{name} is left out: {error}", file=sys.stderr)


def _reference(
    tree: Path, use: Place, targets: Sequence[Target], sources: Mapping[str, SourceFile]
) -> Reference | None:
    """Return the resolved reference, or None if the name is a local variable or a parameter."""
    inside = [target for target in targets if target.path.is_relative_to(tree)]
    if not inside:
        return Reference(use, outside=bool(targets))
    definitions = dict.fromkeys(one for target in inside for one in _definitions(tree, use, target, sources))
    return Reference(use, tuple(definitions)) if definitions else None


def _definitions(tree: Path, use: Place, target: Target, sources: Mapping[str, SourceFile]) -> Iterator[Definition]:
    """Yield the definition at a place, and those of the same name beside it: setters, overloads, assignments."""
    path = target.path.relative_to(tree).as_posix()
    source = sources.get(path)
    if source is None:
        return
    position = (target.line, target.column)
    if position == (1, 0) and position not in source.definitions:
        yield Definition(path, 1, use.name)  # the module itself
        return
    if not use.name.startswith("__"):
        position = source.constructors.get(position, position)
    if name := source.definitions.get(position):
        for line, _ in (position, *source.twins[position]):
            yield Definition(path, line, name)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tree", type=Path)
    parser.add_argument("--server", type=Path, required=True, help="langserver.index.js of the npm package pyright")
    parser.add_argument("--python", type=Path, default=Path(sys.executable))
    options = parser.parse_args()
    settings = {"python": {"pythonPath": str(options.python.absolute())}}
    command = ["node", "--max-old-space-size=4096", str(options.server.resolve()), "--stdio"]
    tree = options.tree.resolve()
    with language_server(command, tree, settings) as server:
        write_references(resolve(tree, server), sys.stdout)


if __name__ == "__main__":
    main()
