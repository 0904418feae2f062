"""Turns commits into documents for the index: one file for each message and for each changed file. Pure."""

import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime

from codequarry.ingest.chunking.lexical import embedded_text, lexical_tokens
from codequarry.ingest.files.reader import PLAIN_TEXT, ReadFile, ReadPiece
from codequarry.ingest.files.scan import FileTask
from codequarry.ingest.git.commits import Commit, FileChange
from codequarry.ingest.git.trees import TreeEntry
from codequarry.ingest.history.log_rules import LOG_VERSION, LogRules
from codequarry.ingest.history.patches import PatchPiece, patch_pieces
from codequarry.ingest.secrets.masked_text import MaskedText
from codequarry.ingest.secrets.masking import mask
from codequarry.shared.authors import EmailRule, hashed_address
from codequarry.shared.model import INDEXED, Chunk
from codequarry.shared.versions.commit_log import diff_path, message_path

# Characters of a message: few people write more, and squashed commits repeat themselves.
MESSAGE_CHARACTERS = 8_000
# Changed files that are named beside a message.
NAMED_FILES = 30
NAME_CHARACTERS = 200
SECONDS_A_DAY = 86_400
# The end of the year 9999.
LAST_SECOND = 253_402_300_799
# A file of which only the path is known.
_REGULAR = "100644"
_ADDRESS = re.compile(r"\s*<[^<>\s@]+@[^<>\s]+>")


@dataclass(frozen=True, slots=True)
class _About:
    """What every document of a commit says about it."""

    commit: str
    author: str
    searched: str
    date: str
    day: int
    subject: str


def documents(commit: Commit, rules: LogRules, *, diffs: bool) -> list[ReadFile]:
    """Return the documents of a commit: its message and, with ``diffs``, what it changed in each indexed file.

    Only the message is returned of a commit that changes too many files.
    """
    message = _message(commit.message, rules)
    about = _about(commit, rules.emails, message.text)
    found = [_message_file(commit, about, message, rules)]
    if diffs and len(commit.changes) <= rules.most_files:
        found += [file for change in commit.changes if (file := _diff_file(change, about, rules))]
    return found


def _message(text: str, rules: LogRules) -> MaskedText:
    """Return a message without secrets and, unless they are kept, without e-mail addresses in angle brackets."""
    secrets = rules.paths.secrets
    # The whole message is masked first: half a secret would not be recognised.
    found = mask(text.strip(), "", secrets.allowed) if secrets.is_on else MaskedText(text.strip())
    safe = found.text if rules.emails == "keep" else _ADDRESS.sub("", found.text)
    return MaskedText(safe[:MESSAGE_CHARACTERS].rstrip() + "\n", found.secrets)


def _about(commit: Commit, emails: EmailRule, message: str) -> _About:
    name, address = commit.author.strip()[:NAME_CHARACTERS], commit.email.strip()[:NAME_CHARACTERS]
    if emails == "keep":
        author = f"{name} <{address}>"
        searched = author.lower()
    else:
        author = name.partition("@")[0]  # some people's name is their address
        searched = author.lower() + (f" <{hashed_address(address)}>" if emails == "hash" else "")
    seconds = min(max(commit.time, 0), LAST_SECOND)
    date = datetime.fromtimestamp(seconds, UTC).isoformat().replace("+00:00", "Z")
    subject = message.partition("\n")[0].strip()
    return _About(commit.id, author, searched, date, seconds // SECONDS_A_DAY, subject)


def _message_file(commit: Commit, about: _About, found: MaskedText, rules: LogRules) -> ReadFile:
    message = found.text
    names = "\n".join(change.path for change in commit.changes[:NAMED_FILES])
    path = message_path(commit.id)
    chunk = Chunk(
        id=_chunk_id(rules.repo, path, 0),
        repo=rules.repo,
        path=path,
        blob=commit.id,
        language=PLAIN_TEXT,
        symbol_type="commit",
        start_line=1,
        end_line=message.count("\n"),
        start_char=0,
        end_char=len(message),
        text=message,
        content_hash=_digest(message),
        context=names,
        masked=bool(found.secrets),
        **_commit_fields(about),
    )
    task = FileTask(path, commit.id, len(message), rules.digest, language=PLAIN_TEXT)
    return ReadFile(task, INDEXED, found.counts.detail, PLAIN_TEXT, chunk.end_line, (_ready(chunk),))


def _diff_file(change: FileChange, about: _About, rules: LogRules) -> ReadFile | None:
    """Return what a commit changed in a file, or None if nothing of it is indexed."""
    if not change.patch:
        return None
    # The old name counts too: a moved file shows lines that it had under that name.
    decided = [rules.paths.decide(TreeEntry(path, _REGULAR, "", 0)) for path in (change.path, change.old_path)]
    if any(task.skip for task in decided):
        return None
    pieces = patch_pieces(change.patch, change.path, rules.paths.secrets, rules.most_lines)
    if not pieces:
        return None
    path = diff_path(about.commit, change.path)
    language = decided[0].language or PLAIN_TEXT
    chunks = list(_diff_chunks(pieces, path, language, decided[0], about, rules))
    size = sum(len(chunk.text) for chunk in chunks)
    task = FileTask(path, about.commit, size, rules.digest, language=language, kind=decided[0].kind)
    lines = sum(piece.text.count("\n") for piece in pieces)
    return ReadFile(task, INDEXED, language=language, lines=lines, pieces=tuple(map(_ready, chunks)))


def _diff_chunks(
    pieces: list[PatchPiece], path: str, language: str, task: FileTask, about: _About, rules: LogRules
) -> Iterator[Chunk]:
    at = 0
    for ordinal, piece in enumerate(pieces):
        yield Chunk(
            id=_chunk_id(rules.repo, path, ordinal),
            repo=rules.repo,
            path=path,
            blob=about.commit,
            language=language,
            symbol_type="diff",
            start_line=piece.start_line,
            end_line=piece.end_line,
            start_char=at,
            end_char=at + len(piece.text),
            text=piece.text,
            content_hash=_digest(piece.text),
            ordinal=ordinal,
            symbol_part=f"{ordinal + 1}/{len(pieces)}" if len(pieces) > 1 else None,
            context="\n".join(piece.headings),
            microservice=task.labels.microservice,
            aggregate=task.labels.aggregate,
            tags=task.labels.tags,
            kind_of_file=task.kind,
            masked=piece.masked,
            **_commit_fields(about),
        )
        at += len(piece.text)


def _commit_fields(about: _About) -> dict[str, object]:
    return {
        "commit_author": about.author,
        "commit_date": about.date,
        "commit_message": about.subject,
        "author": about.searched,
        "commit_day": about.day,
    }


def _ready(chunk: Chunk) -> ReadPiece:
    return ReadPiece(chunk, lexical_tokens(chunk), embedded_text(chunk))


def _chunk_id(repo: str, path: str, ordinal: int) -> str:
    return _digest("\0".join((repo, path, str(ordinal), f"log {LOG_VERSION}")))[:32]


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
