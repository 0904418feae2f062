import re
from dataclasses import replace
from pathlib import Path

import pytest

from codequarry.ingest.chunking.source_file import PathLabels
from codequarry.ingest.files.attributes import PathAttributes
from codequarry.ingest.files.read_file import ReadingRules
from codequarry.ingest.files.reader import judge
from codequarry.ingest.files.scan import SKIP_REASONS, PathRules
from codequarry.ingest.git.trees import SUBMODULE, SYMLINK, TreeEntry
from codequarry.ingest.secrets.policy import SecretRules
from codequarry.shared.errors import UsageError
from codequarry.shared.settings.config import (
    ChunkingSettings,
    LanguageSettings,
    PathRule,
    ScanSettings,
    SettingsModel,
)

BLOB = "b" * 40
RULES = ReadingRules.of("r", SettingsModel(), SecretRules())


def entry(path: str, mode: str = "100644", size: int = 10) -> TreeEntry:
    return TreeEntry(path, mode, BLOB, size)


def decide(path: str, *ignore: str, size: int = 10, mode: str = "100644", **sections: object):
    return PathRules(SettingsModel(**sections), ignore).decide(entry(path, mode, size))


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("src/app.py", None),
        ("node_modules/a/index.js", "installed"),
        ("Pods/A/a.swift", "installed"),
        ("Cargo.lock", "lock-file"),
        ("dist/app.js.map", "source-map"),
        ("vendor/lib.go", None),
        ("x.pb.go", None),
        ("app.min.js", None),
        ("image.png", None),  # decided by its content
    ],
)
def test_files_are_skipped_by_name(path, reason):
    assert decide(path).skip == reason


def test_links_and_submodules_are_never_followed():
    assert decide("link", mode=SYMLINK).skip == "symlink"
    assert decide("sub", mode=SUBMODULE).skip == "submodule"


def test_a_large_blob_is_skipped_without_reading_it():
    task = decide("dump.sql", size=200_000_000)
    assert task.skip == "too-large"
    assert "200000000 bytes, the limit is 1000000" in task.detail


def test_each_rule_for_names_can_be_switched_off():
    names = {
        "vendor/lib.go": "vendored", "Cargo.lock": "lock-file", "x.pb.go": "generated", "app.min.js": "minified",
        "node_modules/a.js": "installed",
    }  # fmt: skip
    rules = ("skip_generated", "skip_vendored", "skip_minified", "skip_lock_files", "skip_installed")
    on, off = (ScanSettings(**dict.fromkeys(rules, value)) for value in (True, False))
    for path, reason in names.items():
        assert decide(path, scan=on).skip == reason
        assert decide(path, scan=off).skip is None
    assert decide("dist/app.js.map", scan=ScanSettings(exclude=("!*.map",))).skip is None


def said(path: str, attributes: PathAttributes, **sections: object):
    return PathRules(SettingsModel(**sections)).decide(entry(path), attributes)


def test_attributes_of_the_repository_come_before_names():
    scan = ScanSettings(skip_generated=True, skip_vendored=True)
    assert said("a.pb.go", PathAttributes(generated=False), scan=scan).skip is None
    assert said("a.go", PathAttributes(generated=True), scan=scan).skip == "generated"
    assert said("vendor/a.go", PathAttributes(vendored=False), scan=scan).skip is None
    assert said("lib/a.go", PathAttributes(vendored=True), scan=scan).skip == "vendored"
    assert said("node_modules/a.js", PathAttributes(vendored=False)).skip is None
    assert said("lib/a.go", PathAttributes(documentation=True)).kind == "docs"
    assert said("docs/README.md", PathAttributes(documentation=False)).kind == "source"
    assert said("package-lock.json", PathAttributes(generated=False)).skip == "lock-file", "GitHub then shows its diff"


def test_an_attribute_says_that_no_program_wrote_a_file_whatever_it_says_itself():
    task = said("a.py", PathAttributes(generated=False))
    assert judge(task, b"# @generated\nx = 1\n", RULES).pieces[0].chunk.kind_of_file == "source"


def test_attributes_name_the_language_unless_the_operator_does():
    assert said("a.inc", PathAttributes(language="PHP")).language == "php"
    assert said("a.h", PathAttributes(language="C++")).language == "c++"
    assert said("a.h", PathAttributes(language="cpp")).language == "c++"
    assert said("a.json", PathAttributes(language="JSON-with-Comments")).language == "json with comments"
    assert said("a.h", PathAttributes(language="Klingon")).language == "c"
    mapped = LanguageSettings(map={".h": "objective-c"})
    assert said("a.h", PathAttributes(language="C++"), languages=mapped).language == "objective-c"


