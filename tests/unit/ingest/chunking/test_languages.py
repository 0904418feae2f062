"""The table of languages."""

import pytest

from codequarry.ingest.chunking.languages import (
    CONFIG_LANGUAGES,
    GRAMMAR_LANGUAGES,
    LANGUAGES,
    PROSE_LANGUAGES,
    language_of,
)


@pytest.mark.parametrize(
    ("path", "language"),
    [
        ("a.py", "python"),
        ("a.pyi", "python"),
        ("a.js", "javascript"),
        ("a.jsx", "javascript"),
        ("a.mjs", "javascript"),
        ("a.cjs", "javascript"),
        ("a.ts", "typescript"),
        ("a.tsx", "typescript"),
        ("a.d.ts", "typescript"),
        ("a.go", "go"),
        ("a.rs", "rust"),
        ("A.java", "java"),
        ("a.kt", "kotlin"),
        ("build.gradle.kts", "kotlin"),
        ("a.scala", "scala"),
        ("a.c", "c"),
        ("a.h", "c"),
        ("a.cc", "c++"),
        ("a.hpp", "c++"),
        ("a.cs", "c#"),
        ("a.rb", "ruby"),
        ("a.php", "php"),
        ("a.swift", "swift"),
        ("a.sh", "shell"),
        ("a.bash", "shell"),
        ("a.md", "markdown"),
        ("a.MD", "markdown"),
        ("a.rst", "restructuredtext"),
        ("a.adoc", "asciidoc"),
        ("a.yml", "yaml"),
        ("a.yaml", "yaml"),
        ("a.json", "json"),
        ("a.toml", "toml"),
        ("a.ini", "ini"),
        ("a.properties", "properties"),
        ("a.sql", "sql"),
        ("a.html", "html"),
        ("a.css", "css"),
        ("a.xml", "xml"),
        ("a.svg", "svg"),
        ("a.txt", "text"),
        ("view.blade.php", "blade"),
        ("deep/folder/Makefile", "makefile"),
        ("Dockerfile", "dockerfile"),
        ("Dockerfile.prod", "dockerfile"),
        ("CMakeLists.txt", "cmake"),
        ("requirements.txt", "pip requirements"),
        ("Gemfile", "ruby"),
        ("Jenkinsfile", "groovy"),
        (".gitignore", "ignore list"),
        (".bashrc", "shell"),
        (".env.example", "dotenv"),
        ("go.mod", "go module"),
        ("LICENSE", "text"),
        ("README", "text"),
        ("tsconfig.json", "json with comments"),
        ("a.unknown", None),
        ("noextension", None),
        (".hidden", None),
        ("", None),
        ("folder.py/noextension", None),
    ],
)
def test_a_path_determines_the_language(path, language):
    assert language_of(path) == language


@pytest.mark.parametrize(
    ("first_line", "language"),
    [
        ("#!/bin/sh", "shell"),
        ("#!/usr/bin/env bash", "shell"),
        ("#!/usr/bin/env -S python3 -u", "python"),
        ("#! /usr/bin/python3.12", "python"),
        ("#!/usr/bin/env node", "javascript"),
        ("#!/usr/bin/env NODE_ENV=production node", "javascript"),
        ("#!/usr/bin/perl -w", "perl"),
        ("#!/opt/unknown", None),
        ("#!", None),
        ("print(1)", None),
    ],
)
def test_a_shebang_determines_the_language_if_the_path_does_not(first_line, language):
    assert language_of("tool", first_line) == language


def test_the_path_overrides_the_shebang():
    assert language_of("tool.rb", "#!/bin/sh") == "ruby"


def test_a_mapping_by_name_or_extension_overrides_everything():
    mapping = {".inc": "PHP", "TOOL": "python", ".html.inc": "html"}
    assert language_of("a.inc", mapping=mapping) == "php"
    assert language_of("a.html.inc", mapping=mapping) == "html"
    assert language_of("Tool", "#!/bin/sh", mapping) == "python"


def test_the_sets_contain_only_known_languages():
    assert GRAMMAR_LANGUAGES <= LANGUAGES
    assert CONFIG_LANGUAGES <= LANGUAGES
    assert PROSE_LANGUAGES <= LANGUAGES


def test_ids_are_lower_case():
    assert all(language == language.lower() for language in LANGUAGES)
