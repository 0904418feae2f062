"""One repository, the operations on it and its index, and the checks after each step."""

import os
import random
import shutil
import subprocess
from collections import Counter
from pathlib import Path

from codequarry.ingest.fsck.versions import check_version as fsck_version
from codequarry.ingest.garbage_collection.collector import collect_history
from codequarry.ingest.removal.removal import remove_repository, remove_version
from codequarry.ingest.run.pipeline import IndexReport, IndexRequest, index_repository
from codequarry.ingest.transaction.placement import current_timeline
from codequarry.shared.catalog.ledger import read_head
from codequarry.shared.errors import GitError, NotIndexed, StoreUnavailable
from codequarry.shared.versions.commit_log import with_logs
from codequarry.shared.versions.head import Place
from codequarry.shared.versions.refs import Ref
from tests.property.conftest import DyingStore
from tests.property.stateful.changes import files_of, first
from tests.property.stateful.origin import BareOrigin, Tree
from tests.property.stateful.scene import Scene
from tests.property.stateful.truth import (
    Expected,
    askable,
    check_collected,
    check_log,
    check_nothing_left,
    check_version,
    of_commit,
    of_folder,
)

Crash = tuple[int, str, str]
"""The write at which a run dies, whether before, within or after it, and the method whose writes count, if only one."""


class Recording(DyingStore):
    """A dying store that records the write in which it died."""

    died_in = ""

    def _dies(self, method: str) -> bool:
        self.died_in = "" if self.dead else method
        return super()._dies(method)


