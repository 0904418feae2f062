"""The history of a file version as its chunks hold it: compact, without secrets, with addresses as the settings say."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from codequarry.ingest.git.commits import ReadCommit
from codequarry.ingest.history.documents import CommitSource
from codequarry.ingest.history.touched_files import TouchedFile
from codequarry.ingest.secrets.policy import SecretRules
from codequarry.shared.authors import EmailRule
from codequarry.shared.model import ChangedTogether, FileHistory, FileOwner
from codequarry.shared.paths import printable

# Characters of a message's first line: it is repeated in every chunk of the file.
SUBJECT_CHARACTERS = 80
# Files that changed with a file, and authors.
MOST_TOGETHER_SHOWN = 5
MOST_OWNERS = 3
# A file that changed along with another once did so by chance.
FEWEST_TOGETHER = 2
SHARE_DIGITS = 2


@dataclass(frozen=True, slots=True)
class FactRules:
    """What decides how authors and messages are shown."""

    repo: str
    emails: EmailRule
    secrets: SecretRules

    def source(self, commit: ReadCommit) -> CommitSource:
        """Return a commit as a source of fields."""
        return CommitSource(self.repo, commit, self.emails, self.secrets)


def history_fields(touched: TouchedFile, message: str, is_known: bool, rules: FactRules) -> dict[str, Any]:
    """Return the fields of a file's chunks; ``message`` is that of the newest commit.

    Unless that ``is_known`` to have touched the file, as at the end of a shallow clone, the fields name no commit.
    """
    history = FileHistory(
        commits=len(touched.commits),
        is_partial=touched.is_partial,
        changes_with=_together(touched.together),
        owners=_owners(touched.commits, rules) if is_known else (),
    )
    if not is_known:
        return {"file_history": history}
    newest = touched.commits[0]
    source = rules.source(replace(newest, message=message))
    fields = source.fields(source.safe_message().text)
    fields["commit_message"] = _cut(fields["commit_message"])
    return {**fields, "last_modified_commit": newest.id, "file_history": history}


def _cut(subject: str) -> str:
    return subject if len(subject) <= SUBJECT_CHARACTERS else subject[: SUBJECT_CHARACTERS - 1] + "…"


def _together(counts: Mapping[bytes, int]) -> tuple[ChangedTogether, ...]:
    often = [(-count, path) for path, count in counts.items() if count >= FEWEST_TOGETHER]
    return tuple(ChangedTogether(printable(path), -count) for count, path in sorted(often)[:MOST_TOGETHER_SHOWN])


def _owners(commits: Sequence[ReadCommit], rules: FactRules) -> tuple[FileOwner, ...]:
    """Return the authors of most commits; an address is one person, by the newest name, and so is a name."""
    newest: dict[str, str] = {}
    shown: dict[str, ReadCommit] = {}
    made: Counter[str] = Counter()
    for commit in commits:
        name = commit.author.strip().lower()
        person = newest.setdefault(commit.email.strip().lower() or name, name)
        shown.setdefault(person, commit)
        made[person] += 1
    first = sorted(made.items(), key=lambda item: (-item[1], item[0]))[:MOST_OWNERS]
    return tuple(
        FileOwner(rules.source(shown[person]).fields("")["commit_author"], round(count / len(commits), SHARE_DIGITS))
        for person, count in first
    )
