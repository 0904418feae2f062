"""Views of repositories on this machine: temporary folders with our own configuration, through which git reads them.

git never sees a repository's own configuration, which may name programs, remotes and other files. A view shares objects
and refs by reference and copies the small files. Each file is checked first: git would wait forever on a named pipe.
"""

import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from codequarry.ingest.git.child_guardian import GUARDIAN
from codequarry.ingest.git.damage import diagnosis
from codequarry.ingest.git.local import LocalRepository, readable
from codequarry.ingest.git.plain_files import TEXT_BYTES, check_plain, open_plain, read_plain
from codequarry.shared.errors import GitError

# About the size of an index with ten million files.
INDEX_BYTES = 2_000_000_000
# Limit for a file of refs; only a hundred million refs would need more.
REFS_BYTES = 1_000_000_000
MOST_BORROWED = 5


@contextmanager
def served_view(repository: LocalRepository, lenders: Sequence[Path] = ()) -> Iterator[Path]:
    """Yield a folder to fetch from instead of the repository; raise GitError if it borrows from outside ``lenders``."""
    _check_borrowed(repository.common / "objects", lenders)
    with _new_view(repository) as view:
        _share_objects(view, [repository.common / "objects"])
        try:
            yield view
        except GitError as error:
            found = diagnosis(repository, str(error))
            raise GitError(f"{error}; {found}" if found else str(error)) from None


@contextmanager
def listed_view(repository: LocalRepository, mirror_objects: Path, environment: Mapping[str, str]) -> Iterator[Path]:
    """Yield a folder through which git lists the working tree; its borrowed objects come from our mirror."""
    with _new_view(repository) as view:
        own = repository.common / "objects"
        with readable(repository.shown):
            _share_objects(view, [mirror_objects, *([] if _borrowed(own) else [own])])
            _copy(repository.folder / "index", view / "index", INDEX_BYTES)
            for shared in repository.folder.glob("sharedindex.*"):
                _copy(shared, view / shared.name, INDEX_BYTES)
            for name in ("exclude", "attributes"):
                _copy(repository.common / "info" / name, view / "info" / name, TEXT_BYTES)
            with (view / "config").open("a") as file:
                file.write(repository.configuration.line_ends(environment))
        yield view


@contextmanager
def _new_view(repository: LocalRepository) -> Iterator[Path]:
    # Only our user may read the folder: refs and paths of a repository may be as secret as its files.
    with tempfile.TemporaryDirectory(dir=GUARDIAN.folder(), ignore_cleanup_errors=True) as name:
        view = Path(name)
        with readable(repository.shown):
            _begin(repository, view)
        yield view


def _begin(repository: LocalRepository, view: Path) -> None:
    (view / "info").mkdir()
    (view / "config").write_text(repository.configuration.carried(), errors="surrogateescape")
    _copy(repository.folder / "HEAD", view / "HEAD", REFS_BYTES)
    if not (view / "HEAD").exists():
        raise GitError(f"{repository.shown} is damaged: it has no HEAD; see `git fsck`")
    _share_refs(repository, view)
    check_plain(repository.common / "objects")
    _copy(repository.common / "shallow", view / "shallow", REFS_BYTES)


def _share_refs(repository: LocalRepository, view: Path) -> None:
    common = repository.common
    if repository.configuration.extension("refstorage") == "reftable":
        if repository.folder != common:
            raise GitError(f"{repository.shown} is a worktree of a repository with a reftable: index {common.parent}")
        check_plain(common / "reftable")
        (view / "reftable").symlink_to(common / "reftable")
    check_plain(common / "refs")
    if not (common / "refs").is_dir():
        raise GitError(f"{repository.shown} is damaged: it has no refs; see `git fsck`")
    (view / "refs").symlink_to(common / "refs")
    with open_plain(common / "packed-refs", REFS_BYTES) as packed:
        if packed:  # a link, to find refs that `git pack-refs` moves there meanwhile
            (view / "packed-refs").symlink_to(common / "packed-refs")


def _share_objects(view: Path, folders: Sequence[Path]) -> None:
    (view / "objects" / "info").mkdir(parents=True)
    named = b"".join(_quoted(os.fsencode(folder.resolve())) + b"\n" for folder in folders if folder.is_dir())
    (view / "objects" / "info" / "alternates").write_bytes(named)


def _quoted(path: bytes) -> bytes:
    """Quote a path, which may contain any bytes, for git's list of alternates."""
    escaped = path.replace(b"\\", b"\\\\").replace(b'"', b'\\"').replace(b"\n", b"\\n")
    return b'"' + escaped + b'"'


def _copy(source: Path, target: Path, most_bytes: int) -> None:
    with open_plain(source, most_bytes) as file:
        if file:
            status = os.fstat(file.fileno())
            with target.open("wb") as copy:
                shutil.copyfileobj(file, copy, 1 << 20)
            # git distrusts what its index says about files that are not older than the index.
            os.utime(target, ns=(status.st_atime_ns, status.st_mtime_ns))


def _borrowed(objects: Path) -> list[Path]:
    """Return the object folders that git would read in addition to a repository's own."""
    path = objects / "info" / "alternates"
    lines = (read_plain(path) or b"").split(b"\n")
    # git unquotes such a line by its own rules, so it might read a different folder from the one that we check.
    if any(line.startswith(b'"') for line in lines):
        raise GitError(f"{path} has a quoted path, which is not supported: remove the quotes or run `git repack -a -d`")
    return [objects / os.fsdecode(line) for line in lines if line and not line.startswith(b"#")]


def _check_borrowed(objects: Path, lenders: Sequence[Path], depth: int = 0) -> None:
    """Raise GitError if objects come from a folder that the settings do not list."""
    allowed = [lender.expanduser().resolve() for lender in lenders]
    for other in _borrowed(objects):
        place = other.resolve()
        if depth >= MOST_BORROWED or not any(place.is_relative_to(lender) for lender in allowed):
            raise GitError(
                f"{objects.parent} borrows objects from {place}: list that folder or a parent in [git] alternates, or "
                "copy the objects with `git repack -a -d` and remove objects/info/alternates"
            )
        check_plain(place)
        _check_borrowed(place, lenders, depth + 1)
