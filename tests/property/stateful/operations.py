"""Every kind of operation on a repository and its index, one function each."""

import random
from collections.abc import Callable
from dataclasses import dataclass, replace

from codequarry.shared.versions.refs import Ref
from tests.property.stateful.changes import CHANGES, content, edit, first, merged
from tests.property.stateful.scene import VARIANTS
from tests.property.stateful.sequence import Crash, Sequence

MAIN = "refs/heads/main"
BRANCHES = ("one", "two/half", "three")
TAGS = ("v1", "v2")
PULLS = ("7", "12")
PREFIXES = {"branch": "refs/heads/", "tag": "refs/tags/", "pull": "refs/pull/"}


@dataclass(frozen=True)
class Turn:
    """One operation: its random choices, where its run dies, and whether the same run is repeated at once."""

    chance: random.Random
    crash: Crash | None
    again: bool


Operation = Callable[[Sequence, Turn], None]


def any_branch(sequence: Sequence, turn: Turn) -> str:
    """Choose a branch, more often the default branch."""
    return turn.chance.choice([*sequence.refs("refs/heads/"), MAIN, MAIN])


def any_commit(sequence: Sequence, turn: Turn) -> str:
    return turn.chance.choice(sequence.commits)


# What people do


def change(kind: str) -> Operation:
    def operate(sequence: Sequence, turn: Turn) -> None:
        ref = any_branch(sequence, turn)
        sequence.commit_on(ref, CHANGES[kind](sequence.tree_of(ref), turn.chance))

    return operate


def revert(sequence: Sequence, turn: Turn) -> None:
    sequence.commit_on(any_branch(sequence, turn), sequence.origin.trees[any_commit(sequence, turn)])


def merge(sequence: Sequence, turn: Turn) -> None:
    ref, other = any_branch(sequence, turn), any_commit(sequence, turn)
    tree = merged(sequence.tree_of(ref), sequence.origin.trees[other], turn.chance)
    sequence.commit_on(ref, tree, (sequence.origin.refs[ref], other))


def force_push(sequence: Sequence, turn: Turn) -> None:
    sequence.commit_on(any_branch(sequence, turn), first(turn.chance), ())


def move_default_branch(sequence: Sequence, turn: Turn) -> None:
    sequence.origin.point(MAIN, any_commit(sequence, turn))


def create_branch(sequence: Sequence, turn: Turn) -> None:
    sequence.make_branch(turn.chance.choice(BRANCHES), any_commit(sequence, turn))


def move_branch(sequence: Sequence, turn: Turn) -> None:
    branches = [ref for ref in sequence.refs("refs/heads/") if ref != MAIN]
    name = turn.chance.choice(branches).removeprefix("refs/heads/") if branches else BRANCHES[0]
    sequence.make_branch(name, any_commit(sequence, turn))


def delete_branch(sequence: Sequence, turn: Turn) -> None:
    if sequence.refs("refs/heads/") == [MAIN]:
        create_branch(sequence, turn)
    sequence.delete_branch(turn.chance.choice([ref for ref in sequence.refs("refs/heads/") if ref != MAIN]))


def recreate_branch(sequence: Sequence, turn: Turn) -> None:
    """Create a branch again that was indexed and then deleted, at another commit."""
    gone = sorted(sequence.deleted - sequence.origin.refs.keys())
    if not gone:
        index("branch")(sequence, replace(turn, crash=None))
        delete_branch(sequence, turn)
        gone = sorted(sequence.deleted - sequence.origin.refs.keys())
    ref = turn.chance.choice(gone)
    sequence.make_branch(ref.removeprefix("refs/heads/"), any_commit(sequence, turn))
    sequence.index(Ref.of_key(ref), turn.crash, again=turn.again)


def tag(sequence: Sequence, turn: Turn) -> None:
    name, commit, origin = turn.chance.choice(TAGS), any_commit(sequence, turn), sequence.origin
    origin.point(f"refs/tags/{name}", commit, origin.tag_object(name, commit) if turn.chance.random() < 0.5 else None)


def pull_request(sequence: Sequence, turn: Turn) -> None:
    commit, origin = any_commit(sequence, turn), sequence.origin
    head = origin.commit(edit(origin.trees[commit], turn.chance), (commit,))
    origin.point(f"refs/pull/{turn.chance.choice(PULLS)}/head", head)


def edit_workspace(sequence: Sequence, turn: Turn) -> None:
    chance, folder = turn.chance, sequence.workspace
    places = (place for place in sorted(folder.rglob("*")) if place.is_file() and not place.is_symlink())
    files = [place for place in places if not str(place.relative_to(folder)).startswith(".git")]
    if files and chance.random() < 0.3:
        chance.choice(files).unlink()
    elif files and chance.random() < 0.5:
        chance.choice(files).write_bytes(content(chance))
    else:
        (folder / chance.choice(("new.py", "notes.md", "trash.txt"))).write_bytes(content(chance))
    if chance.random() < 0.3:
        (folder / ".gitignore").write_text(chance.choice(("trash.txt\n", "")))


