"""An origin that writes objects and refs without a process, so a commit takes less than a millisecond."""

import hashlib
import os
import subprocess
import zlib
from functools import cached_property
from pathlib import Path

REGULAR, EXECUTABLE, LINK, SUBMODULE = "100644", "100755", "120000", "160000"
Tree = dict[str, tuple[str, bytes]]
"""Path to mode and content; the content of a submodule is the commit in hex."""


class BareOrigin:
    """A bare repository; ``trees`` keeps the trees of its commits."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        for part in ("objects", "refs/heads", "refs/tags"):
            (folder / part).mkdir(parents=True)
        (folder / "HEAD").write_text("ref: refs/heads/main\n")
        (folder / "config").write_text("[core]\n\trepositoryformatversion = 0\n\tbare = true\n")
        self.trees: dict[str, Tree] = {}
        self.parents: dict[str, tuple[str, ...]] = {}
        self.refs: dict[str, str] = {}
        self._listings: dict[str, dict[str, tuple[str, str]]] = {}

    @cached_property
    def url(self) -> str:
        """What a user would pass to index it."""
        return str(self.folder)

    def commit(self, tree: Tree, parents: tuple[str, ...] = ()) -> str:
        """Write a commit; its date is the number of earlier commits, so that every commit is different."""
        lines = [f"tree {self._write_tree(tree)}", *(f"parent {parent}" for parent in parents)]
        who = f"A <a@example.org> {1_700_000_000 + len(self.trees)} +0000"
        body = "\n".join([*lines, f"author {who}", f"committer {who}", "", "change", ""])
        commit = self._write("commit", body.encode())
        self.trees[commit], self.parents[commit] = tree, parents
        return commit

    def tag_object(self, name: str, commit: str) -> str:
        """Write an annotated tag and return its object name."""
        lines = (f"object {commit}", "type commit", f"tag {name}", "tagger A <a@example.org> 1700000000 +0000", "", "")
        return self._write("tag", "\n".join(lines).encode())

    def point(self, ref: str, commit: str, value: str | None = None) -> None:
        """Create or move a ref; ``value`` is an annotated tag of the commit."""
        place = self.folder / ref
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(f"{value or commit}\n")
        self.refs[ref] = commit

    def delete(self, ref: str) -> None:
        """Delete a ref."""
        (self.folder / ref).unlink()
        del self.refs[ref]

    def listing(self, commit: str) -> dict[str, tuple[str, str]]:
        """Return the output of ``git ls-tree -r`` for a commit: path to mode and object."""
        if commit not in self._listings:
            command = ["git", f"--git-dir={self.folder}", "ls-tree", "-r", "-z", "--full-tree", commit]
            environment = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
            listed = subprocess.run(command, env=environment, capture_output=True, check=True).stdout
            lines = (line.partition(b"\t") for line in listed.split(b"\0") if line)
            self._listings[commit] = {
                path.decode(): (fact.split()[0].decode(), fact.split()[2].decode()) for fact, _, path in lines
            }
        return self._listings[commit]

    def history(self, commit: str) -> frozenset[str]:
        """Return a commit and all commits before it, as ``git rev-list`` does."""
        seen: set[str] = set()
        left = [commit]
        while left:
            found = left.pop()
            if found not in seen:
                seen.add(found)
                left += self.parents[found]
        return frozenset(seen)

    def changed(self, commit: str) -> frozenset[str]:
        """Return the paths that a commit changed; a merge and a commit without parents change none."""
        if len(self.parents[commit]) != 1:
            return frozenset()
        before, after = self.trees[self.parents[commit][0]], self.trees[commit]
        return frozenset(path for path in before.keys() | after.keys() if before.get(path) != after.get(path))

    def is_ancestor(self, old: str, new: str) -> bool:
        """Return whether a branch that moves from one commit to the other goes forward."""
        return old in self.history(new)

    def _write_tree(self, tree: Tree) -> str:
        entries: dict[str, tuple[str, str]] = {}
        folders: dict[str, Tree] = {}
        for path, (mode, content) in tree.items():
            name, _, rest = path.partition("/")
            if rest:
                folders.setdefault(name, {})[rest] = (mode, content)
            else:
                entries[name] = (mode, content.decode() if mode == SUBMODULE else self._write("blob", content))
        entries |= {name: ("40000", self._write_tree(inner)) for name, inner in folders.items()}
        # Git sorts a folder as if its name ended with a slash.
        names = sorted(entries, key=lambda name: f"{name}/".encode() if name in folders else name.encode())
        body = b"".join(f"{entries[name][0]} {name}\0".encode() + bytes.fromhex(entries[name][1]) for name in names)
        return self._write("tree", body)

    def _write(self, kind: str, body: bytes) -> str:
        data = f"{kind} {len(body)}\0".encode() + body
        name = hashlib.sha1(data).hexdigest()
        place = self.folder / "objects" / name[:2] / name[2:]
        if not place.exists():
            place.parent.mkdir(exist_ok=True)
            place.write_bytes(zlib.compress(data, 1))
        return name
