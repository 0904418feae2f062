"""Reads the comments at the top of a file, before any code, by the comment syntax of its language."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

# Several licences fit into this; generators write their marker next to them.
MOST_CHARACTERS = 10_000


@dataclass(frozen=True, slots=True)
class CommentSyntax:
    """How comments begin and end: ``lines`` open a comment of one line, ``blocks`` are openers with their closers."""

    lines: tuple[str, ...] = ()
    blocks: tuple[tuple[str, str], ...] = ()


_C_BLOCK, _MARKUP = ("/*", "*/"), ("<!--", "-->")
_SLASHES = CommentSyntax(("//",), (_C_BLOCK,))
_HASHES = CommentSyntax(("#",))
_ELEMENTS = CommentSyntax((), (_MARKUP,))
# What most languages use. A heading of Markdown or a directive of C also begins with a hash, so neither is here.
_ANY = CommentSyntax(("//", "#", "--", ";", "%"), (_C_BLOCK, _MARKUP))

_LANGUAGES_BY_SYNTAX = {
    _SLASHES: "c c++ c# java javascript typescript go rust kotlin scala groovy swift dart objective-c objective-c++ "
    "solidity zig less scss sass css stylus thrift jsonnet cue bicep json5 protocol_buffer json_with_comments verilog "
    "systemverilog glsl hlsl cuda metal d haxe v smithy avro_idl move wgsl",
    _HASHES: "python ruby shell fish perl r yaml toml makefile dockerfile elixir julia cmake starlark graphql tcl awk "
    "crystal nim raku pip_requirements gherkin dotenv git_attributes ignore_list codeowners just meson robotframework "
    "gettext_catalog nginx apacheconf coffeescript gdscript",
    _ELEMENTS: "html xml svg markdown vue svelte astro html+erb html+django blade",
    CommentSyntax(("//", "#"), (_C_BLOCK,)): "php hcl nix puppet",
    CommentSyntax(("#",), (("<#", "#>"),)): "powershell",
    CommentSyntax(("--",), (_C_BLOCK,)): "sql plsql",
    CommentSyntax(("--",), (("{-", "-}"),)): "haskell elm purescript dhall idris agda",
    CommentSyntax(("--",), (("--[[", "]]"),)): "lua",
    CommentSyntax(("--",)): "ada vhdl",
    CommentSyntax(("#", ";", "!")): "ini properties",
    CommentSyntax((";",)): "clojure common_lisp emacs_lisp scheme racket fennel llvm",
    CommentSyntax((";", "#", "//", "@"), (_C_BLOCK,)): "assembly",
    CommentSyntax(("%",)): "erlang tex matlab prolog",
    CommentSyntax((), (("(*", "*)"),)): "ocaml f# standard_ml coq",
    CommentSyntax(("//",), (_C_BLOCK, ("{", "}"), ("(*", "*)"))): "pascal",
    CommentSyntax((".. ",)): "restructuredtext",
    CommentSyntax(("//",)): "asciidoc",
    CommentSyntax(('"',)): "vim_script",
    CommentSyntax(("!", "c ", "C ")): "fortran",
    CommentSyntax(("rem ", "REM ", "::", "@rem ")): "batchfile",
    CommentSyntax(("'",)): "visual_basic_.net vba",
}
_SYNTAX_BY_LANGUAGE: Mapping[str, CommentSyntax] = MappingProxyType(
    {
        language.replace("_", " "): syntax
        for syntax, languages in _LANGUAGES_BY_SYNTAX.items()
        for language in languages.split()
    }
)

# Lines that may precede the first comment: an interpreter, a document type, a pragma for the reader of the file.
_PREAMBLE = re.compile(
    r"#!|<\?(?:xml|php)\b|<!doctype\b|<html\b|<head\b|%yaml\b|---\s*$|@echo off\b|['\"]use strict['\"]|@charset\b", re.I
)


def leading_comment(text: str, language: str) -> list[str]:
    """Return the lines of the comments before the first line of code, comment marks included."""
    syntax = _SYNTAX_BY_LANGUAGE.get(language, _ANY)
    found: list[str] = []
    closer = ""
    for line in text[:MOST_CHARACTERS].removeprefix("\ufeff").split("\n"):
        stripped = line.strip()
        if closer:
            found.append(line)
            closer = "" if closer in line else closer
        elif opened := next((block for block in syntax.blocks if stripped.startswith(block[0])), None):
            found.append(line)
            closer = "" if opened[1] in stripped[len(opened[0]) :] else opened[1]
        elif stripped and not _PREAMBLE.match(stripped):
            if not stripped.startswith(syntax.lines or ("\0",)):
                break
            found.append(line)
        else:
            found.append("")
    return found
