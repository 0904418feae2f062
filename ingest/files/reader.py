"""Turns a blob's bytes into a file's verdict and its chunks, ready for embedding."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from codequarry.ingest.chunking.chunker import chunk_by_lines, chunk_file
from codequarry.ingest.chunking.installed_plugins import ChunkerPlugin, installed_plugins
from codequarry.ingest.chunking.languages import language_of
from codequarry.ingest.chunking.lexical import embedded_text, lexical_tokens
from codequarry.ingest.chunking.pieces import Sizes
from codequarry.ingest.chunking.plugins import PluginFailed
from codequarry.ingest.chunking.source_file import SourceFile
from codequarry.ingest.chunking.summary import file_summary
from codequarry.ingest.files.content import NotText, decode, generated_marker, is_minified
from codequarry.ingest.files.scan import FileTask
from codequarry.ingest.git.objects import BlobReader, Mirror
from codequarry.ingest.secrets.masked_text import MaskedText
from codequarry.ingest.secrets.policy import SecretRules
from codequarry.shared.authors import EmailRule
from codequarry.shared.errors import CodequarryError
from codequarry.shared.model import INDEXED, Chunk, Tokens

if TYPE_CHECKING:
    from codequarry.shared.settings.config import SettingsModel

# The language of a text if neither its name nor its first line indicates a language.
PLAIN_TEXT = "text"
# A first line that names an interpreter is short.
FIRST_LINE_CHARACTERS = 200


@dataclass(frozen=True, slots=True)
class ReadPiece:
    """A chunk on its way to the store; ``text`` is the text to embed."""

    chunk: Chunk
    tokens: Tokens
    text: str


@dataclass(frozen=True, slots=True)
class ReadFile:
    """The outcome for a file: ``verdict`` is ``indexed`` or the reason it was skipped."""

    task: FileTask
    verdict: str
    detail: str = ""
    language: str | None = None
    lines: int = 0
    pieces: tuple[ReadPiece, ...] = ()


@dataclass(frozen=True, slots=True)
class ContentTask(FileTask, ABC):
    """A task that brings its content along and knows how to read it, in the process that it is sent to."""

    @abstractmethod
    def read(self) -> ReadFile:
        """Return the outcome."""


@dataclass(frozen=True, slots=True)
class ReadingRules:
    """The rules by which a file's content is judged and chunked, without settings classes, which are slow to load.

    ``language_map`` and ``languages_on`` are ``[languages] map`` and ``only``, ``file_commits`` and ``emails`` those of
    ``[history]``, which decide what is known of a file's commits.
    """

    repo: str
    sizes: Sizes
    skip_generated: bool
    skip_minified: bool
    language_map: Mapping[str, str]
    languages_on: tuple[str, ...]
    secrets: SecretRules
    plugins: tuple[ChunkerPlugin, ...] = ()
    file_commits: int = 0
    emails: EmailRule = "hash"

    @classmethod
    def of(cls, repo: str, settings: "SettingsModel", secrets: SecretRules) -> "ReadingRules":
        """Return the configured rules; ``secrets`` also includes the repository's own allow list."""
        scan, languages = settings.scan, settings.languages
        sizes = Sizes.of(settings.chunking)
        return cls(
            repo=repo,
            sizes=sizes,
            skip_generated=scan.skip_generated,
            skip_minified=scan.skip_minified,
            language_map=dict(languages.map),
            languages_on=languages.only,
            secrets=secrets,
            plugins=installed_plugins(),
            file_commits=settings.history.file_commits,
            emails=settings.history.emails,
        )


def skipped(task: FileTask) -> ReadFile:
    """Return the outcome for a file that is skipped because of its path."""
    assert task.skip is not None
    return ReadFile(task, task.skip, task.detail, task.language)


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


def piece_of(chunk: Chunk) -> ReadPiece:
    """Return a chunk with its lexical fields and its text to embed."""
    return ReadPiece(chunk, lexical_tokens(chunk), embedded_text(chunk))


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


def cut_by_lines(task: FileTask) -> FileTask | None:
    """Return the task to try after the chunker failed on a file, or None if there is none left."""
    return None if task.by_lines or isinstance(task, ContentTask) else replace(task, by_lines=True)


def failed(task: FileTask, detail: str) -> ReadFile:
    """Return the outcome for a file on which the chunker failed."""
    if isinstance(task, ContentTask):
        task = FileTask(task.path, task.blob, task.size, task.rules, language=task.language, kind=task.kind)
    return ReadFile(replace(task, skip="chunker-failed"), "chunker-failed", detail[:500], task.language)
