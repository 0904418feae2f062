"""Replaces code that a grammar can't read with code of the same length, before the parse."""

import re
from collections.abc import Iterator

# LEVELDB_EXPORT, SQLITE_API, Q_DECL_EXPORT, V8_INLINE…: macros before a declaration, which no parser can know, but not
# in the line that defines them. After `class`, any word in capitals before the name is a macro.
_DECORATING_MACRO = re.compile(
    rb"(?<!define )(?<!ifdef )(?<!ifndef )(?<!defined\()\b[A-Z][A-Z0-9_]*"
    rb"_(?:EXPORT|API|PUBLIC|EXTERN|DECL|INLINE|FORCEINLINE|NODISCARD|VISIBLE|HIDDEN|NOINLINE|EXPORTS|FUNC)\b"
    rb"(?=[ \t\r\n]+[A-Za-z_:~])"
    rb"|(?<=class )[A-Z][A-Z0-9_]{2,}(?=\s+(?:\[\[\w+\]\]\s*)?[A-Za-z_]\w*\s*(?:final\s*)?[:{])"
    # Annotations of locks, at the end of a declaration.
    rb"|(?<!define )\b(?:(?:PT_)?GUARDED_(?:BY|VAR)|LOCKS_EXCLUDED|(?:EXCLUSIVE|SHARED)_LOCKS_REQUIRED"
    rb"|ACQUIRED_(?:BEFORE|AFTER)|(?:EXCLUSIVE|SHARED)_(?:TRY)?LOCK_FUNCTION|UNLOCK_FUNCTION)\b(?:[ \t]*\([^()\n]*\))?"
    rb"|(?<=struct )[A-Z][A-Z0-9_]{2,}(?=\s+[A-Za-z_]\w*\s*(?:final\s*)?[:{])"
)

_UNREAD_CSS = re.compile(rb"""(?<=url\()[^"'()\s][^()\n]*(?=\))|;(?=\s*;)""")
# In SCSS: flags of variables, the name of a used module, the module of an included mixin.
_UNREAD_SCSS = re.compile(
    rb"""![ \t]*(?:default|global)\b|(?<=["'])[ \t]+as[ \t]+[\w*-]+|(?<=@include )[\w-]+\.(?=\w)"""
)
_BRACKET = re.compile(rb"[()]")
_NOT_BLANK = re.compile(rb"[^\s]")
# In C#, an array that may be null.
_NULLABLE_ARRAY = re.compile(rb"(?<=\[\])\?(?=[ \t]+\w|[>,)])")
# In PowerShell, where the name of a function is known.
_SCOPE = re.compile(rb"(?i:(?<=\bfunction )|(?<=\bfilter ))(?i:script|global|private|local):(?=[A-Za-z_])")
# In zsh, whether a variable is set.
_ZSH_IS_SET = re.compile(rb"\$\+(?=\w)")

# Words about references that may be null, and about memory: they may stand anywhere in a type.
_OBJC_QUALIFIER = (
    rb"_?_?(?:[Nn]ullable|[Nn]onnull|[Nn]ull_unspecified)|_?_?null_resettable|_?_?kindof|__(?:autoreleasing|strong|weak)"
    rb"|__unsafe_unretained|__block|__deprecated"
)
# A macro in capitals is an attribute at the end of a declaration, or a line of its own.
_OBJC_MACRO = (
    rb"(?<!define )\b(?:(?:NS|UI|CF|CG|API|OBJC)(?:_[A-Z0-9]+)*_(?:SUPER|RETAINED|NOESCAPE|NAME|SWIFT|TERMINATION"
    rb"|PRIVATE|METHOD|OBJECT|PROTOCOL|CLASS|IOS|MAC|TVOS)"
    rb"|NS_SWIFT(?:_[A-Z]+)+|[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)*_(?:BEGIN|END|INITIALIZER|AVAILABLE|UNAVAILABLE|DEPRECATED|EXTERN|EXPORT))\b"
    rb"(?:[ \t]*\([^()\n]*(?:\([^()\n]*\)[^()\n]*)*\))?"
)
_UNREAD_OBJC = re.compile(
    rb"(?P<selector>@selector\([\w:]*\))"
    rb"|__attribute__[ \t]*\(\([^()\n]*(?:\([^()\n]*\)[^()\n]*)*\)\)"
    rb"|,[ \t]*(?:" + _OBJC_QUALIFIER + rb")\b(?=[ \t]*[,)])"
    rb"|\b(?:" + _OBJC_QUALIFIER + rb")\b(?:[ \t]*,)?"
    rb"|" + _OBJC_MACRO
)

# An assignment of a makefile up to its value. A variable's name has no colon or reference here.
_MAKE_ASSIGNMENT = re.compile(
    rb"[ \t]*(?:(?:override|export|private)[ \t]+)*[^\s:#=$()]+[ \t]*(?:::?:?|\?|\+|!)?=(?P<value>.*)", re.DOTALL
)
_MAKE_REFERENCE = re.compile(rb"\$[({][\w.-]+[)}]|\\\r?\n|\s+|(?P<text>[^\s$\\]+|.)", re.DOTALL)
_MAKE_KEYWORDS = (b"if", b"else", b"endif", b"#", b"include", b"-include", b"sinclude")