def change_settings(sequence: Sequence, turn: Turn) -> None:
    sequence.variant = turn.chance.randrange(len(VARIANTS))


# What is indexed


def index_default(sequence: Sequence, turn: Turn) -> None:
    sequence.index(None, turn.crash, again=turn.again)


def index(kind) -> Operation:
    """Index a version of the origin, or a version that was indexed and is gone; make a version if there is none."""

    def operate(sequence: Sequence, turn: Turn) -> None:
        choices = versions_of(sequence, kind)
        if not choices:
            {"branch": create_branch, "tag": tag, "pull": pull_request}[kind](sequence, turn)
            choices = versions_of(sequence, kind)
        sequence.index(turn.chance.choice(choices), turn.crash, again=turn.again)

    return operate


def versions_of(sequence: Sequence, kind) -> list[Ref]:
    prefix = PREFIXES[kind]
    present = [
        Ref(kind, ref.removeprefix(prefix).removesuffix("/head")) for ref in sequence.refs(prefix) if ref != MAIN
    ]
    return present + [ref for ref in sequence.versions() if ref.kind == kind]


def index_commit(sequence: Sequence, turn: Turn) -> None:
    ref = Ref("commit", any_commit(sequence, turn)[: turn.chance.choice((12, 40))])
    sequence.index(ref, turn.crash, again=turn.again)


def index_workspace(sequence: Sequence, turn: Turn) -> None:
    sequence.index(Ref("workspace", str(sequence.workspace)), turn.crash, again=turn.again)


def move_base(*, unrelated: bool) -> Operation:
    """Move the default branch under an overlay, forward or to an unrelated commit, and index it."""

    def operate(sequence: Sequence, turn: Turn) -> None:
        if not sequence.versions():
            index("branch")(sequence, replace(turn, crash=None))
        if unrelated:
            sequence.commit_on(MAIN, first(turn.chance), ())
        else:
            sequence.commit_on(MAIN, edit(sequence.tree_of(MAIN), turn.chance))
        sequence.index(None, turn.crash, again=turn.again)

    return operate


def interrupt_undoing(sequence: Sequence, turn: Turn) -> None:
    """Leave a half-written transaction that the next run must undo, and let that run die while it does."""
    sequence.commit_on(MAIN, edit(sequence.tree_of(MAIN), turn.chance))
    sequence.index(None, (1, turn.chance.choice(("within", "after")), "create"))
    sequence.commit_on(MAIN, edit(sequence.tree_of(MAIN), turn.chance))
    sequence.index(None, (1, turn.chance.choice(("before", "within", "after")), "undo"), again=turn.again)


def rebuild_default(sequence: Sequence, turn: Turn) -> None:
    sequence.index(None, turn.crash, again=turn.again, full=True)


def rebuild_version(sequence: Sequence, turn: Turn) -> None:
    choices = sequence.versions()
    if not choices:
        index("branch")(sequence, replace(turn, crash=None))
        choices = sequence.versions() or [Ref("branch", "main")]
    sequence.index(turn.chance.choice(choices), turn.crash, again=turn.again, full=True)


def remove_and_index_again(sequence: Sequence, turn: Turn) -> None:
    sequence.remove_repository(turn.crash)
    sequence.index(None)


def remove_version(sequence: Sequence, turn: Turn) -> None:
    if not sequence.versions():
        index("branch")(sequence, replace(turn, crash=None))
    versions = sequence.versions()
    if versions:
        sequence.remove_version(turn.chance.choice(versions))


def collect(sequence: Sequence, turn: Turn) -> None:
    sequence.collect(turn.crash)


def repair(sequence: Sequence, turn: Turn) -> None:
    sequence.repair(turn.chance)


CHANGE_KINDS: dict[str, Operation] = {
    **{kind: change(kind) for kind in CHANGES},
    "revert": revert,
    "merge": merge,
    "force-push": force_push,
    "move the default branch": move_default_branch,
    "create a branch": create_branch,
    "move a branch": move_branch,
    "delete a branch": delete_branch,
    "tag": tag,
    "pull request": pull_request,
    "edit the workspace": edit_workspace,
    "change the settings": change_settings,
}
RUN_KINDS: dict[str, Operation] = {
    "index the default branch": index_default,
    "index a branch": index("branch"),
    "index a tag": index("tag"),
    "index a pull request": index("pull"),
    "index a commit": index_commit,
    "index the workspace": index_workspace,
    "index a branch made again": recreate_branch,
    "move the base on": move_base(unrelated=False),
    "force-push the base": move_base(unrelated=True),
    "interrupt the undoing of another run": interrupt_undoing,
    "rebuild the default branch": rebuild_default,
    "rebuild a version": rebuild_version,
    "remove and index again": remove_and_index_again,
    "remove a version": remove_version,
    "collect": collect,
    "repair": repair,
}
OPERATIONS = CHANGE_KINDS | RUN_KINDS
