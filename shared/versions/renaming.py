"""Timelines that are copied to another name of their repository, as pure functions over the head document.

The copies keep the numbers of the transactions, which are those of the whole index. They are drafts with one lease and
one number until the write that publishes them all and takes the old name's timelines away from readers.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from codequarry.shared.errors import Conflict
from codequarry.shared.versions.head import Head, Timeline
from codequarry.shared.versions.transactions import begin, drop_name, new_timeline


def begin_copies(
    head: Head, repo: str, repo_id: str, holder: str, sources: Iterable[int]
) -> tuple[Head, int, Mapping[int, int]]:
    """Add a draft for a copy of each of ``sources``; return the number of their lease, and each source's copy.

    Raise Conflict if the name belongs to another repository.
    """
    copies: dict[int, int] = {}
    for source in sources:
        head, copies[source] = new_timeline(head, repo, repo_id=repo_id)
    first = min(copies.values())
    head, number = begin(head, first, holder)
    # Runs that look for drafts of their version pass over timelines that show no version.
    draft = replace(head.timelines[first], gone=True)
    return replace(head, timelines={**head.timelines, **dict.fromkeys(copies.values(), draft)}), number, copies


def states_to_copy(head: Head, repo: str) -> Mapping[int, Timeline]:
    """Return what decides the copies of a repository's timelines: their published states, without leases and ages."""
    states = {key: head.timelines[key] for key in head.of_repo(repo)}
    return {key: replace(state, lease=None, expiring_since="") for key, state in states.items() if state.published}


def replace_name(head: Head, old: str, new: str, copied: Mapping[int, Timeline]) -> Head:
    """Publish copies under the name ``new``, and take the timelines of ``old`` away from readers and runs.

    The timelines of ``old`` stay, without a version, until the removal of that name drops them. Raise Conflict if
    ``new`` has been removed.
    """
    if old in head.defaults and new not in head.defaults:
        raise Conflict(f"'{new}' was removed during the renaming; run the command again")
    leases = (head.timelines[key].lease for key in copied)
    written = {lease.number for lease in leases if lease}
    for timeline in head.of_repo(old):
        head = drop_name(head, timeline)
    return replace(
        head,
        open={number: timeline for number, timeline in head.open.items() if number not in written},
        timelines={**head.timelines, **copied},
        defaults={name: timeline for name, timeline in head.defaults.items() if name != old},
    )
