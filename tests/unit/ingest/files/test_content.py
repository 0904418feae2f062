import os

import pytest

from codequarry.ingest.files.content import DecodedText, NotText, decode, generated_marker, is_minified


@pytest.mark.parametrize(
    "text", ["", "plain\n", "größe, 日本, \N{GRINNING FACE}\r\n", "form\ffeed", "\ufeffnot at the start"[1:]]
)
def test_utf8_is_decoded_unchanged(text):
    assert decode(text.encode()) == DecodedText(text)


@pytest.mark.parametrize(
    ("data", "encoding"),
    [
        (b"\xef\xbb\xbfprint()\n", "utf-8-sig"),
        ("größe\n".encode("utf-16"), "utf-16"),
        (b"\xfe\xff" + "größe\n".encode("utf-16-be"), "utf-16"),
        ("größe\n".encode("utf-32"), "utf-32"),
    ],
)
def test_a_byte_order_mark_determines_the_encoding(data, encoding):
    decoded = decode(data)
    assert isinstance(decoded, DecodedText)
    assert decoded.encoding == encoding
    assert decoded.text == data.decode(encoding)


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        ("/* José García, Größe, señor niño */\n", "cp1252"),
        ("/* Copyright \xa9 2001 */\n", "cp1252"),
        ("# zażółć gęślą jaźń, proszę sprawdzić\n", "cp1250"),
        ("# Привет, мир: проверка кодировки файла\n", "cp1251"),
        ("# Привет, мир: проверка кодировки файла\n", "koi8_r"),
        ("// これは日本語のコメントです。テスト\n", "cp932"),
        ("// これは日本語のコメントです。テスト\n", "euc_jp"),
        ("// 这是一个中文注释，用于测试编码\n", "gb18030"),
        ("// 這是一個中文註釋，用於測試編碼\n", "big5"),
        ("// 이것은 한국어 주석입니다 테스트\n", "cp949"),
    ],
)
def test_other_encodings_are_detected_from_non_ascii_lines(text, encoding):
    ascii_lines = "int main(void) { return 0; }\n" * 2000
    decoded = decode((ascii_lines + text + ascii_lines).encode(encoding))
    assert isinstance(decoded, DecodedText)
    assert decoded.text == ascii_lines + text + ascii_lines
    assert decoded.encoding == encoding


@pytest.mark.parametrize(
    "data",
    [b"\x00", b"text\x00more", os.urandom(4000), b"\x89PNG\r\n\x1a\n\x00\x00", b"\xff\xfe\x00\x01\x00\x00" * 9],
)
def test_data_that_is_not_text_is_binary_or_undecodable(data):
    decoded = decode(data)
    assert isinstance(decoded, NotText)
    assert decoded.reason in ("binary", "undecodable")


def test_damaged_utf8_is_text_with_the_damage_replaced():
    """One broken byte must not hide a whole file from searches, and the lines stay where they are."""
    data = "größe und maß\n".encode() * 20 + b"broken \xe9\xff here\n" + b"after = 1\n"
    decoded = decode(data)
    assert decoded == DecodedText(data.decode("utf-8", "replace"), "utf-8")
    assert decoded.text.split("\n")[20:22] == ["broken \ufffd\ufffd here", "after = 1"]


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_damage_behind_a_byte_order_mark_is_replaced(encoding):
    data = ("first = 1\n" * 30).encode(encoding) + (b"\xff\n" if encoding == "utf-8-sig" else b"\n")
    decoded = decode(data)
    assert isinstance(decoded, DecodedText)
    assert (decoded.encoding, decoded.text) == (encoding, data.decode(encoding, "replace"))


@pytest.mark.parametrize(
    ("first", "encoding"),
    [
        ("# -*- coding: iso-8859-2 -*-\n", "iso8859-2"),
        ('<?xml version="1.0" encoding="windows-1250"?>\n', "cp1250"),
        ('<html><meta http-equiv="a" content="text/html; charset=iso-8859-2">\n', "iso8859-2"),
    ],
)
def test_a_file_that_names_its_encoding_is_decoded_by_it(first, encoding):
    text = first + "Ľ ť\n"
    assert decode(text.encode(encoding)) == DecodedText(text, encoding)


@pytest.mark.parametrize("name", ["utf-16", "punycode", "rot13", "zlib_codec", "no-such", "ascii"])
def test_a_wrong_or_strange_declaration_is_not_followed(name):
    data = f"# coding: {name}\n# José\n".encode("cp1252")
    assert decode(data) == DecodedText(data.decode("cp1252"), "cp1252")


def test_two_encodings_in_one_file_are_text():
    data = "# größe in Latin-1\n".encode("cp1252") * 9 + "# größe in UTF-8\n".encode() + b"def find(): pass\n"
    decoded = decode(data + b"# \x81\x8d\n")
    assert isinstance(decoded, DecodedText)
    assert "def find(): pass\n" in decoded.text
    assert decoded.text.count("\n") == 12


def test_a_single_nul_does_not_make_a_source_file_binary():
    data = b"def parse(text):\n    return text\n" * 20 + b"END = '\0'\n"
    assert decode(data) == DecodedText(data.decode())


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_utf16_without_a_byte_order_mark_is_recognised(encoding):
    """Resource files of Windows are often written so."""
    text = 'STRINGTABLE\r\nBEGIN\r\n  IDS_SIZE "Größe"\r\nEND\r\n'
    assert decode(text.encode(encoding)) == DecodedText(text, encoding)


