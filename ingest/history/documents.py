"""Turns commits into tasks for the reading processes, and there into documents: messages, and changed lines."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any

from codequarry.ingest.chunking.chunk_ids import content_hash, digest
from codequarry.ingest.files.read_file import PLAIN_TEXT, ContentTask, ReadFile, piece_of
from codequarry.ingest.files.scan import FileTask
from codequarry.ingest.git.commits import FileChange, ReadCommit
from codequarry.ingest.git.trees import TreeEntry
from codequarry.ingest.history.log_rules import LOG_VERSION, LogRules
from codequarry.ingest.history.patches import ADDED, REMOVED, PatchPiece, patch_pieces
from codequarry.ingest.secrets.masked_text import MaskedText
from codequarry.ingest.secrets.masking import mask
from codequarry.ingest.secrets.policy import SecretRules
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
# The look-behind makes the search linear: it starts only once in a run of white space.
_ADDRESS = re.compile(r"(?:(?<!\s)\s+)?<[^<>\s@]+@[^<>\s]+>")


@dataclass(frozen=True, slots=True)
class CommitSource:
    """What every document of a commit is made of: the ``commit`` without its changes, and the rules."""

    repo: str
    commit: ReadCommit
    emails: EmailRule
    secrets: SecretRules

    def safe_message(self) -> MaskedText:
        """Return the message without secrets and, unless they are kept, without e-mail addresses in angle brackets."""
        return _safe_message(self.commit.message, self.emails, self.secrets)

    def fields(self, message: str) -> dict[str, Any]:
        """Return the fields of a chunk that say which commit it is from."""
        author, searched = _safe_author(self.commit.author, self.commit.email, self.emails, self.secrets)
        seconds = min(max(self.commit.time, 0), LAST_SECOND)
        return {
            "commit_author": author,
            "commit_date": datetime.fromtimestamp(seconds, UTC).isoformat().replace("+00:00", "Z"),
            "commit_message": message.partition("\n")[0].strip(),
            "author": searched,
            "commit_day": seconds // SECONDS_A_DAY,
        }


@lru_cache(maxsize=16)
def _safe_message(message: str, emails: EmailRule, secrets: SecretRules) -> MaskedText:
    """Return a message as ``safe_message`` does, cached because all documents of a commit need it."""
    # The whole message is masked first: half a secret would not be recognised.
    text = message.strip()
    found = mask(text, "", secrets.allowed) if secrets.is_on else MaskedText(text)
    safe = found.text if emails == "keep" else _ADDRESS.sub("", found.text)
    return MaskedText(safe[:MESSAGE_CHARACTERS].rstrip() + "\n", found.secrets)


@lru_cache(maxsize=256)
def _safe_author(author: str, email: str, emails: EmailRule, secrets: SecretRules) -> tuple[str, str]:
    """Return an author as answers show it and as searches find it; cached because most authors made many commits."""
    name, address = author.strip()[:NAME_CHARACTERS], email.strip()[:NAME_CHARACTERS]
    shown = f"{name} <{address}>" if emails == "keep" else name.partition("@")[0]  # some people's name is an address
    if secrets.is_on:
        shown = mask(shown, "", secrets.allowed).text
    return shown, shown.lower() + (f" <{hashed_address(address)}>" if emails == "hash" else "")


def commit_tasks(commit: ReadCommit, rules: LogRules, *, diffs: bool) -> Iterator[FileTask]:
    """Yield the tasks of a commit: its message and, with ``diffs``, what it changed in each indexed file.

    A commit that changes too many files has only its message.
    """
    source = CommitSource(rules.repo, replace(commit, changes=()), rules.emails, rules.paths.secrets)
    names = "\n".join(change.path for change in commit.changes[:NAMED_FILES])
    size = len(commit.message)
    yield MessageTask(message_path(commit.id), commit.id, size, rules.digest, source=source, names=names)
    if diffs and len(commit.changes) <= rules.most_files:
        yield from (task for change in commit.changes for task in _diff_tasks(change, source, rules))


def _diff_tasks(change: FileChange, source: CommitSource, rules: LogRules) -> Iterator[FileTask]:
    if not change.patch:
        return
    if change.path == change.old_path:
        yield from _diff_task(change, change.path, ADDED + REMOVED, source, rules)
        return
    # Somebody who may see only one of the two paths must not see what the file had under the other.
    yield from _diff_task(change, change.path, ADDED, source, rules)
    yield from _diff_task(change, change.old_path, REMOVED, source, rules)


def _diff_task(change: FileChange, path: str, signs: str, source: CommitSource, rules: LogRules) -> Iterator[FileTask]:
    decided = rules.paths.decide(TreeEntry(path, _REGULAR, "", 0))
    if decided.skip:
        return
    yield DiffTask(
        path=diff_path(source.commit.id, path),
        blob=source.commit.id,
        size=len(change.patch),
        rules=rules.digest,
        language=decided.language or PLAIN_TEXT,
        kind=decided.kind,
        labels=decided.labels,
        source=source,
        file=path,
        patch=change.patch,
        signs=signs,
        most_lines=rules.most_lines,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageTask(ContentTask):
    """A commit's message, to be read beside the ``names`` of the files that the commit changed."""

    source: CommitSource
    names: str

    def read(self) -> ReadFile:
        """Return the message as a document."""
        found = self.source.safe_message()
        chunk = Chunk(
            id=document_id(self.source.repo, self.path, 0),
            repo=self.source.repo,
            path=self.path,
            blob=self.blob,
            language=PLAIN_TEXT,
            symbol_type="commit",
            start_line=1,
            end_line=found.text.count("\n"),
            start_char=0,
            end_char=len(found.text),
            text=found.text,
            content_hash=content_hash(found.text),
            context=self.names,
            masked=bool(found.secrets),
            **self.source.fields(found.text),
        )
        task = FileTask(self.path, self.blob, self.size, self.rules, language=PLAIN_TEXT)
        return ReadFile(task, INDEXED, found.counts.detail, PLAIN_TEXT, chunk.end_line, (piece_of(chunk),))


