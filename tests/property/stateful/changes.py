"""The changes that people make to a repository, one function each: from a tree to the next tree."""

import random

from tests.property.stateful.origin import EXECUTABLE, LINK, REGULAR, SUBMODULE, Tree
from tests.property.stateful.truth import IGNORE_FILE

WORDS = ["alpha", "beta", "gamma", "delta", "epsilon", "zeta"]
PATHS = [
    "a.py",
    "b.md",
    "src/c.py",
    "src/d.txt",
    "src/deep/e.go",
    "docs/f.md",
    "g.json",
    "h h.txt",
    "ünï.py",
    "docs/i.rs",
]
IGNORABLE = ["src/", "*.md", "g.json", "docs/f.md", "# nothing"]


def content(chance: random.Random) -> bytes:
    lines = (f"{chance.choice(WORDS)} = {chance.randint(0, 99)}\n" for _ in range(chance.choice((0, 1, 3, 12))))
    return "".join(lines).encode()


def files_of(tree: Tree) -> list[str]:
    return sorted(path for path, (mode, _) in tree.items() if mode in (REGULAR, EXECUTABLE) and path != IGNORE_FILE)


def first(chance: random.Random) -> Tree:
    return {path: (REGULAR, content(chance)) for path in chance.sample(PATHS, 4)}


def edit(tree: Tree, chance: random.Random) -> Tree:
    paths = files_of(tree)
    changed = chance.sample(paths, min(len(paths), chance.randint(1, 2)))
    return tree | {path: (tree[path][0], content(chance)) for path in changed}


def add(tree: Tree, chance: random.Random) -> Tree:
    return tree | {chance.choice(PATHS): (REGULAR, content(chance))}


def delete(tree: Tree, chance: random.Random) -> Tree:
    paths = sorted(tree)
    gone = set(chance.sample(paths, min(len(paths), chance.randint(1, 2))))
    return {path: entry for path, entry in tree.items() if path not in gone}


def rename(tree: Tree, chance: random.Random) -> Tree:
    free = [path for path in PATHS if path not in tree]
    if not free or not files_of(tree):
        return tree
    old, new = chance.choice(files_of(tree)), chance.choice(free)
    return {new if path == old else path: entry for path, entry in tree.items()}


def change_mode(tree: Tree, chance: random.Random) -> Tree:
    paths = files_of(tree)
    if not paths:
        return tree
    path = chance.choice(paths)
    mode, data = tree[path]
    return tree | {path: (EXECUTABLE if mode == REGULAR else REGULAR, data)}


def link(tree: Tree, chance: random.Random) -> Tree:
    return tree | {chance.choice(PATHS): (LINK, b"a.py")}


def submodule(tree: Tree, chance: random.Random) -> Tree:
    path = chance.choice(("vendor-of-ours", "src/part"))
    return tree | {path: (SUBMODULE, b"%040x" % chance.randint(1, 9))}


def ignore(tree: Tree, chance: random.Random) -> Tree:
    lines = chance.sample(IGNORABLE, chance.randint(0, 2))
    return tree | {IGNORE_FILE: (REGULAR, "".join(f"{line}\n" for line in lines).encode())}


def merged(tree: Tree, other: Tree, chance: random.Random) -> Tree:
    """Merge as a person might who takes either side of each path."""
    paths = sorted(tree.keys() | other.keys())
    sides = {path: (tree if chance.random() < 0.5 else other).get(path) for path in paths}
    return {path: entry for path, entry in sides.items() if entry is not None}


CHANGES = {
    "edit": edit,
    "add": add,
    "delete": delete,
    "rename": rename,
    "change of mode": change_mode,
    "symbolic link": link,
    "submodule": submodule,
    "ignore file": ignore,
    "empty commit": lambda tree, chance: tree,
}
