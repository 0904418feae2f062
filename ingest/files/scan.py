"""Decides by path which files are indexed; every skipped file is recorded with one of the reasons below."""

from collections.abc import Hashable, Sequence
from dataclasses import astuple, dataclass, field
from functools import lru_cache
from hashlib import sha256
from typing import TYPE_CHECKING

from codequarry.ingest.chunking.installed_plugins import installed_plugins
from codequarry.ingest.chunking.languages import is_mapped, language_named, language_of
from codequarry.ingest.chunking.source_file import PathLabels
from codequarry.ingest.chunking.version import CHUNKER_VERSION
from codequarry.ingest.files.attributes import UNSAID, PathAttributes
from codequarry.ingest.files.kinds import is_installed, is_minified_name, is_source_map_name, kind_of_path
from codequarry.ingest.git.trees import SUBMODULE, SYMLINK, TreeEntry
from codequarry.ingest.secrets.allow_list import warnings_of_allow_file
from codequarry.ingest.secrets.policy import ALLOW_FILE, SecretRules
from codequarry.shared.glob_patterns import GLOBS_VERSION
from codequarry.shared.globs import globs_of_file, globs_of_setting
from codequarry.shared.model import KindOfFile
from codequarry.shared.versions.transactions import MASKED

if TYPE_CHECKING:
    from codequarry.shared.settings.config import ScanSettings, SettingsModel

# Part of every rules hash. Increase it when the rules in this file, kinds.py or content.py change.
SCANNER_VERSION = 2
# Part of every rules hash unless files have no history. Increase it when the fields of the history change.
FILE_HISTORY_VERSION = 1
IGNORE_FILE = ".codequarryignore"
MOST_WARNINGS = 20

# Linux's PATH_MAX. The data that the index keeps for a path grows with the square of its depth.
MAX_PATH_BYTES = 4_096

SKIP_REASONS: dict[str, str] = {
    "submodule": "a commit of another repository, not a file",
    "symlink": "a symbolic link; links are never followed",
    "path-too-long": "its path is longer than file systems allow (4,096 bytes)",
    "excluded": "matches [scan] exclude or the repository's .codequarryignore",
    "not-included": "matches none of the patterns of [scan] include",
    "installed": "in a folder that a package manager fills, such as node_modules ([scan] skip_installed)",
    "vendored": "third-party code that is kept in the repository ([scan] skip_vendored)",
    "lock-file": "written by a package manager ([scan] skip_lock_files)",
    "source-map": "maps a minified file to its source ([scan] exclude with ! includes it)",
    "generated": "written by a program, by its attributes, name or first comment ([scan] skip_generated)",
    "minified": "lines too long for people to read ([scan] skip_minified)",
    "language-off": "its language is not in [languages] only",
    "too-large": "larger than [scan] max_file_bytes",
    "lfs-pointer": "a pointer to a file in Git LFS",
    "binary": "not text",
    "undecodable": "text in an unknown encoding",
    "chunker-failed": "the chunker crashed on it or took too long",
    "embedder-refused": "the embedding model permanently refuses one of its chunks",
    "secrets": 'contains a secret ([secrets] action = "skip")',
}

_REASON_OF_KIND: dict[KindOfFile, str] = {"vendored": "vendored", "lock": "lock-file", "generated": "generated"}


@dataclass(frozen=True, slots=True)
class FileTask:
    """The decisions based on a file's path, before the file is read.

    ``skip`` is the reason to skip it, or None if the content decides. ``rules`` is the hash of everything, except the
    blob, that can change the outcome, so equal blobs and rules have equal outcomes. ``wanted`` is set if a pattern with
    ``!`` asks for the file; in that case it is not skipped because of its name or of a marker in it. ``handwritten`` is
    set if an attribute says that no program wrote it, whatever is in it. ``by_lines`` is set after the chunker of its
    language failed on the file.
    """

    path: str
    blob: str
    size: int
    rules: str
    skip: str | None = None
    detail: str = ""
    language: str | None = None
    kind: KindOfFile = "source"
    labels: PathLabels = field(default_factory=PathLabels)
    wanted: bool = False
    handwritten: bool = False
    by_lines: bool = False