@dataclass(frozen=True, slots=True, kw_only=True)
class DiffTask(ContentTask):
    """What a commit changed in one ``file``, as git's ``patch``, of which lines with one of ``signs`` count."""

    source: CommitSource
    file: str
    patch: bytes
    signs: str
    most_lines: int

    def read(self) -> ReadFile:
        """Return the changed lines as a document, which has no pieces if there are none."""
        pieces = patch_pieces(self.patch, self.file, self.source.secrets, self.most_lines, self.signs)
        chunks = list(self._chunks(pieces)) if pieces else []
        size, lines = sum(len(chunk.text) for chunk in chunks), sum(piece.text.count("\n") for piece in pieces)
        task = FileTask(self.path, self.blob, size, self.rules, language=self.language, kind=self.kind)
        return ReadFile(task, INDEXED, language=self.language, lines=lines, pieces=tuple(map(piece_of, chunks)))

    def _chunks(self, pieces: list[PatchPiece]) -> Iterator[Chunk]:
        fields = self.source.fields(self.source.safe_message().text)
        at = 0
        for ordinal, piece in enumerate(pieces):
            yield Chunk(
                id=document_id(self.source.repo, self.path, ordinal),
                repo=self.source.repo,
                path=self.path,
                blob=self.blob,
                language=self.language or PLAIN_TEXT,
                symbol_type="diff",
                start_line=piece.start_line,
                end_line=piece.end_line,
                start_char=at,
                end_char=at + len(piece.text),
                text=piece.text,
                content_hash=content_hash(piece.text),
                ordinal=ordinal,
                symbol_part=f"{ordinal + 1}/{len(pieces)}" if len(pieces) > 1 else None,
                context="\n".join(piece.headings),
                microservice=self.labels.microservice,
                aggregate=self.labels.aggregate,
                tags=self.labels.tags,
                kind_of_file=self.kind,
                masked=piece.masked,
                **fields,
            )
            at += len(piece.text)


def document_id(repo: str, path: str, ordinal: int) -> str:
    """Return the id of a chunk of a document."""
    return digest((repo, path, str(ordinal), f"log {LOG_VERSION}"))
