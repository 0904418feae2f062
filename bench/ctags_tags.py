"""What Universal Ctags finds in files, and which of its tags are definitions that an index should know."""

import json
import re
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

LEFT_OUT = {
    "local": "a local variable",
    "label": "a label inside a function",
    "parameter": "a parameter",
    "unknown": "ctags does not know what it is",
    "anchor": "a YAML anchor",
    "heredoc": "a here document",
    "script": "a sourced file, which is an import",
    "import": "an import",
    "library": "an import",
    "packageName": "a package clause",
    "package": "a package clause (but Perl's packages are counted)",
    "namespace": "a namespace, which many files open, or in Python the new name of an import",
    "id": "an id",
    "globalVar": "an assignment that no function's definition belongs to",
    "functionVar": "a variable inside a function",
    "implementation": "an extension of a protocol that is defined elsewhere",
    "nameattr": "a column name",
    "loadedPackage": "an import",
    "using": "an import",
    "makefile": "an included makefile, which is an import",
    "image": "a base image, which is an import",
    "listelement": "an element of a vector",
    "vector": "a literal value inside a call",
    "list": "a literal value inside a call",
    "dataframe": "a literal value inside a call",
}
LEFT_OUT_IN = {
    ("PowerShell", "variable"): "an assignment, local or not",
    ("ObjectiveC", "category"): "an extension of a class that is defined elsewhere",
    ("ObjectiveC", "typedef"): "ctags takes the arguments of a block type for names",
    ("Perl", "format"): "a report format; ctags also takes `format => x` in a hash for one",
    ("PHP", "alias"): "an import",
    ("C#", "typedef"): "an import",
    ("JavaScript", "property"): "a key of an object literal",
    ("RSpec", "context"): "a group of tests, whose title is no name",
    ("RSpec", "describe"): "a group of tests, whose title is no name",
}
# By language and kind: the lines that are left out, and why.
LINES_LEFT_OUT: dict[tuple[str, str], tuple[str, str]] = {
    ("C", "macro"): (r"#\s*define\s+\w+\s*(?:\\/[*/].*)?$", "a macro without a value: a switch or an include guard"),
    ("C++", "macro"): (r"#\s*define\s+\w+\s*(?:\\/[*/].*)?$", "a macro without a value: a switch or an include guard"),
    ("C#", "field"): (r".*\bwhere\b|.*=>|\s*(?:var|return)\b", "a constraint, a parameter or a local variable"),
    ("C#", "interface"): (r".*\bwhere\b", "a constraint"),
    ("C#", "method"): (r".*\boperator\s+\w|\s*[\w.]+\(.*;", "a conversion, which has no name of its own; or a call"),
    ("C#", "property"): (r".*\bwhere\b", "a constraint"),
    ("C#", "struct"): (r".*\bwhere\b", "a constraint"),
    ("C++", "function"): (r".*\boperator\s+[\w:]", "a conversion, which has no name of its own"),
    ("CSS", "selector"): (r".*[\[:]", "a part of an attribute or of a pseudo class"),
    ("Haskell", ""): (r"(?:pattern|\s+return) ", "a keyword that ctags takes for a name"),
    ("JavaScript", "class"): (r".*[=:]\s*\{|.*\.prototype\b", "an object literal, or an assignment to a prototype"),
    ("JavaScript", "field"): (r"\s*(?:return|if|for)\b|\s*\w+,$", "a part of a statement"),
    ("JavaScript", "method"): (r".*\.prototype\.\w+ = (?!function|async|\()", "a value, not a method"),
    ("JavaScript", "constant"): (r"\s|.*\brequire\(", "indented: a local variable in a callback; or an import"),
    ("JavaScript", "variable"): (r"\s|.*\brequire\(", "indented: a local variable in a callback; or an import"),
    ("Kotlin", "method"): (r"(?!.*\bfun\b)", "a parameter of a lambda, or of a loop"),
    ("Lua", "function"): (
        r"(?!\s*(?:local\s+)?function\b|.*\S\s*=\s*function\b)|.*\[.*\]\s*=|.*\{\s*\w+\s*=",
        "a value or a computed key",
    ),
    ("Make", "target"): (r"(?:\S*\$[({].*)+:", "a target whose name is the value of a variable"),
    ("OCaml", "function"): (r"\s*let%", "a test"),
    ("OCaml", "module"): (r".*\b(?:with|and)\s+(?:module|type)\b|\s*(?:with|and)\b", "a constraint in a signature"),
    ("OCaml", "type"): (r".*\b(?:with|and)\s+(?:module|type)\b|\s*(?:with|and)\b", "a constraint in a signature"),
    ("ObjectiveC", "function"): (r"\w+\((?:@\"|\^)|\w+\(\w+\);?$", "a call of a macro or of a test framework"),
    ("PHP", "variable"): (r"\s*\$", "a local variable"),
    ("Rust", "module"): (r".*\bmod\s+\w+;", "the name of another file"),
    ("Rust", "variable"): (r".*&'static str", "a lifetime that ctags takes for a character"),
    ("SCSS", "class"): (r".*\.(?:\d|[\w-]+\()", "a number or a call"),
    ("SCSS", "variable"): (r"\s*@|(?!\s*\$[\w-]+\s*:)|.*,$", "a variable of a loop, or the name of an argument"),
    ("Sh", "alias"): (r"(?!\s*alias\b)", "a word of a text"),
    ("Sh", "function"): (r"\s*(?:local\s+)?\w+\+?=|.*\[\[|\s*_err\b", "an array, a condition or a word of a text"),
    ("TypeScript", "alias"): (r"\s*(?:import|export)\b.*\bfrom\b|\s*type \w+,$|(?:im|ex)port \{", "an import"),
    ("TypeScript", "constant"): (r"\s", "indented: a local variable in a callback"),
    ("TypeScript", "variable"): (r"\s", "indented: a local variable in a callback"),
}
# The name must be the first group of this pattern; ctags takes other words of such lines for names.
NAMES: dict[tuple[str, str], str] = {
    ("Sh", "function"): r"\s*(?:function\s+)?([^\s()]+)",
    ("TypeScript", "constant"): r".*?\bconst\s+(?:enum\s+)?([\w$]+)",
    ("TypeScript", "property"): r"(?!.*\bconstructor\b).*?([\w$]+)[?!]?\s*[:=]",
    ("TypeScript", "variable"): r".*?\b(?:let|var)\s+([\w$]+)",
    ("Protobuf", "field"): r"\s*(?:optional|required|repeated)?\s*[\w.]+(?:<[^>]*>)?\s+(\w+)\s*=",
}
COUNTED_IN = {"package": {"Perl", "Java"}}
OTHER_LANGUAGES = {
    "Autoconf": "a macro of Autoconf, in a file that is read as shell",
    "Automake": "a file that is built or installed",
    "M4": "a macro of M4",
}
_GENERATED = ("__anon", "anonymous", "AnonymousFunction", "AnonymousClass", "anonFunc", "<lambda>")
_OBJC_MACRO = re.compile(r"[A-Z]+(?:_[A-Z]+)+|tvos|void|BOOL|__\w+")
_VALUES = {"variable", "constant", "member", "field", "property"}
_FUNCTIONS = {"function", "method", "func", "subroutine"}