def test_only_files_that_an_attribute_concerns_get_other_rules():
    plain = decide("a.go").rules
    assert said("a.go", PathAttributes()).rules == plain
    for attributes in (PathAttributes(generated=True), PathAttributes(generated=False), PathAttributes(language="c")):
        assert said("a.go", attributes).rules != plain


def test_patterns_of_the_settings_exclude_and_include_as_in_gitignore():
    scan = ScanSettings(exclude=("*.sql", "!keep.sql", "/build/"), include=("src/", "*.sql", "/build/"))
    assert decide("src/a.py", scan=scan).skip is None
    assert decide("a.sql", scan=scan).skip == "excluded"
    assert decide("a.sql", scan=scan).detail == "*.sql"
    assert decide("keep.sql", scan=scan).skip is None
    assert decide("build/x", scan=scan).skip == "excluded"
    assert decide("other/a.py", scan=scan).skip == "not-included"


def test_the_ignore_file_of_the_repository_excludes_and_includes_files():
    ignore, scan = ("# comment", "", "docs/", "!vendor/ours/", "not a [pattern\\"), ScanSettings(skip_vendored=True)
    assert decide("docs/a.md", *ignore).skip == "excluded"
    assert decide("vendor/theirs/a.go", *ignore, scan=scan).skip == "vendored"
    wanted = decide("vendor/ours/a.go", *ignore, scan=scan)
    assert wanted.skip is None
    assert wanted.wanted
    assert decide("vendor/ours/a.go", *ignore, size=2_000_000).skip == "too-large"


def test_an_invalid_pattern_in_the_settings_is_named():
    with pytest.raises(UsageError, match=r"\[scan\] exclude: 'a\\' is not a valid"):
        decide("a", scan=ScanSettings(exclude=("ok", "a\\")))


def test_languages_are_switched_off_by_name_or_by_first_line():
    only = LanguageSettings(only=("python",))
    assert decide("a.go", languages=only).skip == "language-off"
    assert decide("a.py", languages=only).skip is None
    unknown = decide("script", languages=only)
    assert unknown.skip is None
    rules = ReadingRules.of("r", SettingsModel(languages=only), SecretRules())
    assert judge(unknown, b"#!/bin/sh\nls\n", rules).verdict == "language-off"
    assert judge(unknown, b"#!/usr/bin/env python3\nx = 1\n", rules).verdict == "indexed"


def test_path_rules_add_their_tags_and_the_last_value_wins():
    rules = (
        PathRule(glob="services/**", microservice="any", tags=("service",)),
        PathRule(glob="services/loans/", microservice="loans", aggregate="Loan", tags=("money", "service")),
        PathRule(glob="*.sql", tags=("sql",)),
    )
    assert decide("services/loans/a.py", path_rules=rules).labels == PathLabels("loans", "Loan", ("service", "money"))
    assert decide("services/x.sql", path_rules=rules).labels == PathLabels("any", None, ("service", "sql"))
    assert decide("main.py", path_rules=rules).labels == PathLabels()


@pytest.mark.parametrize(
    "sections",
    [
        {"chunking": ChunkingSettings(target_tokens=100)},
        {"scan": ScanSettings(skip_generated=True)},
        {"path_rules": (PathRule(glob="*", tags=("t",)),)},
        {"languages": LanguageSettings(map={".py": "ruby"})},
        {"scan": ScanSettings(exclude=("*.py",))},
        {"scan": ScanSettings(max_file_bytes=5)},
    ],
)
def test_settings_that_concern_a_file_change_its_rules_hash(sections):
    assert decide("a.py", **sections).rules != decide("a.py").rules


@pytest.mark.parametrize(
    "sections",
    [
        {"scan": ScanSettings(exclude=("*.go",))},
        {"scan": ScanSettings(max_file_bytes=50)},
        {"languages": LanguageSettings(only=("python",))},
        {"languages": LanguageSettings(map={".go": "ruby"})},
        {"path_rules": (PathRule(glob="*.go", tags=("t",)),)},
    ],
)
def test_other_settings_keep_the_hash_of_a_file_and_change_the_digest(sections):
    assert decide("a.py", **sections).rules == decide("a.py").rules
    assert PathRules(SettingsModel(**sections)).digest != PathRules(SettingsModel()).digest


