"""The history of a symbol against git, along random histories with crashes, force-pushes and branches."""

import ast
import random
from contextlib import suppress
from dataclasses import replace

import pytest

from codequarry.ingest.run.pipeline import IndexRequest, index_repository
from codequarry.search_api.query.symbol_request import history_request
from codequarry.search_api.search.engine import SearchEngine
from codequarry.search_api.search.history.symbol_history import symbol_history
from codequarry.shared.catalog.ledger import published_transactions, read_head, read_transaction
from codequarry.shared.errors import StoreUnavailable
from codequarry.shared.settings.config import SettingsModel
from codequarry.shared.versions.refs import Ref

PATHS = ("store.py", "lib/store.py", "lib/other.py")
NAMES = ("load", "save", "Store.load", "small")
STEPS = 9


def long_function(name, edit, indent=""):
    lines = [f"def {name}(self, key):", *(f"    total_{line} = key + {line}" for line in range(30))]
    return "\n".join(indent + line for line in (*lines, f"    return total_{edit}"))


def module(chance, path):
    """Return a module with some of a few declarations, each in one of several texts; none is in two modules."""
    own = PATHS.index(path) * 100
    edit = lambda: own + chance.randint(0, 2)  # noqa: E731
    parts = [
        long_function("load", edit()),
        long_function("save", edit()),
        f"class Store:\n    size = {edit()}\n\n" + long_function("load", edit(), "    "),
        f"def small(key):\n    return key + {edit()}",
        f"def tiny(key):\n    return small(key) + {edit()}",
        f"LIMIT = {edit()}",
    ]
    kept = [part for part in parts if chance.random() < 0.8]
    chance.shuffle(kept)
    return "import os\n\n\n" + "\n\n\n".join(kept or parts[:1]) + "\n"


def declared(text, qualified):
    """Return the text of a function by Python's own parser, or None."""
    body, *scope = [ast.parse(text).body, *qualified.split(".")[:-1]]
    for name in scope:
        body = next((node.body for node in body if isinstance(node, ast.ClassDef) and node.name == name), [])
    last = qualified.split(".")[-1]
    node = next((node for node in body if isinstance(node, ast.FunctionDef) and node.name == last), None)
    return node and "\n".join(text.split("\n")[node.lineno - 1 : node.end_lineno])


def texts_at(repository, commit, qualified):
    """Return the text of a function in each file of a commit that declares it."""
    files = [path for path in repository.listing(commit) if path in PATHS]
    found = {path: declared(repository.git("show", f"{commit}:{path}").decode(), qualified) for path in files}
    return {path: text for path, text in found.items() if text}


def expected(repository, commits, qualified):
    """Return, for each path, the commits at which the text differs from the commit before, with both texts."""
    states = [texts_at(repository, commit, qualified) for commit in commits]
    found = []
    for place, state in enumerate(states):
        before = states[place - 1] if place else {}
        for path in PATHS:
            if before.get(path) != state.get(path):
                found.append((path, commits[place], before.get(path), state.get(path)))
    return sorted(found, key=str)


def lines_of(repository, text):
    """Return the lines that an event names, from git."""
    lines = repository.git("show", f"{text.commit}:{text.path}").decode().split("\n")
    return "\n".join(lines[text.start_line - 1 : text.end_line])


def told(repository, engine, qualified, **filters):
    """Return the events of an answer in the form of ``expected``; a move is two events, in both places."""
    answer = symbol_history(engine, history_request(qualified, filters))
    found = []
    for event in (event for history in answer.declarations for event in history.events):
        assert event.event in KINDS[event.before is not None, event.after is not None]
        # The name `load` also means `Store.load`.
        texts = [text if text and text.symbol == qualified else None for text in (event.before, event.after)]
        before, after = ((text.path, lines_of(repository, text)) if text else None for text in texts)
        if before and after and before[0] == after[0]:
            found.append((before[0], event.commit, before[1], after[1]))
        else:
            found += [(before[0], event.commit, before[1], None)] if before else []
            found += [(after[0], event.commit, None, after[1])] if after else []
    return sorted(found, key=str)