class Sequence:
    """One sequence of operations, from an empty repository to its removal."""

    def __init__(self, scene: Scene, counts: Counter[str], seed: int) -> None:
        self.scene, self.counts, self.store = scene, counts, scene.store
        self.name = scene.new_name()
        self.folder = scene.folder / "sequences" / self.name
        self.origin = BareOrigin(self.folder / "origin.git")
        self.origin.point("refs/heads/main", self.origin.commit(first(random.Random(seed))))
        self.variant = 0
        self.deleted: set[str] = set()
        self.expected: dict[Place, Expected] = {}
        self.variants: dict[Place, int] = {}

    # The origin

    @property
    def commits(self) -> list[str]:
        return list(self.origin.trees)

    def refs(self, prefix: str) -> list[str]:
        return sorted(ref for ref in self.origin.refs if ref.startswith(prefix))

    def commit_on(self, ref: str, tree, parents: tuple[str, ...] | None = None) -> None:
        known = self.origin.refs[ref]
        self.origin.point(ref, self.origin.commit(tree, (known,) if parents is None else parents))

    def tree_of(self, ref: str) -> Tree:
        return self.origin.trees[self.origin.refs[ref]]

    def make_branch(self, name: str, commit: str) -> None:
        self.origin.point(f"refs/heads/{name}", commit)

    def delete_branch(self, ref: str) -> None:
        self.origin.delete(ref)
        self.deleted.add(ref)

    # The working tree

    @property
    def workspace(self) -> Path:
        """A user's checkout, made on first use."""
        folder = self.folder / "checkout"
        if not folder.exists():
            self._git("clone", "--quiet", "--shared", self.origin.url, str(folder))
        return folder

    def _git(self, *arguments: str, folder: Path | None = None) -> None:
        environment = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
        subprocess.run(["git", *arguments], cwd=folder, env=environment, check=True, capture_output=True)

    @property
    def ignored(self) -> frozenset[str]:
        """The lines of the working tree's .gitignore."""
        listed = self.workspace / ".gitignore"
        return frozenset(listed.read_text().splitlines()) if listed.exists() else frozenset()

    # The index

    def index(
        self, ref: Ref | None, crash: Crash | None = None, *, again: bool = False, **options
    ) -> IndexReport | None:
        """Run once; a second run may follow a run that died. Return None if no run ended."""
        if ref and ref.kind == "branch" and self.name not in read_head(self.store).defaults:
            # The first indexed branch becomes the default branch, which must be main here.
            self.index(None, crash, again=True)
        request = IndexRequest(self.origin.url, ref, self.name, **options)
        try:
            report = self._until_death(request, crash) if crash else None
            if report is None and crash and not again:
                return None
            return self._ended(report or index_repository(request, self.scene.workshop(self.variant)), ref)
        except GitError:
            self.counts["version that does not exist"] += 1
            assert self._is_nowhere(ref), "the version exists and could have been indexed"
            self.check()  #  the default branch may have been indexed before the error
            return None

    def _until_death(self, request: IndexRequest, crash: Crash) -> IndexReport | None:
        """Run until the fatal write; return the report if the run has fewer writes."""
        dying = Recording(self.store, *crash)
        try:
            return index_repository(request, self.scene.workshop(self.variant, dying))
        except StoreUnavailable:
            self._died(dying, crash)
            return None

    def _is_nowhere(self, ref: Ref | None) -> bool:
        """Return whether neither the origin nor the index has a version; then nothing was changed either."""
        if ref is None or ref in self.versions() or ref.kind == "workspace":
            return False
        if ref.kind == "commit":
            commit = next(commit for commit in self.commits if commit.startswith(ref.value))
            tips = [self.origin.refs[name] for prefix in ("refs/heads/", "refs/tags/") for name in self.refs(prefix)]
            return not any(self.origin.is_ancestor(commit, tip) for tip in tips)
        return not self._is_there(ref.key)

    def _died(self, dying: Recording, crash: Crash) -> None:
        self.counts["crash"] += 1
        self.counts.update([f"crash {crash[1]} a write", f"crash in {dying.died_in}"])
        self.store.refresh()
        self.check()

    def _ended(self, report: IndexReport, ref: Ref | None) -> IndexReport:
        """Check that the version is at the origin's commit without a lease, and that deleted versions are gone."""
        self.check()
        self.counts[f"published: {report.kind}"] += 1
        self.counts["resumed"] += report.resumed
        head = read_head(self.store)
        if ref and ref.kind == "commit":
            ref = Ref("commit", report.commit)
        key = "" if ref is None or report.kind == "default" else ref.key
        timeline = current_timeline(head, self.name, key)
        if report.kind == "gone":
            assert timeline is None
        else:
            assert head.timelines[timeline].commit == report.commit
            assert head.timelines[timeline].commit == self._tip(ref)
        mine = [head.timelines[number] for number in head.of_repo(self.name)]
        assert not [state for state in mine if state.ref == key and state.lease]
        # A run on a working tree does not ask the origin.
        if ref is None or ref.kind != "workspace":
            gone = [state.ref for state in mine if state.ref.startswith("refs/") and not self._is_there(state.ref)]
            assert not gone, f"the origin no longer has {gone}"
        return report

    def _tip(self, ref: Ref | None) -> str:
        if ref is None:
            return self.origin.refs["refs/heads/main"]
        if ref.kind == "commit":
            return ref.value
        if ref.kind == "workspace":
            return self.checked_out
        return self.origin.refs[f"{ref.key}/head" if ref.kind == "pull" else ref.key]

    @property
    def checked_out(self) -> str:
        command = ["git", "-C", str(self.workspace), "rev-parse", "HEAD"]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()

    def _is_there(self, key: str) -> bool:
        return (f"{key}/head" if key.startswith("refs/pull/") else key) in self.origin.refs

    def versions(self) -> list[Ref]:
        """Return the indexed versions besides the default branch."""
        head = read_head(self.store)
        return [
            Ref.of_key(key)
            for key in sorted({head.timelines[timeline].ref for timeline in head.of_repo(self.name)} - {""})
        ]

    def remove_repository(self, crash: Crash | None) -> None:
        store = Recording(self.store, *crash) if crash else self.store
        try:
            remove_repository(self.name, store, self.scene.variants[self.variant])
        except NotIndexed:
            return
        except StoreUnavailable:
            self._died(store, crash)
            return
        assert not list(read_head(self.store).of_repo(self.name))

    def remove_version(self, ref: Ref) -> None:
        remove_version(self.name, ref, self.store, self.scene.variants[self.variant])
        assert ref not in self.versions()
        self.check()

    def collect(self, crash: Crash | None) -> None:
        """Collect; a collector that dies is followed by another."""
        retention = self.scene.variants[self.variant].retention
        if crash:
            dying = Recording(self.store, *crash)
            try:
                collect_history(dying, retention, [self.name])
            except StoreUnavailable:
                self._died(dying, crash)
        collect_history(self.store, retention, [self.name])
        self.store.refresh()
        self.check()
        check_collected(self.store, self.name)

    def repair(self, chance: random.Random) -> None:
        """Run fsck on a version, which must find no wrong path, and rewrite some paths of the newest version."""
        head = read_head(self.store)
        records = askable(self.store, head, self.name)
        workshop = self.scene.workshop(self.variant)
        if records:
            try:
                report = fsck_version(chance.choice(records), workshop, full_text=True)
            except GitError:  #  a working tree that has changed since, or a commit that the mirror never got
                self.counts["fsck impossible"] += 1
            else:
                assert not report.wrong_paths, report.problems
        paths = files_of(self.origin.trees[self.origin.refs["refs/heads/main"]])
        forced = frozenset(chance.sample(paths, min(2, len(paths))))
        self.index(None, forced=forced)

    # The truth

    def check(self) -> None:
        """Compare every version that can be read with git."""
        head = read_head(self.store)
        for record in askable(self.store, head, self.name):
            place = (record.timeline, record.number)
            if place not in self.expected:
                self.expected[place] = self._expected(head.timelines[record.timeline].ref, record.commit)
                self.variants[place] = self.variant
            check_version(self.store, head, record, self.expected[place])
            check_log(self.store, head, record, self.origin, self.variants[place])

    def _expected(self, key: str, commit: str) -> Expected:
        """Return the expected contents of the version that has just been published."""
        if key.startswith("workspace/"):
            return of_folder(self.workspace, self.origin.listing(commit), self.ignored, self.variant)
        return of_commit(self.origin, commit, self.variant)

    def settle(self) -> None:
        """Finish what crashes left, check that nothing remains, and remove the repository."""
        self.index(None)
        head = read_head(self.store)
        for timeline in list(head.of_repo(self.name)):
            state = read_head(self.store).timelines.get(timeline)
            if state and state.lease and state.ref:
                self.index(Ref.of_key(state.ref))
        head = read_head(self.store)
        mine = set(head.of_repo(self.name))
        assert not [head.timelines[timeline] for timeline in mine if head.timelines[timeline].lease]
        assert not {number for number, timeline in head.open.items() if timeline in mine}
        self.collect(None)
        check_nothing_left(self.store, self.name)
        self.remove_repository(None)
        for timeline in with_logs(mine):
            assert not list(self.store.history(timeline))
        shutil.rmtree(self.folder)