@dataclass(frozen=True, slots=True)
class Tag:
    """A line of ctags' answer."""

    path: str
    line: int
    name: str
    kind: str
    language: str
    pattern: str
    scope_kind: str


def read_tags(paths: Sequence[Path]) -> Iterator[Tag]:
    """Yield the tags of some files."""
    command = ["ctags", "--output-format=json", "--fields=+neKSPl", "-L", "-", "-f", "-"]
    listed = "\n".join(map(str, paths))
    ran = subprocess.run(command, input=listed, capture_output=True, text=True, check=False, errors="replace")
    for line in ran.stdout.splitlines():
        tag = json.loads(line)
        if tag.get("_type") == "tag" and "line" in tag:
            words = (str(tag.get(key, "")) for key in ("name", "kind", "language", "pattern", "scopeKind"))
            yield Tag(str(tag["path"]), int(tag["line"]), *words)


def reason_left_out(tag: Tag) -> str | None:
    """Return why a tag is no definition that an index should know, or None if it is one."""
    if reason := OTHER_LANGUAGES.get(tag.language) or LEFT_OUT_IN.get((tag.language, tag.kind)) or _mistake(tag):
        return reason
    if tag.language == "OCaml" and (tag.kind, tag.line) == ("module", 1):
        return "the module of a file, which its name defines"
    # The scope is not known in OCaml, and inside a macro of C++ such as TEST_CASE.
    is_unscoped = tag.language in {"OCaml", "C", "C++"} and tag.kind in {"var", "variable"} and not tag.scope_kind
    if (is_unscoped and tag.pattern[2:3].isspace()) or (tag.scope_kind in _FUNCTIONS and tag.kind in _VALUES):
        return "a local variable"
    return LEFT_OUT.get(tag.kind) if tag.language not in COUNTED_IN.get(tag.kind, ()) else None


def _mistake(tag: Tag) -> str | None:
    if tag.name in {"()", "_", "__attribute__"} or tag.name.startswith(_GENERATED):
        return "a name that ctags made up"
    for kind in (tag.kind, ""):
        line, reason = LINES_LEFT_OUT.get((tag.language, kind), ("", ""))
        if line and re.match(line, tag.pattern.removeprefix("/^").removesuffix("/").removesuffix("$")):
            return reason
    named = re.match(NAMES.get((tag.language, tag.kind), ""), tag.pattern.removeprefix("/^"))
    if named is not None and named.re.groups and named[1] != tag.name:
        return "another word than the name"
    if tag.language == "ObjectiveC" and tag.kind != "macro" and _OBJC_MACRO.fullmatch(tag.name):
        return "a macro or type that ctags takes for a name"
    return None


def lines_of_texts(path: Path) -> frozenset[int]:
    """Return the lines inside the doc strings of an Elixir file, where ctags takes examples for definitions."""
    found, inside = set(), False
    for number, line in enumerate(path.read_text(errors="replace").split("\n"), 1):
        found.update([number] if inside else [])
        inside ^= (line.count('"""') + line.count("'''")) % 2 == 1
    return frozenset(found)