def without_macros(data: bytes) -> bytes:
    """Blank out macros for visibility and inlining: the grammar reads ``class API Foo`` as a function."""
    return _DECORATING_MACRO.sub(lambda found: b" " * len(found[0]), data)


def readable_css(data: bytes) -> bytes:
    """Replace unquoted addresses, and semicolons after semicolons."""
    return _UNREAD_CSS.sub(lambda found: (b" " if found[0] == b";" else b"x") * len(found[0]), data)


def readable_scss(data: bytes) -> bytes:
    """Blank out flags of variables, names of modules, maps and arguments of several rows, and what CSS blanks out."""
    data = readable_css(_UNREAD_SCSS.sub(lambda found: b" " * len(found[0]), data))
    parts, at = [], 0
    for start, end in _outer_brackets(data):
        inside = data[start:end]
        if b"\n" in inside and b";" not in inside:
            # A value must be left, or the brackets would be an error.
            first = len(inside) - len(inside.lstrip())
            value = b"x" if first < len(inside) else b""
            parts += [data[at:start], inside[:first], value, _NOT_BLANK.sub(b" ", inside[first + 1 :])]
            at = end
    return b"".join([*parts, data[at:]])


def _outer_brackets(data: bytes) -> Iterator[tuple[int, int]]:
    """Yield what is between outer brackets, without them."""
    depth = start = 0
    for found in _BRACKET.finditer(data):
        if found[0] == b"(":
            depth += 1
            start = found.end() if depth == 1 else start
        elif depth:
            depth -= 1
            if not depth:
                yield start, found.start()


def readable_csharp(data: bytes) -> bytes:
    """Blank out the question mark of ``object?[]?``, on which the grammar loses a parameter, or the whole type."""
    return _NULLABLE_ARRAY.sub(b" ", data)


def readable_powershell(data: bytes) -> bytes:
    """Blank out the scope of ``function script:Get-Name``, which is called as ``Get-Name``."""
    return _SCOPE.sub(lambda found: b" " * len(found[0]), data)


def readable_perl(data: bytes) -> bytes:
    """Blank out a comment that ends the file without a line feed: after an error, the grammar never returns from it."""
    last = data[data.rfind(b"\n") + 1 :]
    code, _, _ = last.partition(b"#")
    return data[: len(data) - len(last)] + code + b" " * (len(last) - len(code))


def readable_shell(data: bytes) -> bytes:
    """Replace ``$+name`` of zsh, on which the grammar loses the rest of the file."""
    return _ZSH_IS_SET.sub(b"$_", data)


def readable_objc(data: bytes) -> bytes:
    """Replace ``@selector(a:b:)`` with a number, and blank out macros and qualifiers in types."""
    return _UNREAD_OBJC.sub(lambda found: (b"0" if found["selector"] else b" ") * len(found[0]), data)


def with_line_feeds(data: bytes) -> bytes:
    """Move a carriage return away from between a backslash and its line feed, where the grammar expects none."""
    return data.replace(b"\\\r\n", b" \\\n")


def without_carriage_returns(data: bytes) -> bytes:
    """Replace the carriage returns of line ends."""
    return data.replace(b"\r\n", b" \n")


def readable_make(data: bytes) -> bytes:
    """Replace the text in the values of variables, whose brackets and quotes the grammar takes for syntax.

    References in the values are kept. An assignment in a conditional may be indented with a tab. The grammar takes it
    for a recipe, so the tab becomes a space where no rule is open.
    """
    return b"".join(_make_lines(data))[: len(data)]


def _make_lines(data: bytes) -> Iterator[bytes]:
    in_rule = in_definition = False
    for line in _continued_lines(data):
        word = line.split(None, 1)[0] if line.strip() else b"#"
        if in_definition or word == b"define":
            in_definition, in_rule = word != b"endef", False
            yield line
            continue
        found = _MAKE_ASSIGNMENT.match(line)
        if found is not None and not (in_rule and line.startswith(b"\t")):
            in_rule = False
            at = found.start("value")
            # The grammar takes the question mark for a part of the name.
            yield line[:at].replace(b"\t", b" ").replace(b"?=", b" =") + _without_text(found["value"])
            continue
        if not line.startswith(b"\t") and not word.startswith(_MAKE_KEYWORDS):
            in_rule = b":" in line
        yield line


def _continued_lines(data: bytes) -> Iterator[bytes]:
    """Yield lines, each with those that continue it after a backslash."""
    parts: list[bytes] = []
    for line in data.split(b"\n"):
        parts.append(line)
        if not line.rstrip(b"\r").endswith(b"\\"):
            yield b"\n".join([*parts, b""])
            parts = []
    if parts:
        yield b"\n".join([*parts, b""])


def _without_text(value: bytes) -> bytes:
    return _MAKE_REFERENCE.sub(lambda found: b"x" * len(found[0]) if found["text"] else found[0], value)
