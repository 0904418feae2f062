"""Which files count, and why the others don't: every skipped file keeps one of the reasons below."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from hashlib import sha256
from pathlib import PurePosixPath

from pathspec import GitIgnoreSpec
from pathspec.patterns.gitignore import GitIgnorePatternError

from codequarry.ingest.chunking.core import CHUNKER_VERSION
from codequarry.ingest.git import SUBMODULE, SYMLINK, TreeEntry
from codequarry.ingest.kinds import GENERATED_NAME, LOCK_FILES, MINIFIED_NAME, kind_of_path
from codequarry.ingest.languages import language_of
from codequarry.ingest.source import PathLabels
from codequarry.shared.config import SettingsModel
from codequarry.shared.errors import UsageError
from codequarry.shared.model import KindOfFile

# Part of every rules hash: raise it when the rules of this file, kinds.py or content.py change.
SCANNER_VERSION = 1
IGNORE_FILE = ".codequarryignore"

SKIP_REASONS: dict[str, str] = {
    "submodule": "a commit of another repository, not a file",
    "symlink": "a symbolic link; links are never followed",
    "excluded": "fits [scan] exclude or the repository's .codequarryignore",
    "not-included": "fits none of the patterns of [scan] include",
    "vendored": "lies in a folder of other people's code ([scan] skip_vendored)",
    "lock-file": "written by a package manager ([scan] skip_lock_files)",
    "generated": "written by a program, by its name or by a marker at its top ([scan] skip_generated)",
    "minified": "lines that no person reads ([scan] skip_minified)",
    "language-off": "its language is not in [languages] only",
    "too-large": "more bytes than [scan] max_file_bytes",
    "lfs-pointer": "stands for a file in Git LFS",
    "binary": "not text",
    "undecodable": "text in no encoding that could be told",
    "chunker-failed": "the chunker crashed on it or took too long",
    "embedder-refused": "the embedding model refuses one of its chunks for good",
}


@dataclass(frozen=True, slots=True)
class FileTask:
    """What its path decides about a file, before anyone reads it.

    ``skip`` is the reason where the path is enough, else None: then the content decides. ``rules`` is the hash of all
    but the blob that can change the outcome, so an equal blob and equal rules mean an equal outcome. ``wanted`` is
    set where .codequarryignore names the file with ``!``: then no rule but its size skips it.
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


class PathRules:
    """The settings and a commit's ignore file as one decision a path."""

    def __init__(self, settings: SettingsModel, ignore_lines: Sequence[str] = ()) -> None:
        scan = settings.scan
        self._scan = scan
        self._languages = settings.languages
        self._ignore = _spec(filter(_is_pattern, ignore_lines))
        self._exclude = _spec_of_setting("[scan] exclude", scan.exclude)
        self._include = _spec_of_setting("[scan] include", scan.include)
        self._labels = [(_spec_of_setting("[[path_rules]] glob", [rule.glob]), rule) for rule in settings.path_rules]
        self._content_rules = _digest(
            SCANNER_VERSION,
            CHUNKER_VERSION,
            settings.chunking.model_dump(),
            (scan.skip_generated, scan.skip_minified),
        )
        self.digest = _digest(
            self._content_rules,
            scan.model_dump(),
            settings.languages.model_dump(),
            [rule.model_dump() for rule in settings.path_rules],
            list(ignore_lines),
        )

    def decide(self, entry: TreeEntry) -> FileTask:
        """Decide what a path alone can decide."""
        wanted, ignored_by = self._asked(entry.path)
        language = language_of(entry.path, mapping=self._languages.map)
        found = self._skip(entry, language, wanted, ignored_by)
        if found:
            reason, detail = found
            return FileTask(
                entry.path, entry.blob, entry.size, _digest(reason), skip=reason, detail=detail, language=language
            )
        kind, labels = kind_of_path(entry.path, language), self._labels_of(entry.path)
        # Where the name does not tell the language, the first line may, and then it can still be switched off.
        allowed = self._languages.only if language is None else None
        rules = _digest(self._content_rules, language, allowed, kind, asdict(labels), wanted)
        return FileTask(
            entry.path, entry.blob, entry.size, rules, language=language, kind=kind, labels=labels, wanted=wanted
        )

    def _asked(self, path: str) -> tuple[bool, str]:
        """Return whether the ignore file wants the path by ``!``, and the pattern that leaves it out, if one does."""
        for spec in (self._ignore, self._exclude):
            verdict = spec.check_file(path) if spec else None
            if verdict and verdict.include is not None:
                assert spec is not None and verdict.index is not None
                return not verdict.include, str(spec.patterns[verdict.index].pattern) if verdict.include else ""
        return False, ""

    def _skip(self, entry: TreeEntry, language: str | None, wanted: bool, ignored_by: str) -> tuple[str, str] | None:
        if entry.mode == SUBMODULE:
            return "submodule", f"commit {entry.blob}"
        if entry.mode == SYMLINK:
            return "symlink", ""
        if ignored_by:
            return "excluded", ignored_by
        if self._include and not wanted and not self._include.match_file(entry.path):
            return "not-included", ""
        reason = None if wanted else self._reason_of_name(entry.path, language)
        if reason:
            return reason, ""
        if entry.size > self._scan.max_file_bytes:
            return "too-large", f"{entry.size} bytes, the limit is {self._scan.max_file_bytes}"
        return None

    def _reason_of_name(self, path: str, language: str | None) -> str | None:
        name = PurePosixPath(path).name.lower()
        if self._scan.skip_vendored and kind_of_path(path) == "vendored":
            return "vendored"
        if self._scan.skip_lock_files and name in LOCK_FILES:
            return "lock-file"
        if self._scan.skip_minified and MINIFIED_NAME.search(name):
            return "minified"
        if self._scan.skip_generated and GENERATED_NAME.search(path.lower()):
            return "generated"
        if self._languages.only and language and language not in self._languages.only:
            return "language-off"
        return None

    def _labels_of(self, path: str) -> PathLabels:
        microservice, aggregate, tags = None, None, []
        for spec, rule in self._labels:
            if spec and spec.match_file(path):
                microservice, aggregate = rule.microservice or microservice, rule.aggregate or aggregate
                tags += [tag for tag in rule.tags if tag not in tags]
        return PathLabels(microservice, aggregate, tuple(tags))


def _spec(lines: Iterable[str]) -> GitIgnoreSpec | None:
    spec = GitIgnoreSpec.from_lines(lines)
    return spec if len(spec) else None


def _spec_of_setting(setting: str, patterns: Iterable[str]) -> GitIgnoreSpec | None:
    wrong = next((pattern for pattern in patterns if not _is_pattern(pattern)), None)
    if wrong is not None:
        raise UsageError(f"{setting}: '{wrong}' is no pattern as in .gitignore")
    return _spec(patterns)


def _is_pattern(line: str) -> bool:
    """Tell whether a line is a pattern; git passes over those that are not."""
    try:
        GitIgnoreSpec.from_lines([line])
    except GitIgnorePatternError:
        return False
    return True


def _digest(*parts: object) -> str:
    return sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:16]
