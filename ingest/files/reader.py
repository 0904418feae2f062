"""Turns a blob's bytes into a file's verdict and its chunks, ready for embedding."""

from dataclasses import replace
from typing import TYPE_CHECKING

from codequarry.ingest.chunking.chunker import chunk_by_lines, chunk_file
from codequarry.ingest.chunking.languages import language_of
from codequarry.ingest.chunking.plugins import PluginFailed
from codequarry.ingest.chunking.source_file import SourceFile
from codequarry.ingest.chunking.summary import file_summary
from codequarry.ingest.files.content import NotText, decode, generated_marker, is_minified
from codequarry.ingest.files.read_file import (
    PLAIN_TEXT,
    ContentTask,
    ReadFile,
    ReadingRules,
    cut_by_lines,
    failed,
    piece_of,
    skipped,
)
from codequarry.ingest.files.scan import FileTask
from codequarry.ingest.git.blob_reader import BlobReader
from codequarry.ingest.git.objects import Mirror
from codequarry.ingest.secrets.masked_text import MaskedText
from codequarry.ingest.secrets.policy import SecretRules
from codequarry.shared.errors import CodequarryError
from codequarry.shared.model import INDEXED, Chunk

if TYPE_CHECKING:
    pass

# A first line that names an interpreter is short.
FIRST_LINE_CHARACTERS = 200


def judge(task: FileTask, data: bytes, rules: ReadingRules) -> ReadFile:
    """Return the verdict on a file's content, with the file's chunks if it is indexed."""
    decoded = decode(data)
    if isinstance(decoded, NotText):
        return ReadFile(task, decoded.reason, decoded.detail, task.language)
    found = _find_secrets(decoded.text, task, rules.secrets)
    decoded = replace(decoded, text=found.text)
    first_line = decoded.text[:FIRST_LINE_CHARACTERS].partition("\n")[0]
    language = task.language or language_of(task.path, first_line, rules.language_map) or PLAIN_TEXT
    lines = decoded.text.count("\n") + (not decoded.text.endswith("\n") and bool(decoded.text))
    author = _author(task, decoded.text, language)
    reason, detail = _reason(task, language, author, rules)
    if reason:
        return ReadFile(task, reason, detail, language, lines)
    if found.secrets and rules.secrets.action == "skip":
        return ReadFile(task, "secrets", found.counts.detail, language, lines)
    kind = "generated" if author and not task.wanted and task.kind not in ("vendored", "lock") else task.kind
    source = SourceFile(
        repo=rules.repo,
        path=task.path,
        blob=task.blob,
        language=language,
        text=decoded.text,
        kind_of_file=kind,
        labels=task.labels,
        encoding=decoded.encoding,
    )
    by_lines = task.by_lines
    chunks = chunk_by_lines(source, rules.sizes) if by_lines else chunk_file(source, rules.sizes, rules.plugins)
    summary = None if by_lines else file_summary(source, chunks, rules.sizes)
    pieces = tuple(piece_of(_marked(chunk, found)) for chunk in (*chunks, *filter(None, (summary,))))
    return ReadFile(task, INDEXED, found.counts.detail, language, lines, pieces)


def _find_secrets(text: str, task: FileTask, rules: SecretRules) -> MaskedText:
    """Mask the file before chunking: a private key can be longer than a chunk, and symbol names come from the text."""
    if not rules.is_on:
        return MaskedText(text)
    from codequarry.ingest.secrets.masking import mask

    return mask(text, task.path, rules.allowed)


def _marked(chunk: Chunk, found: MaskedText) -> Chunk:
    return replace(chunk, masked=True) if found.touches(chunk.start_char, chunk.end_char) else chunk


def _author(task: FileTask, text: str, language: str) -> tuple[str, str] | None:
    """Return ``generated`` or ``minified`` with the marker if a program wrote a text, or None if people did."""
    if task.handwritten:
        return None
    if marker := generated_marker(text, language):
        return "generated", marker
    return ("minified", "") if is_minified(text, language) else None


def _reason(
    task: FileTask, language: str, author: tuple[str, str] | None, rules: ReadingRules
) -> tuple[str | None, str]:
    if rules.languages_on and language not in rules.languages_on:
        return "language-off", language
    skips = {"generated": rules.skip_generated, "minified": rules.skip_minified}
    return author if author and not task.wanted and skips[author[0]] else (None, "")


class FileReader:
    """Reads files of one mirror, in this process."""

    def __init__(self, mirror: Mirror, rules: ReadingRules) -> None:
        self._blobs = BlobReader(mirror)
        self._rules = rules

    def read(self, task: FileTask) -> ReadFile:
        """Read one file, by its lines if the chunker fails; its second failure becomes the file's verdict.

        Raise GitError if git can't read the blob, CodequarryError if a plug-in is not installed here.
        """
        if task.skip:
            return skipped(task)
        data = b"" if isinstance(task, ContentTask) else self._blobs.read(task.blob)
        try:
            if isinstance(task, ContentTask):
                return task.read()
            return judge(task, data, self._rules)
        except CodequarryError:
            raise
        except PluginFailed as error:
            # The verdict tells the operator which plug-in to repair.
            return failed(task, f"{type(error).__name__}: {error}")
        except Exception as error:
            simpler = cut_by_lines(task)
            return self.read(simpler) if simpler else failed(task, f"{type(error).__name__}: {error}")

    def close(self) -> None:
        """End the git process."""
        self._blobs.close()
