"""Bare mirrors, tree listings and blobs: everything that is read comes from git objects, never from a working tree."""

import fcntl
import os
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path

import git as gitpython

from codequarry.ingest.git_process import CONFIGURATION, git_environment, run_git
from codequarry.ingest.origins import Origin
from codequarry.ingest.paths import printable
from codequarry.shared.config import GitSettings
from codequarry.shared.errors import GitError, UsageError

# A server that has not listed its branches by then does not answer; a clone may take much longer.
ANSWER_SECONDS = 60.0
SHOWN_BRANCHES = 10
HEAD = "HEAD"
# Where the mirror keeps a head that is on no branch.
DETACHED_REF = "refs/codequarry/head"
SYMLINK, SUBMODULE = "120000", "160000"
SHA256_HEX = 64


@dataclass(frozen=True, slots=True)
class Mirror:
    """A bare copy of a repository, and the environment in which git may read it."""

    folder: Path
    environment: Mapping[str, str] = field(repr=False)

    def run(self, *arguments: str, what: str) -> bytes:
        """Run a git command that reads the mirror."""
        return run_git((f"--git-dir={self.folder}", *arguments), self.environment, what=what)


@dataclass(frozen=True, slots=True)
class Fetched:
    """A mirror that has the newest commit of a branch; ``branch`` is HEAD where the origin's head is on none."""

    mirror: Mirror
    branch: str
    commit: str


@dataclass(frozen=True, slots=True)
class TreeEntry:
    """A file, symbolic link or submodule of a commit; ``size`` is that of the blob in bytes, 0 for a submodule."""

    path: str
    mode: str
    blob: str
    size: int


def synchronise(origin: Origin, branch: str | None, settings: GitSettings, home: Path) -> Fetched:
    """Bring the mirror of ``origin`` up to the newest commit of ``branch`` (None: the branch its HEAD names)."""
    mirrors = _mirrors(home)
    mirrors.mkdir(parents=True, exist_ok=True)
    configuration = _write_configuration(mirrors / "gitconfig")
    environment = git_environment(settings, configuration, origin)
    branch, tip = _ask(origin, branch, environment, min(ANSWER_SECONDS, settings.clone_timeout_seconds))
    mirror = Mirror(mirror_folder(origin, home), git_environment(settings, configuration))
    target = DETACHED_REF if branch == HEAD else f"refs/heads/{branch}"
    with _locked(mirror.folder, settings.clone_timeout_seconds) as lock:
        if _commit_of(mirror, target) != tip:
            _fetch(origin, mirror, environment, (branch, tip, target), settings.clone_timeout_seconds, lock)
        commit = _commit_of(mirror, target)
    if commit is None:
        raise GitError(f"branch {branch} of {origin.url} does not name a commit")
    return Fetched(mirror, branch, commit)


def mirror_folder(origin: Origin, home: Path) -> Path:
    """Return where the mirror of an origin lies: readable, and its own for every origin."""
    return _mirrors(home) / f"{origin.name}-{sha256(origin.identity.encode()).hexdigest()[:12]}.git"


def _mirrors(home: Path) -> Path:
    """Return the folder of all mirrors, absolute: git processes work in other folders than ours."""
    return home.expanduser().absolute() / "mirrors"


def _write_configuration(path: Path) -> Path:
    if not path.exists() or path.read_text() != CONFIGURATION:
        # A draft of its own for every thread of every process that begins at the same moment.
        descriptor, draft = tempfile.mkstemp(dir=path.parent, prefix=path.name)
        with os.fdopen(descriptor, "w") as file:
            file.write(CONFIGURATION)
        Path(draft).replace(path)
    return path


def _ask(origin: Origin, branch: str | None, environment: Mapping[str, str], timeout: float) -> tuple[str, str]:
    """Ask the origin for a branch and its newest commit."""
    if branch is not None and (branch.startswith("-") or any(sign in branch for sign in "*?[\\ ~^:\n\t")):
        raise UsageError(f"'{branch}' is not the name of a branch")
    wanted = f"refs/heads/{branch}" if branch else HEAD
    listed = _list_refs(origin, wanted, environment, timeout)
    symbolic, tips = _read_refs(listed)
    if branch and wanted in tips:
        return branch, tips[wanted]
    if branch is None and HEAD in tips:
        return symbolic or HEAD, tips[HEAD]
    return _complain(origin, branch, environment, timeout)


def _complain(origin: Origin, branch: str | None, environment: Mapping[str, str], timeout: float) -> tuple[str, str]:
    """Say why there is nothing to fetch: no commit at all, or another branch than those there are."""
    _, tips = _read_refs(_list_refs(origin, "refs/heads/*", environment, timeout))
    if not tips:
        raise GitError(f"{origin.url} has no commits yet: commit something, then index it")
    names = sorted(ref.removeprefix("refs/heads/") for ref in tips)
    more = f" and {len(names) - SHOWN_BRANCHES} more" if len(names) > SHOWN_BRANCHES else ""
    problem = f"has no branch {branch}" if branch else "has a HEAD without commits: name a branch with --branch"
    raise GitError(f"{origin.url} {problem}; there is {', '.join(names[:SHOWN_BRANCHES])}{more}")