KINDS = {
    (False, True): ("present", "appeared"),
    (True, True): ("changed", "moved"),
    (True, False): ("vanished",),
}


def change(repository, chance, commits):
    """Change some files, or rename or remove one, or return to an earlier commit as a force-push does."""
    kind = chance.choice(("edit", "edit", "edit", "rename", "remove", "force"))
    files = [path for path in repository.listing() if path in PATHS]
    free = [path for path in PATHS if path not in files]
    if kind == "force":
        repository.git("reset", "--quiet", "--hard", chance.choice(commits))
    elif kind == "rename" and files and free:
        text = (repository.folder / files[0]).read_text()
        repository.remove(files[0])
        repository.write(free[0], text)
    elif kind == "remove" and len(files) > 1:
        repository.remove(chance.choice(files))
    for path in chance.sample(PATHS, chance.choice((0, 1, 1, 2))):
        repository.write(path, module(chance, path))
    # Every commit has another file, so that none is empty or equal to another.
    repository.write("count.txt", str(chance.random()))
    return repository.commit(kind)


def note_head(store, commits):
    """Add the commit of the default branch to the indexed heads."""
    head = read_head(store)
    for timeline in head.defaults.values():
        if head.timelines[timeline].commit not in ("", *commits[-1:]):
            commits.append(head.timelines[timeline].commit)


@pytest.mark.parametrize("seed", range(8))
def test_events_are_the_differences_that_git_shows_between_heads(
    make_repository, make_workshop_on_each, make_dying_store, seed
):
    """Whatever crashed and was rewritten in between, each event is a difference between two indexed heads."""
    chance = random.Random(seed)
    repository = make_repository(files={path: module(chance, path) for path in PATHS[:2]})
    workshop = make_workshop_on_each()
    request = IndexRequest(repository.origin)
    commits = []
    for step in range(STEPS):
        if step:
            change(repository, chance, commits)
        if chance.random() < 0.4:
            dying = make_dying_store(
                workshop.store, chance.randint(1, 16), chance.choice(["before", "within", "after"])
            )
            with suppress(StoreUnavailable):
                index_repository(request, replace(workshop, store=dying))
            # A run may die after it has published.
            note_head(workshop.store, commits)
            if chance.random() < 0.4:
                change(repository, chance, commits or ["HEAD"])
        index_repository(request, workshop)
        note_head(workshop.store, commits)
    engine = SearchEngine(workshop.store, workshop.embedder, SettingsModel())
    for name in NAMES:
        assert told(repository, engine, name) == expected(repository, commits, name), name


def first_base(store):
    """Return the commit of main on which the first head of the branch lies."""
    head = read_head(store)
    (timeline,) = (key for key, state in head.timelines.items() if state.ref)
    base = published_transactions(store, head, timeline)[0].base
    return read_transaction(store, *base).commit


@pytest.mark.parametrize("seed", range(6))
def test_the_history_of_a_branch_goes_on_in_that_of_its_base(make_repository, make_workshop_on_each, seed):
    """A branch shows the events of its own heads, and before them those of the base on which it was indexed."""
    chance = random.Random(seed)
    repository = make_repository(files={path: module(chance, path) for path in PATHS})
    # The other files keep the branch an overlay.
    for number in range(30):
        repository.write(f"data/{number}.txt", str(number))
    repository.commit("data")
    workshop = make_workshop_on_each()
    on_main = [index_repository(IndexRequest(repository.origin), workshop).commit]
    for _ in range(3):
        change(repository, chance, on_main[-1:])
        on_main.append(index_repository(IndexRequest(repository.origin), workshop).commit)
    repository.git("checkout", "--quiet", "-b", "dev")
    on_dev = []
    for _ in range(3):
        change(repository, chance, on_main[-1:])
        on_dev.append(index_repository(IndexRequest(repository.origin, Ref("branch", "dev")), workshop).commit)
    engine = SearchEngine(workshop.store, workshop.embedder, SettingsModel())
    below = on_main[: on_main.index(first_base(workshop.store)) + 1]
    for name in NAMES:
        assert told(repository, engine, name) == expected(repository, on_main, name), name
        assert told(repository, engine, name, branch=["dev"]) == expected(repository, below + on_dev, name), name
