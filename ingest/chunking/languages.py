"""Finds a file's language from its name, extension or shebang; ids are Linguist's, in lower case, if it has them."""

import re
from collections.abc import Mapping
from types import MappingProxyType

_EXTENSIONS_BY_LANGUAGE = {
    "python": "py pyi pyw pyx pxd py3 wsgi",
    "javascript": "js jsx mjs cjs es6",
    "typescript": "ts tsx mts cts",
    "go": "go",
    "rust": "rs",
    "java": "java jav",
    "kotlin": "kt kts",
    "scala": "scala sc sbt",
    "c": "c h",
    "c++": "cpp cc cxx c++ hpp hh hxx h++ ipp inl tpp ino",
    "c#": "cs csx cake",
    "ruby": "rb rake gemspec ru podspec thor jbuilder",
    "php": "php phtml php3 php4 php5 php7 phps",
    "swift": "swift",
    "shell": "sh bash zsh ksh bats command",
    "objective-c": "m",
    "objective-c++": "mm",
    "dart": "dart",
    "lua": "lua",
    "perl": "pl pm t",
    "raku": "raku rakumod",
    "r": "r",
    "julia": "jl",
    "haskell": "hs lhs",
    "elixir": "ex exs",
    "erlang": "erl hrl",
    "clojure": "clj cljs cljc edn",
    "f#": "fs fsi fsx",
    "ocaml": "ml mli",
    "elm": "elm",
    "nim": "nim",
    "zig": "zig",
    "v": "v",
    "d": "d",
    "crystal": "cr",
    "groovy": "groovy gradle",
    "visual basic .net": "vb",
    "pascal": "pas pp",
    "ada": "adb ads",
    "fortran": "f90 f95 f03 f f77 for",
    "cobol": "cob cbl cpy",
    "common lisp": "lisp lsp",
    "emacs lisp": "el",
    "scheme": "scm ss",
    "racket": "rkt",
    "prolog": "pro",
    "matlab": "mat",
    "powershell": "ps1 psm1 psd1",
    "batchfile": "bat cmd",
    "fish": "fish",
    "tcl": "tcl",
    "awk": "awk",
    "assembly": "asm s",
    "cuda": "cu cuh",
    "glsl": "glsl vert frag",
    "hlsl": "hlsl",
    "wgsl": "wgsl",
    "verilog": "vh",
    "systemverilog": "sv svh",
    "vhdl": "vhd vhdl",
    "solidity": "sol",
    "move": "move",
    "cairo": "cairo",
    "apex": "cls trigger",
    "coffeescript": "coffee",
    "vue": "vue",
    "svelte": "svelte",
    "astro": "astro",
    "html": "html htm xhtml",
    "html+erb": "erb",
    "html+django": "jinja jinja2 j2 djhtml",
    "blade": "blade.php",
    "twig": "twig",
    "handlebars": "hbs handlebars mustache",
    "ejs": "ejs",
    "pug": "pug jade",
    "haml": "haml",
    "css": "css",
    "scss": "scss",
    "sass": "sass",
    "less": "less",
    "stylus": "styl",
    "xml": "xml xsd xsl xslt xaml csproj vbproj fsproj props targets plist wsdl storyboard xib resx nuspec pom",
    "svg": "svg",
    "sql": "sql ddl dml psql",
    "plsql": "pls plsql pkb pks",
    "graphql": "graphql gql graphqls",
    "protocol buffer": "proto",
    "thrift": "thrift",
    "avro idl": "avdl",
    "smithy": "smithy",
    "hcl": "hcl tf tfvars",
    "nix": "nix",
    "starlark": "bzl star bazel",
    "cmake": "cmake",
    "makefile": "mk mak make",
    "dockerfile": "dockerfile",
    "meson": "meson",
    "jsonnet": "jsonnet libsonnet",
    "cue": "cue",
    "dhall": "dhall",
    "rego": "rego",
    "puppet": "epp",
    "bicep": "bicep",
    "yaml": "yaml yml",
    "json": "json geojson webmanifest jsonl ndjson avsc har",
    "jupyter notebook": "ipynb",
    "json with comments": "jsonc code-workspace",
    "json5": "json5",
    "toml": "toml",
    "ini": "ini cfg conf cnf prefs service socket timer desktop inf",
    "properties": "properties",
    "dotenv": "env",
    "csv": "csv",
    "tsv": "tsv",
    "diff": "diff patch",
    "markdown": "md markdown mdown mkd mdx livemd",
    "restructuredtext": "rst rest",
    "asciidoc": "adoc asciidoc asc",
    "org": "org",
    "tex": "tex sty bib ltx",
    "typst": "typ",
    "mediawiki": "mediawiki wiki",
    "textile": "textile",
    "rdoc": "rdoc",
    "pod": "pod",
    "roff": "1 2 3 4 5 6 7 8 man",
    "gherkin": "feature",
    "robotframework": "robot",
    "webassembly": "wat wast",
    "llvm": "ll",
    "mermaid": "mmd mermaid",
    "plantuml": "puml plantuml",
    "graphviz (dot)": "dot gv",
    "vim script": "vim",
    "gettext catalog": "po pot",
    "text": "txt text log",
}