@pytest.mark.parametrize(
    "data",
    [
        bytes(range(256)) * 8,
        b"name\0value\0" * 50,
        b"\0\0\0\1" * 200,
        b"%PDF-1.4\n1 0 obj\nendobj\n",
        b"PK\3\4" + os.urandom(900) + bytes(20),
    ],
)
def test_tables_and_archives_are_binary(data):
    assert decode(data) == NotText("binary")


def test_a_git_lfs_pointer_is_recognised():
    pointer = b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n"
    decoded = decode(pointer)
    assert isinstance(decoded, NotText)
    assert decoded.reason == "lfs-pointer"
    assert isinstance(decode(pointer + b"# what a pointer looks like\n" * 50), DecodedText)


@pytest.mark.parametrize(
    ("language", "line"),
    [
        ("go", "// Code generated by protoc-gen-go. DO NOT EDIT."),
        ("python", "# Generated by the protocol buffer compiler.  DO NOT EDIT!"),
        ("javascript", "/* @generated */"),
        ("php", " // @generated SignedSource<<abc>>"),
        ("sql", "-- This file is auto-generated, do not modify"),
        ("html", "<!-- DO NOT EDIT: made by a script -->"),
        ("shell", "# This file was autogenerated. Do not edit."),
        ("rust", "/* automatically generated by rust-bindgen 0.69.4 */"),
        ("java", "/** This file is generated by jOOQ. */"),
        ("java", "/* The following code was generated by JFlex 1.4.3 on 1/2/20 3:04 PM */"),
        ("dart", "// GENERATED CODE - DO NOT MODIFY BY HAND"),
        ("c", "/* A Bison parser, made by GNU Bison 3.8.2.  DO NOT EDIT by hand. */"),
        ("c#", "// This code was generated by a tool."),
        ("ruby", "# This file is auto-generated from the current state of the database."),
        ("r", "# Generated by roxygen2: do not edit by hand"),
        ("pip requirements", "# This file is autogenerated by pip-compile with Python 3.12"),
        ("erlang", "%% Automatically generated, do not edit"),
        ("text", "# Generated from template.in; changes are lost"),
    ],
)
def test_a_comment_at_the_top_marks_generated_files(language, line):
    assert generated_marker(f"\n{line}\ncode\n", language) == line.strip()


@pytest.mark.parametrize(
    ("language", "before"),
    [
        ("shell", "#!/bin/sh\n"),
        ("go", "//go:build linux\n\n// Copyright 2020 The Authors.\n\n"),
        ("java", "/*\n * Licence\n */\n\n"),
        ("php", "<?php\n"),
        ("html", "<!DOCTYPE html>\n<html>\n<head>\n"),
        ("xml", '<?xml version="1.0"?>\n'),
        ("python", "# -*- coding: utf-8 -*-\n" + "# A long licence.\n" * 200),
    ],
)
def test_a_marker_counts_after_other_comments_and_the_usual_first_lines(language, before):
    mark = {"html": "<!-- {} -->", "xml": "<!-- {} -->", "shell": "# {}", "python": "# {}"}.get(language, "// {}")
    line = mark.format("Generated by a tool, do not edit")
    assert generated_marker(f"{before}{line}\ncode\n", language) == line


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("python", 'MARKER = "@generated"\n'),
        ("python", 'print("Code generated. DO NOT EDIT.")\n'),
        ("python", "# generated tests are fun\n"),
        ("python", "x\n" * 5000 + "# DO NOT EDIT\n"),
        ("python", "# see the regenerated docs\n"),
        ("python", 'HEADER = """\\\n# This is a generated file!  Do not edit.\n"""\n'),
        ("python", "import os\n# This file is generated, do not edit.\n"),
        ("go", "// Package gen finds the code generated by protoc and formats it.\npackage gen\n"),
        ("c", "#define HEADER \\\n/* This file was generated. */\n"),
        ("markdown", "# Generated by hand\n\nThis file is generated from templates.\n"),
        (
            "powershell",
            "#\n# Module manifest for module 'a'\n#\n# Generated by: A Person\n#\n# Generated on: 1/2/2020\n#\n",
        ),
        ("python", "# Generated by Django 2.2.1 on 2019-05-24 21:37\n\nfrom django.db import migrations\n"),
        ("javascript", "// send mail to me@generated.example\n"),
    ],
)
def test_code_that_mentions_generating_is_not_generated(language, text):
    assert generated_marker(text, language) is None


def test_a_comment_of_blank_lines_only_is_read_in_linear_time():
    """With repeated white space in the patterns, a kilobyte of such lines took twenty seconds."""
    assert generated_marker("#\n    " * 10_000, "python") is None
    assert generated_marker("# this \n#" * 5_000 + "x: generated", "python") is None
    assert generated_marker("# " + "." * 5_000 + " generated" * 900, "python") is None


def test_very_long_lines_are_minified():
    assert is_minified("var a=1;" * 2000, "javascript")
    assert is_minified("/*! licence */\n" + "a{b:c}" * 2000, "css")


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("var a = 1;\n" * 5000, "javascript"),
        ("x = [\n" + "1, " * 3000 + "\n]\n" + "y = 2\n" * 500, "python"),
        ("def icon():\n    return 1\n\n" * 70 + "ICON = '" + "iVBORw0KGgo" * 50_000 + "'\n", "python"),
        ("A long paragraph of prose. " * 300, "markdown"),
        ("", "text"),
    ],
)
def test_a_long_line_or_paragraph_is_not_minified(text, language):
    assert not is_minified(text, language)
