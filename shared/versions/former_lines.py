"""Former timelines as lines of text, so that a head document with tens of thousands of them stays cheap to read.

The document holds the lines of each repository as one string. Lines that did not change since the last read are not
parsed again, and a timeline that did not change is not written out again.
"""

from collections.abc import Iterator, Mapping
from functools import lru_cache

from codequarry.shared.versions.timeline import Place, Timeline

NOTHING = "-"
# Repositories whose lines are kept parsed, and timelines whose line is kept written.
PARSED, WRITTEN = 1_000, 100_000


def is_line(state: Timeline) -> bool:
    """Return whether a timeline can be written as a line: a former timeline without a lease."""
    plain = not (state.ref or state.lease or state.branch or state.gone)
    return bool(state.former) and plain and not any(" " in text or "\n" in text for text in _texts(state))


def _texts(state: Timeline) -> tuple[str, ...]:
    return state.former, state.commit, state.expiring_since


@lru_cache(WRITTEN)
def to_line(timeline: int, state: Timeline) -> str:
    """Return the line of a former timeline, without its repository."""
    pins = ",".join(f"{owner}:{number}" for owner, number in sorted(state.pins))
    numbers = (str(number) for number in (timeline, state.published, state.floor))
    return " ".join((*numbers, *(text or NOTHING for text in (*_texts(state), pins))))


@lru_cache(PARSED)
def of_lines(repo: str, repo_id: str, lines: str) -> Mapping[int, Timeline]:
    """Return the former timelines of a repository; the caller must not modify them."""
    return dict(_of_line(repo, repo_id, line) for line in lines.split("\n"))


def _of_line(repo: str, repo_id: str, line: str) -> tuple[int, Timeline]:
    timeline, published, floor, *texts = line.split(" ")
    former, commit, since, pins = ("" if text == NOTHING else text for text in texts)
    state = Timeline(
        repo,
        int(published),
        commit,
        floor=int(floor),
        pins=frozenset(_pins(pins)),
        repo_id=repo_id,
        former=former,
        expiring_since=since,
    )
    return int(timeline), state


def _pins(text: str) -> Iterator[Place]:
    for pin in text.split(",") if text else ():
        owner, _, number = pin.partition(":")
        yield int(owner), int(number)