def _list_refs(origin: Origin, pattern: str, environment: Mapping[str, str], timeout: float) -> bytes:
    arguments = ("ls-remote", "--symref", "--end-of-options", origin.url, pattern)
    return run_git(arguments, environment, timeout, what=f"cannot read {origin.url}")


def _read_refs(listing: bytes) -> tuple[str | None, dict[str, str]]:
    """Read ``ls-remote --symref``: the branch that HEAD names, and the commit of each ref."""
    symbolic, tips = None, {}
    for line in listing.decode(errors="replace").splitlines():
        value, _, ref = line.partition("\t")
        if value.startswith("ref: ") and ref == HEAD:
            symbolic = value.removeprefix("ref: ").removeprefix("refs/heads/")
        elif ref:
            tips[ref] = value
    return symbolic, tips


def _fetch(
    origin: Origin,
    mirror: Mirror,
    environment: Mapping[str, str],
    wanted: tuple[str, str, str],
    timeout: float,
    lock: int,
) -> None:
    branch, tip, target = wanted
    what = f"cannot fetch {origin.url}"
    # Also where it is there already: a first one may have died half-way.
    object_format = "sha256" if len(tip) == SHA256_HEX else "sha1"
    initial = ("init", "--quiet", "--bare", "--template=", f"--object-format={object_format}")
    run_git((*initial, "--end-of-options", str(mirror.folder)), mirror.environment, what=what)
    source = HEAD if branch == HEAD else f"refs/heads/{branch}"
    options = (
        "--quiet",
        "--force",
        "--no-tags",
        "--no-recurse-submodules",
        "--no-write-fetch-head",
        "--update-shallow",
    )
    fetch = (f"--git-dir={mirror.folder}", "fetch", *options, "--end-of-options", origin.url, f"+{source}:{target}")
    run_git(fetch, environment, timeout, what=what, keep_open=(lock,))


def _commit_of(mirror: Mirror, ref: str) -> str | None:
    if not (mirror.folder / "HEAD").exists():
        return None
    verify = ("rev-parse", "--verify", "--quiet", "--end-of-options", f"{ref}^{{commit}}")
    try:
        return mirror.run(*verify, what=ref).decode().strip()
    except GitError:
        return None


@contextmanager
def _locked(folder: Path, timeout: float) -> Iterator[int]:
    """Hold the mirror's lock file, and clear what a killed fetch left behind.

    The system gives the lock back when the last process that inherited it ends, so a fetch that outlived its killed
    parent is waited for.
    """
    descriptor = os.open(folder.with_suffix(".lock"), os.O_RDWR | os.O_CREAT, 0o600)
    try:
        _wait_for_lock(descriptor, folder, timeout)
        for pattern in ("*.lock", "refs/**/*.lock", "objects/pack/tmp_*", "objects/pack/*.lock"):
            for leftover in folder.glob(pattern):
                leftover.unlink(missing_ok=True)
        yield descriptor
    finally:
        os.close(descriptor)


def _wait_for_lock(descriptor: int, folder: Path, timeout: float) -> None:
    deadline = time.monotonic() + timeout
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            if time.monotonic() > deadline:
                raise GitError(f"another process has been fetching into {folder} for {timeout:g} s") from None
            time.sleep(0.1)


def list_tree(mirror: Mirror, commit: str, *paths: str) -> list[TreeEntry]:
    """List the files of a commit; only those at ``paths`` where given."""
    command = ("ls-tree", "-r", "-z", "--long", "--full-tree", commit, "--", *paths)
    listing = mirror.run(*command, what=f"cannot list commit {commit}; {_anew(mirror.folder)}")
    return [_entry(line) for line in listing.split(b"\0") if line]


def _anew(folder: object) -> str:
    """Say what helps when our own copy is damaged, as after a power cut."""
    return f"if {folder} is damaged, delete it and run again: it is fetched anew"


def _entry(line: bytes) -> TreeEntry:
    facts, _, path = line.partition(b"\t")
    mode, _, blob, size = facts.decode().split()
    return TreeEntry(printable(path), mode, blob, 0 if size == "-" else int(size))


class BlobReader:
    """Reads blobs through one ``git cat-file --batch`` that stays open."""

    def __init__(self, mirror: Mirror) -> None:
        self._git = gitpython.Git(mirror.folder)
        self._git.update_environment(**mirror.environment, GIT_DIR=str(mirror.folder))

    def read(self, blob: str) -> bytes:
        """Return a blob's bytes; the caller has looked at its size before."""
        try:
            return self._git.get_object_data(blob)[3]
        except (ValueError, OSError, gitpython.GitCommandError) as error:
            why = str(error).partition("\n")[0]
            raise GitError(f"blob {blob} cannot be read ({why}); {_anew(self._git.working_dir)}") from error

    def close(self) -> None:
        """End the git process."""
        self._git.clear_cache()

    def __enter__(self) -> "BlobReader":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
