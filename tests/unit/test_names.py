"""Names of classes and types are unique, so that a name means the same everywhere."""

import ast
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
ROOMS = ("cli", "ingest", "opensearch", "search_api", "shared")


def declared(tree: ast.Module) -> Iterator[str]:
    """Yield the public classes and aliases of types of a module; type variables have no meaning of their own."""
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            yield node.name
        if isinstance(node, ast.Assign) and not ast.unparse(node.value).startswith(("TypeVar(", "ParamSpec(")):
            yield from (ast.unparse(target) for target in node.targets)


def is_a_type(name: str) -> bool:
    return name.isidentifier() and name[0].isupper() and not name.isupper() and "_" not in name


def test_no_type_has_the_name_of_another_one():
    places = defaultdict(list)
    for room in ROOMS:
        for path in sorted((ROOT / room).rglob("*.py")):
            for name in filter(is_a_type, declared(ast.parse(path.read_text()))):
                places[name].append(str(path.relative_to(ROOT)))
    assert {name: found for name, found in places.items() if len(found) > 1} == {}


def test_no_module_gives_a_constant_two_values():
    doubled = []
    for room in ROOMS:
        for path in sorted((ROOT / room).rglob("*.py")):
            assigned = [node for node in ast.parse(path.read_text()).body if isinstance(node, ast.Assign)]
            names = [ast.unparse(target) for node in assigned for target in node.targets]
            doubled += [f"{path.relative_to(ROOT)}: {name}" for name in names if names.count(name) > 1]
    assert doubled == []