_NAMES_BY_LANGUAGE = {
    "makefile": "makefile gnumakefile kbuild makefile.am makefile.in",
    "dockerfile": "dockerfile containerfile",
    "cmake": "cmakelists.txt",
    "meson": "meson.build meson_options.txt",
    "starlark": "build build.bazel workspace workspace.bazel buck tiltfile module.bazel",
    "groovy": "jenkinsfile",
    "ruby": "gemfile rakefile guardfile capfile vagrantfile podfile fastfile brewfile dangerfile .irbrc .pryrc",
    "python": "sconstruct sconscript wscript snakefile",
    "shell": ".bashrc .bash_profile .bash_aliases .profile .zshrc .zshenv .zprofile configure.ac pkgbuild "
    "apkbuild gradlew",
    "just": "justfile .justfile",
    "ini": ".editorconfig .gitconfig .gitmodules .npmrc .pylintrc .flake8 .coveragerc setup.cfg tox.ini "
    "pip.conf .buckconfig",
    "json": ".babelrc .eslintrc .prettierrc .swcrc composer.lock pipfile.lock package-lock.json .all-contributorsrc",
    "json with comments": "tsconfig.json jsconfig.json .jshintrc devcontainer.json settings.json.example",
    "toml": "pipfile cargo.lock poetry.lock uv.lock gopkg.lock pdm.lock",
    "yaml": ".clang-format .clang-tidy .clangd .gemrc yarn.lock .yamllint .prettierrc.yml pubspec.lock glide.lock",
    "ignore list": ".gitignore .dockerignore .npmignore .eslintignore .prettierignore .codequarryignore .helmignore",
    "git attributes": ".gitattributes",
    "codeowners": "codeowners",
    "dotenv": ".env .env.example .env.local .env.development .env.production .env.test .flaskenv",
    "go module": "go.mod go.work",
    "go checksums": "go.sum go.work.sum",
    "pip requirements": "requirements.txt requirements-dev.txt constraints.txt dev-requirements.txt",
    "vim script": ".vimrc vimrc .gvimrc",
    "procfile": "procfile",
    "nginx": "nginx.conf",
    "apacheconf": ".htaccess httpd.conf",
    "text": "license licence copying notice authors contributors maintainers changelog changes news readme todo thanks "
    "install version history credits patents unlicense",
}

_LANGUAGES_BY_INTERPRETER = {
    "python": "python pypy",
    "shell": "sh bash zsh ksh dash ash",
    "ruby": "ruby jruby rake macruby",
    "javascript": "node nodejs bun",
    "typescript": "deno ts-node tsx",
    "php": "php",
    "perl": "perl",
    "lua": "lua luajit",
    "r": "rscript",
    "awk": "awk gawk mawk nawk",
    "tcl": "tclsh wish expect",
    "groovy": "groovy",
    "scala": "scala",
    "kotlin": "kotlin",
    "swift": "swift",
    "fish": "fish",
    "powershell": "pwsh",
    "julia": "julia",
    "elixir": "elixir iex",
    "erlang": "escript",
    "makefile": "make",
    "haskell": "runhaskell runghc stack",
    "ocaml": "ocaml",
    "nix": "nix-shell",
}


def _inverted(table: Mapping[str, str]) -> Mapping[str, str]:
    return MappingProxyType({word: language for language, words in table.items() for word in words.split()})


LANGUAGE_BY_EXTENSION = _inverted(_EXTENSIONS_BY_LANGUAGE)
LANGUAGE_BY_NAME = _inverted(_NAMES_BY_LANGUAGE)
LANGUAGE_BY_INTERPRETER = _inverted(_LANGUAGES_BY_INTERPRETER)

