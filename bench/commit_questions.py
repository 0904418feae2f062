"""Questions about commits and history, each asked of the search engine and of git; see ``version_questions.py``."""

import re
from collections import Counter

from bench.branched_repository import declares
from bench.version_questions import (
    CONTAINING,
    DECLARING,
    MOST,
    PAGE,
    Question,
    Questions,
    about,
    differences_of,
    mentions,
)
from codequarry.search_api.answers.comparison import ComparisonAnswer
from codequarry.search_api.answers.hits import Hit, SearchAnswer
from codequarry.search_api.answers.symbol_history import SymbolHistory
from codequarry.search_api.query.diff_request import parse_diff
from codequarry.search_api.query.history_request import history_request
from codequarry.search_api.search.comparison import compare
from codequarry.search_api.search.engine import SearchEngine, parse_request
from codequarry.search_api.search.history.symbol_history import symbol_history

# The limits within which a word of messages is neither too rare nor too frequent for one page of hits.
FEWEST, MOST_COMMITS = 3, 60

# Which versions contain a commit?


def _commits(questions: Questions) -> list[str]:
    recent = questions.made.git("rev-list", "--no-merges", "--max-count=400", questions.made.default).split()
    own = questions.made.git("rev-parse", *questions.some(questions.made.branches)).split()
    return [*questions.some(recent), *own]


def _containing_commit(questions: Questions, engine: SearchEngine, commit: str) -> SearchAnswer:
    subject = questions.subjects[commit]
    return engine.search(parse_request({"query": subject, **PAGE, "filters": {"ref": "*", "type": "commit"}}))


def _git_containing(questions: Questions, commit: str) -> str:
    form = "--format=%(refname:short)"
    return questions.made.git("branch", form, "--contains", commit) + questions.made.git(
        "tag", form, "--contains", commit
    )


def _compare_commit(questions: Questions, commit: str, answer: SearchAnswer, told: str) -> list[str]:
    ours = {version.ref for hit in answer.results if hit.commit == commit for version in hit.versions or ()}
    return about(f"{commit[:12]} {questions.subjects[commit]!r}", differences_of(ours, set(told.split())))


CONTAINING_COMMIT = Question(
    "c. versions that contain a commit", _commits, _containing_commit, _git_containing, _compare_commit
)

# When did a declaration appear or change?


def _compare_history(_: Questions, name: str, answer: SymbolHistory, told: str) -> list[str]:
    events = [event for history in answer.declarations for event in history.events if event.event != "present"]
    unchanged = [
        event for event in events if event.before and event.after
        and (event.before.content_hash, event.before.path) == (event.after.content_hash, event.after.path)
    ]  # fmt: skip
    problems = [
        f"{event.commit[:12]} changes nothing" for event in unchanged if not (event.after and event.after.shared)
    ]
    lacking = set(told.split()) - {event.commit for event in events}
    return about(name, problems + [f"{len(lacking)} steps lack: {sorted(lacking)[:3]}"] * bool(lacking))


APPEARED = Question(
    "d. when a symbol appeared or changed",
    lambda questions: questions.some(questions.changed_names),
    lambda _, engine, name: symbol_history(engine, history_request(name, {}, 1000)),
    lambda questions, name: questions.made.git(
        "log", *questions.steps, "--no-patch", "--format=%H", f"-G(def|class) {name}[^A-Za-z0-9_]"
    ),
    _compare_history,
)

# Which commits change a text, and which messages have a word?


def _search_of(kind: str, query: str, engine: SearchEngine) -> SearchAnswer:
    return engine.search(parse_request({"query": query, **MOST, "filters": {"type": kind}}))


def _compare_hits(_: Questions, text: str, answer: SearchAnswer, told: str) -> list[str]:
    ours = {hit.commit for hit in answer.results if mentions(text.lower(), _own_text(hit))}
    return about(text, differences_of(ours, set(told.split())))


def _own_text(hit: Hit) -> str:
    """Return a message, or the changed lines without the headers, which name the declaration around the lines."""
    return "\n".join(line for line in hit.text.lower().splitlines() if not line.startswith("@@ "))


CHANGING = Question(
    "e. commits that change a text",
    lambda questions: questions.some(questions.changed_names),
    lambda _, engine, name: _search_of("diff", f'"{name}"', engine),
    lambda questions, name: questions.made.git(
        "log", "--no-walk=unsorted", "--stdin", "--format=%H", rf"-G\b{name}\b", data=questions.commits_with_changes
    ),
    _compare_hits,
)


def _words(questions: Questions) -> list[str]:
    messages = questions.made.git(
        "log", "--no-walk=unsorted", "--stdin", "--format=%B%x00", data=questions.commits
    ).split("\0")
    counts = Counter(word for message in messages for word in set(re.findall(r"\b[a-z]{6,}\b", message.lower())))
    return questions.some([word for word, count in counts.items() if FEWEST <= count <= MOST_COMMITS])


TELLING = Question(
    "e. commits whose message has a word",
    _words,
    lambda _, engine, word: _search_of("commit", f'"{word}"', engine),
    lambda questions, word: questions.made.git(
        "log",
        "--no-walk=unsorted",
        "--stdin",
        "--format=%H",
        "-i",
        "-E",
        rf"--grep=\b{word}\b",
        data=questions.commits,
    ),
    _compare_hits,
)


# What did a branch change since it branched off?


def _branch_changes(questions: Questions, engine: SearchEngine, branch: str) -> ComparisonAnswer:
    number = int(branch.removeprefix("topic-"))
    key = declares(number)
    query = f"topic{number} {key[0] if key else ''}"
    return compare(engine, parse_diff({"query": query, "range": f"{questions.made.default}...{branch}", **MOST}))


def _compare_changes(_: Questions, branch: str, answer: ComparisonAnswer, told: str) -> list[str]:
    paths = [line.rpartition("|")[0].strip() for line in told.splitlines() if "|" in line]
    return about(branch, differences_of({item.path for item in answer.results}, set(paths)))


BRANCHED = Question(
    "f. files that a branch changed",
    lambda questions: questions.some(questions.made.branches),
    _branch_changes,
    lambda questions, branch: questions.made.git("diff", "--stat=400", f"{questions.made.default}...{branch}"),
    _compare_changes,
)

QUESTIONS = (CONTAINING, DECLARING, CONTAINING_COMMIT, APPEARED, CHANGING, TELLING, BRANCHED)
