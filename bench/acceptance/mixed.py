"""One large repository made of many real ones: each tree becomes a folder of a single commit."""

import subprocess
from collections.abc import Sequence
from pathlib import Path

from bench.acceptance.report import progress
from bench.acceptance.repositories import empty_repository, find_git_dir, git, head_commit

MIXED_BRANCH = "refs/heads/main"
IDENTITY = ("-c", "user.name=bench", "-c", "user.email=bench@localhost")


def make_mixed(target: Path, clones: Path, names: Sequence[str], folders: Sequence[Path]) -> Path:
    """Commit the HEAD trees of public repositories, and plain folders, into a new bare repository."""
    if target.exists():
        return target
    git_dirs = {name: _found(clones, name) for name in names}
    empty_repository(target, list(git_dirs.values()))
    trees = [
        _entry(name.replace("/", "-"), f"{head_commit(git_dir)}^{{tree}}", git_dir)
        for name, git_dir in git_dirs.items()
    ]
    trees += [_add_folder(target, folder) for folder in folders]
    _commit(target, git(target, "mktree", data="".join(trees).encode()).decode().strip())
    return target


def edit_one_file(repository: Path) -> str:
    """Commit an extra line at the end of some source file and return its path."""
    listing = git(repository, "ls-tree", "-r", "-z", "--name-only", MIXED_BRANCH).decode(errors="replace").split("\0")
    path = next(name for name in listing if name.endswith((".go", ".py", ".ts", ".java", ".php")) and "/src/" in name)
    index = repository / "edit.index"
    git(repository, "read-tree", MIXED_BRANCH, index=index)
    text = git(repository, "show", f"{MIXED_BRANCH}:{path}") + b"\n// one more line\n"
    blob = git(repository, "hash-object", "-w", "--stdin", data=text).decode().strip()
    git(repository, "update-index", "--cacheinfo", f"100644,{blob},{path}", index=index)
    _commit(repository, git(repository, "write-tree", index=index).decode().strip(), MIXED_BRANCH)
    index.unlink()
    return path


def files_in(repository: Path) -> int:
    """Return the number of files of the newest commit."""
    return git(repository, "ls-tree", "-r", "-z", "--name-only", MIXED_BRANCH).count(b"\0")


def _found(clones: Path, name: str) -> Path:
    git_dir = find_git_dir(clones, name)
    if git_dir is None:
        raise SystemExit(f"{name} is not in {clones}; get it with: git clone --bare https://github.com/{name}")
    return git_dir


def _entry(name: str, tree: str, git_dir: Path) -> str:
    return f"040000 tree {git(git_dir, 'rev-parse', '--verify', tree).decode().strip()}\t{name}\n"


def _add_folder(target: Path, folder: Path) -> str:
    """Write the files of a plain folder as a tree, without links."""
    files = sorted(path for path in folder.rglob("*") if path.is_file() and not path.is_symlink())
    progress(f"adding {len(files)} files of {folder}")
    names = "".join(f"{path}\n" for path in files).encode()
    blobs = git(target, "hash-object", "-w", "--no-filters", "--stdin-paths", data=names).decode().split()
    lines = [f"100644 {blob}\t{path.relative_to(folder).as_posix()}\n" for blob, path in zip(blobs, files, strict=True)]
    index = target / "folder.index"
    git(target, "update-index", "--add", "--index-info", data="".join(lines).encode(), index=index)
    tree = git(target, "write-tree", index=index).decode().strip()
    index.unlink()
    return _entry(folder.name, tree, target)


def _commit(repository: Path, tree: str, parent: str | None = None) -> None:
    parents = ["-p", parent] if parent else []
    command = ["git", "--git-dir", str(repository), *IDENTITY, "commit-tree", tree, *parents, "-m", "mixed"]
    commit = subprocess.run(command, capture_output=True, check=True, text=True).stdout.strip()
    git(repository, "update-ref", MIXED_BRANCH, commit)
