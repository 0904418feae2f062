"""Makes a copy of a repository with many branches and tags, as the benchmarks of questions about versions need it."""

import random
import subprocess
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

COMMENTS = {".py": "#", ".go": "//", ".java": "//", ".js": "//", ".ts": "//", ".rs": "//", ".rb": "#", ".php": "//"}
# Files that a person would edit are neither empty nor generated.
LEAST_BYTES, MOST_BYTES = 200, 50_000
MOST_CHANGED = 20
# Every third branch declares one of these functions, in one of two texts.
DECLARED = tuple(f"quarry_probe_{number}" for number in range(8))
EVERY = 3
TEXTS = 2
AUTHOR = "Bench <bench@example.org> 1790000000 +0000"


@dataclass(frozen=True, slots=True)
class BranchedRepository:
    """A bare repository whose default branch has advanced in single steps.

    ``heads`` are those steps, oldest first. ``declared`` has the branches that declare a function, by name and number
    of its text.
    """

    folder: Path
    default: str
    heads: tuple[str, ...]
    branches: tuple[str, ...]
    tags: tuple[str, ...]
    declared: dict[tuple[str, int], tuple[str, ...]]

    def git(self, *arguments: str, data: str | None = None) -> str:
        """Run git in the repository and return its output; an empty answer of ``git grep`` is no error."""
        command = ["git", "-C", str(self.folder), "-c", "core.quotePath=false", *arguments]
        found = subprocess.run(command, capture_output=True, input=data and data.encode(), check=False)
        if found.returncode > (arguments[0] == "grep"):
            raise RuntimeError(f"{' '.join(command[:9])}: {found.stderr.decode(errors='replace')}")
        return found.stdout.decode(errors="replace")

    @property
    def versions(self) -> tuple[str, ...]:
        """The names of all versions."""
        return (self.default, *self.branches, *self.tags)

    def contents(self, objects: Collection[str]) -> dict[str, list[str]]:
        """Return the lines of file versions, each named by its hash or as version:path."""
        command = ["git", "-C", str(self.folder), "cat-file", "--batch"]
        asked = "".join(f"{name}\n" for name in objects).encode()
        told = subprocess.run(command, capture_output=True, input=asked, check=True).stdout
        found, at = {}, 0
        for name in objects:
            start = told.index(b"\n", at) + 1
            size = int(told[at:start].split()[2])
            found[name] = told[start : start + size].decode(errors="replace").split("\n")
            at = start + size + 1
        return found


def make(source: Path, folder: Path, *, branches: int, tags: int, heads: int, span: int, seed: int) -> None:
    """Copy a repository's default branch, with branches off its last ``heads`` steps and tags over ``span`` steps."""
    subprocess.run(["git", "clone", "--quiet", "--bare", "--single-branch", "--no-tags", source, folder], check=True)
    made = open_repository(folder, heads)
    chance = random.Random(seed)
    commits = [_branch(made, number, chance) for number in range(branches)]
    made.git("fast-import", "--quiet", data="".join(commits))
    steps = made.git("rev-list", "--first-parent", f"--max-count={span}", made.default).split()
    for number in range(tags):
        kind = ("--annotate", "--message=x") if number % 2 else ()
        account = ("-c", "user.name=Bench", "-c", "user.email=bench@example.org")
        made.git(*account, "tag", *kind, f"release-{tags - number}", steps[number * len(steps) // tags])
    # git answers as fast as it can.
    made.git("repack", "-a", "-d", "-q")
    made.git("pack-refs", "--all")
    made.git("commit-graph", "write", "--reachable")


def open_repository(folder: Path, heads: int) -> BranchedRepository:
    """Return a repository that ``make`` has made."""
    made = BranchedRepository(folder, "", (), (), (), {})
    default = made.git("symbolic-ref", "--short", "HEAD").strip()
    steps = made.git("rev-list", "--first-parent", f"--max-count={heads}", default).split()
    names = made.git("for-each-ref", "--format=%(refname:short)", "refs/heads", "refs/tags").split()
    branches = tuple(sorted(name for name in names if name.startswith("topic-")))
    tags = tuple(sorted(name for name in names if name.startswith("release-")))
    declared: dict[tuple[str, int], tuple[str, ...]] = {}
    for branch in branches:
        if key := declares(int(branch.removeprefix("topic-"))):
            declared[key] = (*declared.get(key, ()), branch)
    return BranchedRepository(folder, default, tuple(reversed(steps)), branches, tags, declared)


def declares(number: int) -> tuple[str, int] | None:
    """Return the name of the function that a branch declares, and which of its texts, or None."""
    if number % EVERY:
        return None
    turn = number // EVERY
    return DECLARED[turn % len(DECLARED)], turn // len(DECLARED) % TEXTS


def _branch(made: BranchedRepository, number: int, chance: random.Random) -> str:
    """Return the commit of a branch as git's fast-import reads it: a comment in the middle and at the end of files."""
    start = chance.choice(made.heads)
    files = list(_editable(made, start))
    size = chance.randint(1, MOST_CHANGED)
    edits = [_edit(made, path, blob, number) for path, blob in chance.sample(files, min(size, len(files)))]
    message = f"Revise topic {number}"
    if key := declares(number):
        path, text = "probes.py", _probe(*key)
        edits.append(f"M 100644 inline {path}\n{_data(text)}")
        message += f": declare {key[0]}"
    parts = [f"commit refs/heads/topic-{number}\ncommitter {AUTHOR}\n{_data(message)}from {start}\n", *edits, "\n"]
    return "".join(parts)


def _probe(name: str, text: int) -> str:
    return (
        f'"""Functions of some branches."""\n\n\ndef {name}(value):\n    """Return it."""\n    return {text} * value\n'
    )


def _editable(made: BranchedRepository, commit: str) -> Iterator[tuple[str, str]]:
    for line in made.git("ls-tree", "-r", "-l", commit).splitlines():
        about, path = line.split("\t")
        mode, _, blob, size = about.split()
        if mode == "100644" and Path(path).suffix in COMMENTS and LEAST_BYTES <= int(size) <= MOST_BYTES:
            yield path, blob


def _edit(made: BranchedRepository, path: str, blob: str, number: int) -> str:
    lines = made.git("cat-file", "blob", blob).splitlines(keepends=True)
    sign = COMMENTS[Path(path).suffix]
    lines.insert(len(lines) // 2, f"{sign} revised by topic{number}: {Path(path).stem}\n")
    return f"M 100644 inline {path}\n{_data(''.join([*lines, f'{sign} end of topic{number}' + chr(10)]))}"


def _data(text: str) -> str:
    return f"data {len(text.encode())}\n{text}\n"
