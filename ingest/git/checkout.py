"""A user's checkout, read but never written. git sees it without the repository's own configuration (``view.py``)."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from codequarry.ingest.git.file_tree import OUTSIDE
from codequarry.ingest.git.local import LocalRepository, repository_around
from codequarry.ingest.git.mirrors import open_environment
from codequarry.ingest.git.origins import Origin, origin_of_record, parse_origin
from codequarry.ingest.git.plain_files import PipeSearch
from codequarry.ingest.git.process import run_git
from codequarry.ingest.git.view import listed_view
from codequarry.shared.errors import CodequarryError, GitError
from codequarry.shared.repositories.naming import find_repository
from codequarry.shared.settings.config import SettingsModel
from codequarry.shared.store.port import DocumentStore
from codequarry.shared.versions.refs import Ref

# The tag of `ls-files -t` for a file that a sparse checkout leaves out.
SKIPPED_ON_PURPOSE = b"S"
# Listing takes longer only with ignore patterns that git matches extremely slowly.
LISTING_SECONDS = 900.0


@dataclass(frozen=True, slots=True)
class Tracked:
    """An entry of the checkout's index; ``is_absent`` if a sparse checkout leaves the file out."""

    path: bytes
    mode: str
    blob: str
    is_absent: bool


@dataclass(frozen=True, slots=True)
class Checkout:
    """A working tree and its repository."""

    repository: LocalRepository
    environment: dict[str, str] = field(repr=False)

    @property
    def folder(self) -> Path:
        """The top folder of the working tree."""
        return self.repository.shown

    def places(self) -> list[str]:
        """Return the repository's possible origins: its own folders, then the URLs of its remotes, `origin` first."""
        urls = (url for _, url in self.repository.configuration.remotes())
        return [str(self.folder), str(self.repository.common.resolve()), *map(self._absolute, urls)]

    def _absolute(self, url: str) -> str:
        return str((self.folder / url).resolve()) if url.startswith(".") else url

    @contextmanager
    def opened(self, mirror: Path) -> Iterator["OpenCheckout"]:
        """Prepare the checkout for listing; objects that its repository lacks may come from ``mirror``."""
        with listed_view(self.repository, mirror / "objects", self.environment) as view:
            yield OpenCheckout(self.folder, {**self.environment, "GIT_DIR": str(view)})


@dataclass(frozen=True, slots=True)
class OpenCheckout:
    """A working tree that git can list."""

    folder: Path
    environment: dict[str, str] = field(repr=False)

    def git(self, *arguments: str, what: str) -> bytes:
        """Run a git command that only reads."""
        command = ("--no-optional-locks", f"--work-tree={self.folder}", "-C", str(self.folder), *arguments)
        on_tick = PipeSearch(self.folder).look
        return run_git(command, self.environment, LISTING_SECONDS, what=f"{self.folder}: {what}", on_tick=on_tick)

    def commit(self) -> str:
        """Return the commit that is checked out; raise GitError if there is none yet."""
        try:
            return self.git("rev-parse", "--verify", "--quiet", "HEAD", what="no commit").decode().strip()
        except GitError:
            unborn = f"the branch that is checked out in {self.folder} has no commits yet"
            raise GitError(f"{unborn}: commit something, then index it") from None

    def tracked(self) -> Iterator[Tracked]:
        """Yield the entries of the index; for a path in conflict, yield one of its sides."""
        last = None
        for line in self.git("ls-files", "-z", "-t", "-s", what="its files can't be listed").split(b"\0"):
            facts, _, path = line.partition(b"\t")
            # A forged index may name files outside of the working tree.
            if not line or path == last or not OUTSIDE.isdisjoint(path.split(b"/")):
                continue
            tag, mode, blob, _ = facts.split()
            last = path
            yield Tracked(path, mode.decode(), blob.decode(), tag == SKIPPED_ON_PURPOSE)

    def modified(self) -> set[bytes]:
        """Return the tracked files that differ from the index, as far as their sizes and times tell.

        A file with another time need not differ; of a file with the same size and time, git knows that it does not.
        """
        # git would look into submodules, and obey their configuration.
        command = ("diff-files", "-z", "--name-only", "--ignore-submodules=all")
        return set(self.git(*command, what="its changes can't be listed").split(b"\0")) - {b""}

    def untracked(self) -> Iterator[bytes]:
        """Yield the files that are neither tracked nor ignored, except those of nested repositories."""
        listed = self.git("ls-files", "-z", "--others", "--exclude-standard", what="its files can't be listed")
        yield from (path for path in listed.split(b"\0") if path and not path.endswith(b"/"))


def open_checkout(folder: Path, environment: dict[str, str]) -> Checkout:
    """Return the checkout that contains a folder; raise GitError if there is none."""
    if not folder.is_dir():
        hint = "give a folder of a working tree (repos collect --gone drops working trees that were deleted)"
        raise GitError(f"{folder} is not a folder: {hint}")
    found = repository_around(folder.resolve(), environment)
    if found is None:
        raise GitError(f"{folder} is not in a git working tree: give the folder of a checkout")
    return Checkout(found, environment)


def checkout_of(ref: Ref, settings: SettingsModel) -> Checkout:
    """Return the checkout that a workspace ref names."""
    return open_checkout(Path(ref.value).expanduser().absolute(), open_environment(settings.git, settings.home))


def origin_of_checkout(checkout: Checkout, store: DocumentStore) -> Origin:
    """Return the origin by which the catalog knows the checkout (its folder or a remote's URL), or else its folder."""
    for place in checkout.places():
        with suppress(CodequarryError):
            known = find_repository(store, parse_origin(place))
            if known:
                return origin_of_record(known.origin)
    return parse_origin(str(checkout.folder))