class PathRules:
    """The settings and a commit's ignore file as rules for paths, without settings classes, which are slow to load."""

    def __init__(
        self,
        settings: "SettingsModel",
        ignore_lines: Sequence[str] = (),
        allow_lines: Sequence[str] = (),
        unread: Sequence[str] = (),
    ) -> None:
        """Read the rules; raise UsageError for a bad pattern in the settings, LimitExceeded for a huge ignore file.

        ``unread`` are warnings about lists that were not read; ``warnings`` adds those about lines without effect.
        """
        scan = settings.scan
        self._max_file_bytes = scan.max_file_bytes
        self._language_map = dict(settings.languages.map)
        self._languages_on = settings.languages.only
        self._ignore = globs_of_file(IGNORE_FILE, ignore_lines)
        self._exclude = globs_of_setting("[scan] exclude", scan.exclude)
        self._include = globs_of_setting("[scan] include", scan.include, select=True)
        self._labels = [
            (globs_of_setting("[[path_rules]] glob", [r.glob]), PathLabels(r.microservice, r.aggregate, r.tags))
            for r in settings.path_rules
        ]
        self._names_skipped = _names_skipped(scan)
        self.secrets = SecretRules.of(settings.secrets, allow_lines)
        self.warnings = _shortened((*unread, *self._ignore.warnings, *warnings_of_allow_file(ALLOW_FILE, allow_lines)))
        history = settings.history
        self._content_rules = rules_digest(
            (FILE_HISTORY_VERSION, history.file_commits, history.emails) if history.file_commits else None,
            SCANNER_VERSION,
            CHUNKER_VERSION,
            settings.chunking.model_dump_json(),
            scan.skip_generated,
            scan.skip_minified,
            self.secrets.digest,
            *settings.commentary.rules,
        )
        self._plugins = {plugin.language: astuple(plugin) for plugin in installed_plugins()}
        digest = _digest_of_settings(settings, self._content_rules, ignore_lines, tuple(self._plugins.values()))
        self.digest = MASKED + digest if self.secrets.is_on else digest

    def decide(self, entry: TreeEntry, said: PathAttributes = UNSAID) -> FileTask:
        """Return an entry's task, as decided by its path and by what the repository's attributes say about it."""
        wanted, ignored_by = self._asked(entry.path)
        language = self._language(entry.path, said)
        kind = kind_of_path(entry.path, language, said)
        found = self._skip(entry, kind, language, wanted, ignored_by)
        if found:
            reason, detail = found
            return FileTask(entry.path, entry.blob, entry.size, rules_digest(reason), reason, detail, language)
        labels = self._labels_of(entry.path)
        # If the name does not indicate a language, the first line may, and that language may be switched off.
        allowed = self._languages_on if language is None else None
        handwritten, plugins = said.generated is False, self._plugins_for(language)
        rules = rules_digest(self._content_rules, language, allowed, kind, labels, wanted, handwritten, *plugins)
        return FileTask(
            entry.path,
            entry.blob,
            entry.size,
            rules,
            language=language,
            kind=kind,
            labels=labels,
            wanted=wanted,
            handwritten=handwritten,
        )

    def _language(self, path: str, said: PathAttributes) -> str | None:
        """Return the language of a path; the operator's map comes before the attributes of the repository."""
        if said.language and not is_mapped(path, self._language_map) and (named := language_named(said.language)):
            return named
        return language_of(path, mapping=self._language_map)

    def _plugins_for(self, language: str | None) -> tuple[Hashable, ...]:
        """Return the plug-ins that may cut a file; any may if its content decides about its language."""
        if language is None:
            return tuple(self._plugins.values())
        return (self._plugins[language],) if language in self._plugins else ()

    def _asked(self, path: str) -> tuple[bool, str]:
        """Return whether a pattern with ``!`` asks for the path, and the pattern that excludes it, if any."""
        # The settings come first: a repository can't bring back what the operator excluded.
        for globs in (self._exclude, self._ignore):
            verdict = globs.verdict(path)
            if verdict:
                return not verdict.excludes, verdict.line if verdict.excludes else ""
        return False, ""

    def _skip(
        self, entry: TreeEntry, kind: KindOfFile, language: str | None, wanted: bool, ignored_by: str
    ) -> tuple[str, str] | None:
        if entry.mode == SUBMODULE:
            return "submodule", f"commit {entry.blob}"
        if entry.mode == SYMLINK:
            return "symlink", ""
        if len(entry.path) > MAX_PATH_BYTES or len(entry.path.encode()) > MAX_PATH_BYTES:
            return "path-too-long", ""
        if ignored_by:
            return "excluded", ignored_by
        if self._include and not wanted and not self._include.matches(entry.path):
            return "not-included", ""
        reason = None if wanted else self._reason_of_name(entry.path, kind, language)
        if reason:
            return reason, ""
        if entry.size > self._max_file_bytes:
            return "too-large", f"{entry.size} bytes, the limit is {self._max_file_bytes}"
        return None

    def _reason_of_name(self, path: str, kind: KindOfFile, language: str | None) -> str | None:
        reason = _REASON_OF_KIND.get(kind)
        if kind == "vendored" and is_installed(path):
            reason = "installed"
        elif kind == "generated" and is_source_map_name(path):
            reason = "source-map"
        elif kind == "generated" and is_minified_name(path):
            reason = "minified"
        if reason in self._names_skipped:
            return reason
        if self._languages_on and language and language not in self._languages_on:
            return "language-off"
        return None

    def _labels_of(self, path: str) -> PathLabels:
        microservice, aggregate, tags = None, None, []
        for globs, rule in self._labels:
            if globs.matches(path):
                microservice, aggregate = rule.microservice or microservice, rule.aggregate or aggregate
                tags += [tag for tag in rule.tags if tag not in tags]
        return PathLabels(microservice, aggregate, tuple(tags))


def _shortened(warnings: tuple[str, ...]) -> tuple[str, ...]:
    """Return the first warnings and the number of the others: a list may have ten thousand lines without effect."""
    left = len(warnings) - MOST_WARNINGS
    return (*warnings[:MOST_WARNINGS], f"and {left:,} more warnings about such lines") if left > 0 else warnings


def _names_skipped(scan: "ScanSettings") -> frozenset[str]:
    switches = {
        "installed": scan.skip_installed or scan.skip_vendored,
        "vendored": scan.skip_vendored,
        "source-map": True,
        "lock-file": scan.skip_lock_files,
        "generated": scan.skip_generated,
        "minified": scan.skip_minified,
    }
    return frozenset(reason for reason, is_on in switches.items() if is_on)


def _digest_of_settings(
    settings: "SettingsModel", content_rules: str, ignore_lines: Sequence[str], plugins: tuple[Hashable, ...]
) -> str:
    path_rules = [rule.model_dump_json() for rule in settings.path_rules]
    # The settings of the log change no file, but a run must bring the log up to date.
    sections = tuple(section.model_dump_json() for section in (settings.scan, settings.languages, settings.history))
    return rules_digest(GLOBS_VERSION, content_rules, *sections, *path_rules, *ignore_lines, *plugins)


@lru_cache(maxsize=4096)
def rules_digest(*parts: Hashable) -> str:
    """Return the hash of values whose representation is the same in every run, cached because most files share it."""
    return sha256(repr(parts).encode()).hexdigest()[:16]