def test_new_rules_for_patterns_change_the_digest_but_not_the_rules_of_files(monkeypatch):
    """So every version is evaluated again, but only files whose verdict changes are read."""
    before, of_file = PathRules(SettingsModel(), ["*.log"]).digest, decide("a.py", "*.log").rules
    monkeypatch.setattr("codequarry.ingest.files.scan.GLOBS_VERSION", 99)
    assert PathRules(SettingsModel(), ["*.log"]).digest != before
    assert decide("a.py", "*.log").rules == of_file


def test_a_blob_as_file_and_as_link_has_different_hashes():
    assert decide("a", mode=SYMLINK).rules != decide("a").rules
    assert decide("a", mode="100755") == decide("a")


@pytest.mark.parametrize(
    ("path", "data", "verdict"),
    [
        ("a.py", b"x = 1\n", "indexed"),
        ("a.py", b"", "indexed"),
        ("a.py", b"# Generated by x. DO NOT EDIT.\n", "indexed"),
        ("a.js", b"a=1;" * 5000, "indexed"),
        ("a.png", b"\x89PNG\x00", "binary"),
        ("a.py", "größe\n".encode() + b"\xff\n", "indexed"),
        ("a.py", b"\xff\xfe" + b"\x00\xd8" * 9, "undecodable"),
        ("a.bin", b"version https://git-lfs.github.com/spec/v1\n", "lfs-pointer"),
    ],
)
def test_the_content_decides_the_rest(path, data, verdict):
    file = judge(decide(path), data, RULES)
    assert file.verdict == verdict
    assert verdict in {*SKIP_REASONS, "indexed"}
    assert bool(file.pieces) == (verdict == "indexed" and bool(data))


@pytest.mark.parametrize(
    ("path", "data", "reason"),
    [
        ("gen/a.py", b"# Generated by x. DO NOT EDIT.\nx = 1\n", "generated"),
        ("gen/a.js", b"a=1;" * 5000, "minified"),
    ],
)
def test_what_a_program_wrote_is_skipped_only_by_setting_and_unless_the_ignore_file_asks_for_it(path, data, reason):
    scan = ScanSettings(skip_generated=True, skip_minified=True)
    rules = ReadingRules.of("r", SettingsModel(scan=scan), SecretRules())
    assert judge(decide(path, scan=scan), data, rules).verdict == reason
    assert judge(decide(path, "!gen/", scan=scan), data, rules).verdict == "indexed"
    assert judge(decide(path), data, RULES).verdict == "indexed"


@pytest.mark.parametrize(
    ("path", "data"),
    [
        ("a.py", b"# @generated\nx = 1\n"),
        ("a.js", b"a=1;" * 5000),
        ("a.min.js", b"a=1\n"),
        ("tests/a_pb2.py", b"x = 1\n"),
    ],
)
def test_generated_and_minified_code_is_marked_and_weighs_less(path, data):
    assert judge(decide(path), data, RULES).pieces[0].chunk.kind_of_file == "generated"


def test_vendored_code_stays_vendored_if_a_program_wrote_it():
    assert judge(decide("vendor/a.go"), b"// @generated\n", RULES).pieces[0].chunk.kind_of_file == "vendored"


def test_chunks_have_labels_and_encoding_of_their_file():
    task = replace(decide("svc/a.py"), labels=PathLabels("svc", "Loan", ("t",)))
    chunk = judge(task, "x = 'gr\xf6\xdfe'\n".encode("cp1252"), RULES).pieces[0].chunk
    assert (chunk.repo, chunk.path, chunk.blob, chunk.language) == ("r", "svc/a.py", BLOB, "python")
    assert (chunk.microservice, chunk.aggregate, chunk.tags) == ("svc", "Loan", ("t",))
    assert chunk.encoding == "cp1252"


@pytest.mark.parametrize(("data", "lines"), [(b"", 0), (b"a", 1), (b"a\n", 1), (b"a\nb", 2), (b"\n\n", 2)])
def test_lines_are_counted_as_editors_do(data, lines):
    assert judge(decide("a.txt"), data, RULES).lines == lines


def test_the_documentation_lists_every_reason():
    page = (Path(__file__).parents[4] / "docs" / "versioned-index.md").read_text()
    documented = dict(re.findall(r"^\| `([a-z-]+)` \| (.+) \|$", page, re.M))
    assert {reason: meaning.replace("`", "") for reason, meaning in documented.items()} == SKIP_REASONS
