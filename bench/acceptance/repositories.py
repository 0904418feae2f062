"""Real repositories on disk: found by public name, pinned to one commit, read independently of the indexer."""

import os
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

# Modes that `git ls-tree` prints for a symbolic link and for a submodule.
LINK_MODE = "120000"
SUBMODULE_MODE = "160000"


@dataclass(frozen=True, slots=True)
class Clone:
    """A public repository ``owner/name`` in a git directory of this machine."""

    name: str
    git_dir: Path
    commit: str

    @property
    def short_name(self) -> str:
        """The name that it is indexed under."""
        return self.name.rpartition("/")[2]


@dataclass(frozen=True, slots=True)
class TreeEntry:
    """One line of `git ls-tree -r`."""

    mode: str
    blob: str
    path: str


def git(git_dir: Path, *arguments: str, data: bytes | None = None, index: Path | None = None) -> bytes:
    """Run git in a git directory and return its output; raises SystemExit with git's message if it fails."""
    environment = os.environ | ({"GIT_INDEX_FILE": str(index)} if index else {})
    done = subprocess.run(
        ["git", "--git-dir", str(git_dir), *arguments], input=data, capture_output=True, check=False, env=environment
    )
    if done.returncode:
        raise SystemExit(f"git {' '.join(arguments)} in {git_dir}: {done.stderr.decode(errors='replace').strip()}")
    return done.stdout


def find_git_dir(folder: Path, name: str) -> Path | None:
    """Return the git directory of ``owner/name`` among clones called ``owner+name`` or ``name``, bare or not."""
    owner, _, short = name.rpartition("/")
    for base in (f"{owner}+{short}", f"{owner}+{short}/repo", short, f"{short}.git", f"{owner}/{short}"):
        for git_dir in (folder / base / ".git", folder / base):
            if (git_dir / "HEAD").is_file() and (git_dir / "objects").is_dir():
                return git_dir
    return None


def head_commit(git_dir: Path) -> str:
    """Return the commit that HEAD names."""
    return git(git_dir, "rev-parse", "HEAD").decode().strip()


def find_clone(folder: Path, name: str, commit: str | None = None) -> Clone:
    """Return a public repository at a commit (HEAD if None); raises SystemExit with the command that clones it."""
    git_dir = find_git_dir(folder, name)
    if git_dir is None:
        raise SystemExit(
            f"{name} is not in {folder}; get it with: "
            f"git clone --bare https://github.com/{name} {folder}/{name.replace('/', '+')}"
        )
    wanted = commit or head_commit(git_dir)
    return Clone(name, git_dir, git(git_dir, "rev-parse", "--verify", f"{wanted}^{{commit}}").decode().strip())


def pinned(clone: Clone, folder: Path) -> Path:
    """Make a bare repository whose only branch ends at the clone's commit; objects are borrowed, not copied."""
    target = folder / clone.name.replace("/", "+")
    if not (target / "HEAD").exists():
        empty_repository(target, [clone.git_dir])
        git(target, "update-ref", "refs/heads/main", clone.commit)
    return target


def empty_repository(target: Path, lenders: Sequence[Path]) -> None:
    """Make a bare repository that borrows its objects from others."""
    subprocess.run(["git", "init", "-q", "--bare", "-b", "main", str(target)], check=True)
    borrowed = "".join(f"{lender.resolve() / 'objects'}\n" for lender in lenders)
    (target / "objects" / "info" / "alternates").write_text(borrowed)


def read_tree(clone: Clone) -> list[TreeEntry]:
    """Return every entry of the tree of the clone's commit."""
    listing = git(clone.git_dir, "ls-tree", "-r", "-z", "--full-tree", clone.commit)
    entries = []
    for line in listing.split(b"\0")[:-1]:
        facts, _, path = line.partition(b"\t")
        mode, _, blob = facts.decode().split(" ")
        entries.append(TreeEntry(mode, blob, path.decode(errors="backslashreplace")))
    return entries


def read_blobs(clone: Clone, blobs: Sequence[str]) -> Iterator[tuple[str, bytes]]:
    """Yield each blob and its bytes, in the given order."""
    with subprocess.Popen(
        ["git", "--git-dir", str(clone.git_dir), "cat-file", "--batch"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for blob in blobs:
            process.stdin.write(f"{blob}\n".encode())
            process.stdin.flush()
            size = int(process.stdout.readline().split()[2])
            data = process.stdout.read(size)
            process.stdout.read(1)
            yield blob, data
        process.stdin.close()


def export(clone: Clone, folder: Path) -> Path:
    """Write the files of the clone's commit into a new folder, for tools that read files."""
    target = folder / clone.name.replace("/", "+")
    if not target.exists():
        target.mkdir(parents=True)
        archive = git(clone.git_dir, "archive", "--format=tar", clone.commit)
        subprocess.run(["tar", "-x", "-C", str(target)], input=archive, check=True)
    return target