NOTEBOOK = "jupyter notebook"

LANGUAGES = frozenset(_EXTENSIONS_BY_LANGUAGE) | frozenset(_NAMES_BY_LANGUAGE) | frozenset(_LANGUAGES_BY_INTERPRETER)
"""All known language ids."""

GRAMMAR_LANGUAGES = frozenset(
    {
        "python", "javascript", "typescript", "go", "rust", "java", "kotlin", "scala", "c", "c++", "c#", "ruby", "php",
        "swift", "shell", "cmake", "css", "dart", "dockerfile", "elixir", "erlang", "graphql", "groovy", "haskell",
        "hcl", "julia", "lua", "makefile", "objective-c", "objective-c++", "ocaml", "perl", "powershell",
        "protocol buffer", "r", "scss", "solidity", "zig",
    }
)  # fmt: skip
"""Languages that are chunked by their syntax tree."""

CONFIG_LANGUAGES = frozenset(
    {"yaml", "json", "json with comments", "json5", "toml", "ini", "properties", "dotenv", "go module"}
)
"""Languages whose chunks are of type ``config``."""

PROSE_LANGUAGES = frozenset(
    {"markdown", "restructuredtext", "asciidoc", "org", "tex", "typst", "mediawiki", "textile", "rdoc", "pod", "text"}
)
"""Languages whose chunks are of type ``documentation``."""

# Objective-C and MATLAB share the extension.
_MATLAB = re.compile(r"^\s*(?:%|function\b|classdef\b)")
_SHEBANG = re.compile(r"^#!\s*(?:\S*/env\s+(?:-\S+\s+|\w+=\S*\s+)*)?(?:\S*/)?([A-Za-z][\w+-]*)")
_NO_MAPPING: Mapping[str, str] = MappingProxyType({})


def language_of(path: str, first_line: str = "", mapping: Mapping[str, str] = _NO_MAPPING) -> str | None:
    """Return a file's language id, or None for plain text; ``mapping`` (see ``[languages.map]``) takes precedence."""
    name = path.rsplit("/", 1)[-1].lower()
    suffixes = _suffixes(name)
    if (mapped := _mapped(name, mapping)) is not None:
        return mapped
    if name in LANGUAGE_BY_NAME:
        return LANGUAGE_BY_NAME[name]
    if suffixes[-1:] == ["m"] and _MATLAB.match(first_line):
        return "matlab"
    for suffix in suffixes:
        if suffix in LANGUAGE_BY_EXTENSION:
            return LANGUAGE_BY_EXTENSION[suffix]
    return _by_stem(name) or _by_shebang(first_line)


def is_mapped(path: str, mapping: Mapping[str, str]) -> bool:
    """Return whether ``[languages.map]`` decides the language of a path."""
    return _mapped(path.rsplit("/", 1)[-1].lower(), mapping) is not None


def language_named(word: str) -> str | None:
    """Return the id of the language that a repository's attributes name, with hyphens for spaces, or None."""
    name = word.lower()
    aliases = (name, name.replace("-", " "), name.replace("_", " "))
    known = next((alias for alias in aliases if alias in LANGUAGES), None)
    return known or LANGUAGE_BY_EXTENSION.get(name) or LANGUAGE_BY_INTERPRETER.get(name)


def _mapped(name: str, mapping: Mapping[str, str]) -> str | None:
    mapped = {key.lower(): language.lower() for key, language in mapping.items()}
    keys = (name, *(f".{suffix}" for suffix in _suffixes(name)))
    return next((mapped[key] for key in keys if key in mapped), None)


def _suffixes(name: str) -> list[str]:
    """Return the extensions of a name, longest first; a leading dot does not begin an extension."""
    parts = name.lstrip(".").split(".")
    return [".".join(parts[index:]) for index in range(1, len(parts))]


def _by_stem(name: str) -> str | None:
    """Return the language of ``Dockerfile.prod`` or ``README.de`` by the part before the first dot."""
    stem, dot, _ = name.partition(".")
    return LANGUAGE_BY_NAME.get(stem) if dot and stem else None


def _by_shebang(first_line: str) -> str | None:
    found = _SHEBANG.match(first_line)
    if found is None:
        return None
    word = found[1].lower()
    return LANGUAGE_BY_INTERPRETER.get(word) or LANGUAGE_BY_INTERPRETER.get(word.rstrip("0123456789.-"))
