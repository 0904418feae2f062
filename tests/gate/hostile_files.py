"""Files that break parsers, decoders and counters of lines, by path; each is text unless its name says otherwise."""

LARGE = 300_000


def _deep(opener: str, size: int = LARGE) -> bytes:
    return (opener * (size // len(opener))).encode()


def _wide(word: str, separator: str, size: int = 900_000) -> bytes:
    return (separator.join([word] * (size // (len(word) + len(separator))))).encode()


# Line ends: only a line feed ends a line, as in git.
LINE_ENDS = {
    "ends/cr.py": b"def needle_in_cr():\r    return 1\r" * 9_000,
    "ends/crlf.py": b"first = 1\r\n\r\ndef needle_in_crlf():\r\n    return 1\r\n",
    "ends/mixed.py": b"a = 1\r\nb = 2\nc = 3\rd = 4\n\r\n\n\rdef needle_in_mixed():\n    return 1\r\n",
    "ends/lfcr.py": b"a = 1\n\rdef needle_in_lfcr():\n\r    return 1\n\r",
    "ends/separators.js": "var a = 'x\u2028y\u2029z';\nfunction needle_separated() {\n  return 1;\n}\n".encode(),
    "ends/next_line.py": "a = 'x\x85y'\ndef needle_next_line():\n    return 1\n".encode(),
    "ends/form_feed.py": b"a = 1\n\f\ndef needle_form_feed():\n    return '\x0b\x1c\x1d\x1e'\n",
    "ends/none.py": b"def needle_without_end(): return 1",
    "ends/only.txt": b"\n" * LARGE,
    "ends/only_cr.txt": b"\r" * LARGE,
    "ends/blank.py": b" \t" * 100_000 + b"\n" + b" \n" * 50_000,
    "ends/empty.py": b"",
}
ENCODINGS = {
    "encodings/bom.py": b"\xef\xbb\xbfdef needle_after_bom():\n    return 1\n",
    "encodings/only_bom.py": b"\xef\xbb\xbf",
    "encodings/utf16.cs": "class NeedleWide {\r\n  int größe;\r\n}\r\n".encode("utf-16"),
    "encodings/utf16be.rc": b"\xfe\xff" + "STRINGTABLE\r\nneedle_big_endian\r\n".encode("utf-16-be"),
    "encodings/utf16_bare.rc": "STRINGTABLE\r\nBEGIN\r\nneedle_without_bom\r\nEND\r\n".encode("utf-16-le"),
    "encodings/utf32.txt": "needle of four bytes\n".encode("utf-32"),
    "encodings/latin1.c": "/* größer */\nint needle_latin(void) { return 1; }\n".encode("latin-1"),
    "encodings/sjis.c": ("// これは日本語のコメントです。テスト\n" * 9 + "int needle_kanji;\n").encode("cp932"),
    "encodings/damaged.py": "# größe, maß\n".encode() * 9
    + b"# \xff\xc3\n"
    + b"def needle_in_damage():\n    return 1\n",
    "encodings/two.py": "# größer\n".encode("latin-1") * 9 + "# größer\ndef needle_in_two(): return 1\n".encode(),
    "encodings/surrogates.py": b"# \xed\xa0\x80\xed\xb0\x80\ndef needle_surrogate():\n    return 1\n"
    + b"# text\n" * 99,
    "encodings/overlong.py": b"# \xc0\xaf\ndef needle_overlong():\n    return 1\n" + b"# text\n" * 99,
    "encodings/nul.c": b"int needle_beside_nul(void) { return 1; }\n" * 20 + b'char *a = "\0";\n' + b"int b;\n",
    "encodings/wide.py": "def needle_wide():\n    return '😀名é\u202e\u200b\ufeff'\n".encode(),
}
DEEP = {
    "deep/brackets.json": _deep("["), "deep/objects.json": _deep('{"a":'), "deep/lines.json": _deep('{"a":[\n'),
    "deep/elements.xml": _deep("<a>"), "deep/lines.xml": _deep("<a b='c'>\n"), "deep/elements.html": _deep("<div><b>"),
    "deep/lines.html": _deep("<div>\n"), "deep/expression.py": b"x = " + _deep("(") + b"\n",
    "deep/lambda.py": b"x = " + _deep("lambda: ") + b"1\n", "deep/not.py": b"x = " + _deep("not ") + b"1\n",
    "deep/sum.py": b"x = " + _deep("1+") + b"1\n", "deep/calls.py": _deep("f(\n"), "deep/blocks.py": b"".join(
        b" " * depth + b"if a:\n" for depth in range(700)), "deep/chain.js": b"a" + _deep(".b()") + b";\n",
    "deep/arrows.js": _deep("a => "), "deep/templates.js": _deep("`${"), "deep/generics.cpp": _deep("a<"),
    "deep/macros.c": b"".join(b"#define A%d A%d A%d\n" % (at, at + 1, at + 1) for at in range(9_000)),
    "deep/ifs.c": _deep("#if A\n"), "deep/braces.rs": _deep("{"), "deep/comments.rs": _deep("/* "),
    "deep/blocks.go": b"package a\n" + _deep("func a() {\n"), "deep/classes.java": _deep("class A {\n"),
    "deep/if.rb": _deep("if a\n"), "deep/heredocs.sh": _deep("cat <<EOF\n"), "deep/subshells.sh": _deep("$("),
    "deep/blocks.php": b"<?php\n" + _deep("if (a) {\n"), "deep/quotes.md": _deep("> "), "deep/lists.md": b"".join(
        b"  " * depth + b"- a\n" for depth in range(500)), "deep/emphasis.md": _deep("*a _b "),
    "deep/links.md": _deep("["), "deep/headings.md": _deep("# a\n"), "deep/fences.md": _deep("```\n"),
    "deep/lists.yaml": _deep("- "), "deep/maps.yaml": b"".join(b" " * depth + b"a:\n" for depth in range(700)),
    "deep/aliases.yaml": b"a0: &a0 [x]\n" + b"".join(
        b"a%d: &a%d [%s]\n" % (at, at, b", ".join([b"*a%d" % (at - 1)] * 9)) for at in range(1, 60)),
    "deep/tables.toml": b"".join(b"[%s]\n" % b".".join([b"a"] * depth) for depth in range(1, 400)),
    "deep/arrays.toml": b"a = " + _deep("["), "deep/laughs.xml": b'<?xml version="1.0"?><!DOCTYPE a [' + b"".join(
        b'<!ENTITY a%d "%s">' % (at, b"&a%d;" % (at - 1) * 9) for at in range(1, 60)) + b"]><a>&a59;</a>\n",
    "deep/notebook.ipynb": b'{"cells":[' + _deep('{"cells":['), "deep/begin.tex": _deep("\\begin{a}\n"),
    "deep/select.sql": _deep("select ("), "deep/blocks.tf": _deep("a {\n"),
    "deep/messages.proto": _deep("message A {\n"),
    "deep/parens.lisp": _deep("("), "deep/regions.cs": _deep("#region a\n"), "deep/where.kt": _deep("fun <T"),
    "deep/quotes.toml": _deep('"""\n'), "deep/sections.rst": _deep("a\n=\n"), "deep/if.lua": _deep("if a then\n"),
}  # fmt: skip
WIDE = {
    "wide/one_line.json": b'{"quillfeather": [' + _wide('"value"', ",") + b"]}\n",
    "wide/minified.js": _wide("var needle_minified=function(a,b){return a+b}", ";"),
    "wide/base64.py": b"def needle_beside_data():\n    return 1\n\n" * 30 + b"DATA = '" + b"iVBORw0KGgo" * 70_000 +
        b"'\n",
    "wide/row.csv": _wide("1234.5", ","), "wide/lines.csv": _wide("1,2,3", "\n"),
    "wide/statements.sql": _wide("insert into a values (1);", "\n"), "wide/names.py": _wide("x = 1", "\n"),
    "wide/spaces.py": b" " * LARGE + b"x = 1\n", "wide/dots.md": b"." * LARGE + b"\n", "wide/ticks.md": b"`" * LARGE,
    "wide/word.txt": b"a" * 900_000, "wide/hashes.py": b"#\n    " * 60_000,
    "wide/markers.py": b"# autogenerated " * 9_000,
    "wide/passwords.py": b"password = " * 20_000, "wide/keys.txt": b"-----BEGIN RSA PRIVATE KEY-----\n" * 5_000,
    "wide/urls.txt": b"http://a:b@" * 20_000, "wide/equals.env": b"a=" * 100_000,
}  # fmt: skip
TEXTS = LINE_ENDS | ENCODINGS | DEEP | WIDE
# Not text, or too large, with the reason.
SKIPPED = {
    "skipped/ten_megabytes.txt": (b"a" * 10_000_000, "too-large"),
    "skipped/nul.bin": (b"\0" * 5_000, "binary"),
    "skipped/table.dat": (b"\0\1\2\3" * 500, "binary"),
    "skipped/controls.bin": (bytes(range(1, 32)) * 200 + b"\x80\xff", "binary"),
    "skipped/wrong_bom.txt": (b"\xff\xfe" + b"\x00\xd8" * 900, "undecodable"),
}
