"""What reading a file gives, and the rules for it: all that a process needs that has files read by others."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from codequarry.ingest.chunking.installed_plugins import ChunkerPlugin, installed_plugins
from codequarry.ingest.chunking.lexical import embedded_text, lexical_tokens
from codequarry.ingest.chunking.pieces import Sizes
from codequarry.ingest.files.scan import FileTask
from codequarry.ingest.secrets.policy import SecretRules
from codequarry.shared.authors import EmailRule
from codequarry.shared.model import Chunk, Tokens

if TYPE_CHECKING:
    from codequarry.shared.settings.config import SettingsModel

# The language of a text if neither its name nor its first line indicates a language.
PLAIN_TEXT = "text"


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


def piece_of(chunk: Chunk) -> ReadPiece:
    """Return a chunk with its lexical fields and its text to embed."""
    return ReadPiece(chunk, lexical_tokens(chunk), embedded_text(chunk))


def cut_by_lines(task: FileTask) -> FileTask | None:
    """Return the task to try after the chunker failed on a file, or None if there is none left."""
    return None if task.by_lines or isinstance(task, ContentTask) else replace(task, by_lines=True)


def failed(task: FileTask, detail: str) -> ReadFile:
    """Return the outcome for a file on which the chunker failed."""
    if isinstance(task, ContentTask):
        task = FileTask(task.path, task.blob, task.size, task.rules, language=task.language, kind=task.kind)
    return ReadFile(replace(task, skip="chunker-failed"), "chunker-failed", detail[:500], task.language)
