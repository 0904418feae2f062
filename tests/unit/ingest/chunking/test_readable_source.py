"""Code that grammars can't read is replaced before the parse, so that the definitions around it are found."""

from collections.abc import Callable

import pytest

from codequarry.ingest.chunking.chunker import chunk_file
from codequarry.ingest.chunking.languages import language_of
from codequarry.ingest.chunking.pieces import Sizes
from codequarry.ingest.chunking.readable_source import (
    readable_csharp,
    readable_make,
    readable_objc,
    readable_perl,
    readable_powershell,
    readable_scss,
    readable_shell,
    without_macros,
)
from codequarry.ingest.chunking.source_file import SourceFile

SIZES = Sizes(350, 800, 80)
FILES = {
    "Makefile": (
        "A = $(shell perl -e 'print \"x\" (and more)')\nB?= (\n"
        "ifdef X\n\tC = 1\nendif\ntest: D=1\ntest:\n\techo E = 1\n",
        {"A", "B", "C", "D", "test"},
    ),
    "a.m": (
        "NS_ASSUME_NONNULL_BEGIN\n@interface A () {\n    long _b;\n}\n"
        "@property (atomic, copy, nullable) NSString *c;\n@property (copy) void (^d)(int);\n"
        "- (E * _Nullable)f:(G * _Nonnull)g API_AVAILABLE(ios(10));\n@end\n"
        "NS_ASSUME_NONNULL_END\n@implementation A\nstatic char h;\n- (void)i {\n}\n@end\n",
        {"A", "_b", "c", "d", "f", "h", "i"},
    ),
    "a.scss": (
        '@use "x" as y;\n$a: 1 !default;\n$b: (\n  "c": (d: 1),\n);\n'
        '@mixin e {\n  @include y.f(\n    "g": 1\n  );\n}\n$h: 1;\n',
        {"$a", "$b", "e", "$h"},
    ),
    "a.zsh": ("(( $+functions[_a] )) ||\nb() {\n  echo\n}\n", {"b"}),
    "a.cs": ("interface A {\n    void B(string c, params object?[]? d);\n    void E(int[]? f);\n}\n", {"A", "B", "E"}),
    "a.cc": (
        "namespace n {\nclass API_ [[nodiscard]] B {\n  int c GUARDED_BY(d_);\n  void e() LOCKS_EXCLUDED(d_) { }\n};\n"
        "int* f = nullptr;\n#if X\nint g = 1;\nvoid h() {\n#if Y\n  int i;\n#endif\n}\n#endif\n}\nint B::j;\n",
        {"B", "c", "e", "f", "g", "h", "j"},
    ),
    "a.h": ("typedef void* (*a)(void* b);\nint (c)(int d);\n", {"a", "c"}),
    "a.jl": (
        "@kwdef struct A\n    b::Int = 1\n    c::Int & (d=1,)\n    A{K}() where {K} = new()\nend\n",
        {"A", "b", "c"},
    ),
    "a.rb": (
        "class A\n  attr_accessor :b, :c\n  alias_method :d, :e\n  define_method(:f) { }\n  g :h\nend\n",
        {"A", "b", "c", "d", "f"},
    ),
    "a.ps1": ("function script:Get-A {\n  B\n}\nfilter global:C { 1 }\n", {"Get-A", "C"}),
    "a.r": (
        'A <- R6::R6Class("A", public = list(\n  b = NULL,\n  c = function() 1\n), private = list(d = 1))\nf(e = 1)\n',
        {"A", "b", "c", "d"},
    ),
    "a.js": (
        "(function() {\n  var a = 1;\n  function b() {\n    var c;\n  }\n})();\nlet d;\nd = function e() {};\n"
        "f({ 'g-h': function() {} });\n",
        {"a", "b", "d", "e", "g-h"},
    ),
    "a.ts": (
        "class A {\n  constructor(private b: B, public readonly c = 1, d: D) {}\n}\n",
        {"A", "constructor", "b", "c"},
    ),
    "a.pl": (
        "package A;\nuse constant { B => 1, C => 2 };\nhas 'd';\nour $e = 1;\nsub f { my $g = 1 }\n*h = sub { 1 };\n",
        {"A", "B", "C", "d", "e", "f", "h"},
    ),
    "a.py": ("try:\n    A = 1\nexcept E:\n    A = 2\nif x:\n    B = 1\nelse:\n    C = 2\n", {"A", "B", "C"}),
}


@pytest.mark.parametrize("path", FILES)
def test_definitions_around_unreadable_code_are_found(path: str) -> None:
    """Exactly these names are defined, and none of what is local."""
    source, names = FILES[path]
    chunks = chunk_file(SourceFile("r", path, "b", language_of(path) or "", source), SIZES)
    assert {name for chunk in chunks for name in chunk.defines} == names


@pytest.mark.parametrize(
    "replace",
    [
        readable_make,
        readable_objc,
        readable_perl,
        readable_powershell,
        readable_scss,
        readable_shell,
        readable_csharp,
        without_macros,
    ],
)
@pytest.mark.parametrize(
    "source", [*(source for source, _ in FILES.values()), "", "a = (\\", "x: y\n\tz = (", "(\n", "$"]
)
def test_replaced_code_has_the_same_places(replace: Callable[[bytes], bytes], source: str) -> None:
    """Rows and offsets must stay the same, because chunks are cut from the original text."""
    data = source.encode()
    replaced = replace(data)
    assert [len(row) for row in replaced.split(b"\n")] == [len(row) for row in data.split(b"\n")]


def test_a_comment_at_the_end_of_perl_code_does_not_hang_the_grammar() -> None:
    """The fuzzer found this: after the error, the grammar did not return. Without line feed, the comment is blank."""
    assert readable_perl(b".=cut # a") == b".=cut    "
    (chunk,) = chunk_file(SourceFile("r", "a.pl", "b", "perl", ".=cut # a"), SIZES)
    assert chunk.text == ".=cut # a"
