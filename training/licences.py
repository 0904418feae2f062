"""Which licences allow a model to learn from a package, judged from the package's metadata."""

import re
from collections.abc import Iterator, Sequence

# Permissive licences, by SPDX identifier. All others are refused, including unclear licences.
PERMISSIVE = frozenset(
    {
        "0BSD", "Apache-2.0", "BlueOak-1.0.0", "BSD-1-Clause", "BSD-2-Clause", "BSD-3-Clause", "BSL-1.0", "CC0-1.0",
        "HPND", "ISC", "MIT", "MIT-0", "MIT-CMU", "NCSA", "PSF-2.0", "Python-2.0", "Ruby-BSD", "Unlicense", "X11",
        "Zlib", "ZPL-2.1", "blessing",
    }
)  # fmt: skip

# Spellings in the metadata of all registries: the whole text in lower case, without "the", "license" and punctuation.
_SPELLINGS = {
    "0bsd": "0BSD",
    "apache": "Apache-2.0",
    "apache 2": "Apache-2.0",
    "apache 2 0": "Apache-2.0",
    "apache v2": "Apache-2.0",
    "apache v2 0": "Apache-2.0",
    "apache version 2 0": "Apache-2.0",
    "apache software": "Apache-2.0",
    "apache software 2 0": "Apache-2.0",
    "apache software apache 2 0": "Apache-2.0",
    "apache software version 2 0": "Apache-2.0",
    "asl 2": "Apache-2.0",
    "blueoak 1 0 0": "BlueOak-1.0.0",
    "bsd": "BSD-3-Clause",
    "bsd 0 clause": "0BSD",
    "bsd 1 clause": "BSD-1-Clause",
    "bsd 2": "BSD-2-Clause",
    "bsd 2 clause": "BSD-2-Clause",
    "bsd 2 clause freebsd": "BSD-2-Clause",
    "bsd 3": "BSD-3-Clause",
    "bsd 3 clause": "BSD-3-Clause",
    "bsd 3 clauses": "BSD-3-Clause",
    "bsd3": "BSD-3-Clause",
    "new bsd": "BSD-3-Clause",
    "modified bsd": "BSD-3-Clause",
    "revised bsd": "BSD-3-Clause",
    "3 clause bsd": "BSD-3-Clause",
    "2 clause bsd": "BSD-2-Clause",
    "simplified bsd": "BSD-2-Clause",
    "bsd style": "BSD-3-Clause",
    "bsl 1 0": "BSL-1.0",
    "boost software 1 0": "BSL-1.0",
    "cc0 1 0": "CC0-1.0",
    "expat": "MIT",
    "hpnd": "HPND",
    "historical permission notice and disclaimer hpnd": "HPND",
    "isc": "ISC",
    "isc iscl": "ISC",
    "mit": "MIT",
    "mit mit": "MIT",
    "mit x11": "MIT",
    "mit style": "MIT",
    "mit 0": "MIT-0",
    "mit no attribution": "MIT-0",
    "mit cmu": "MIT-CMU",
    "mit expat": "MIT",
    "ncsa": "NCSA",
    "psf": "PSF-2.0",
    "psf 2 0": "PSF-2.0",
    "python software foundation": "PSF-2.0",
    "python 2 0": "Python-2.0",
    "unlicense": "Unlicense",
    "unlicense unlicense": "Unlicense",
    "zlib": "Zlib",
    "zlib libpng": "Zlib",
    "zpl 2 1": "ZPL-2.1",
    "zope public": "ZPL-2.1",
    # Debian's copyright files
    "bsd 4 clause uc": "BSD-4-Clause-UC",
    "bsd like": "BSD-3-Clause",
    "ruby": "Ruby",
}
_NOISE = re.compile(r"\b(?:the|licen[cs]ed?|osi approved|apache license and|public domain, )\b|[^a-z0-9+]+")
_TOKEN = re.compile(r"\(|\)|[^\s()]+")

# Whole licence texts, by their characteristic wording; the first match counts.
_TEXTS = (
    ("GPL-3.0", r"gnu (?:lesser |affero )?general public license"),
    ("MPL-2.0", r"mozilla public license"),
    ("Apache-2.0", r"apache license,? version 2\.0"),
    ("BSD-3-Clause", r"redistributions? of source code must retain.*(?:neither the names?|may not be used to endorse)"),
    ("BSD-2-Clause", r"redistributions? of source code must retain"),
    ("MIT", r"permission is hereby granted, free of charge, to any person obtaining a copy"),
    ("ISC", r"permission to use, copy, modify, and(?:/or)? distribute this software for any purpose"),
    ("Unlicense", r"this is free and unencumbered software released into the public domain"),
)


def spdx(spelling: str) -> str | None:
    """Return the SPDX identifier of a licence as spelled in metadata; None if it is unknown."""
    text = spelling.strip()
    if text in PERMISSIVE:
        return text
    plain = " ".join(_NOISE.sub(" ", text.lower()).split())
    return _SPELLINGS.get(plain)


def licence_of_text(text: str) -> str | None:
    """Return the licence whose text this is; None if it is unknown."""
    plain = " ".join(text.lower().split())
    return next((name for name, wording in _TEXTS if re.search(wording, plain)), None)


def is_permissive(expression: str) -> bool:
    """Return whether an SPDX expression allows a permissive licence: one side of OR is enough, AND needs both sides.

    Unknown licences, and exceptions other than LLVM's, count as not permissive.
    """
    tokens = _TOKEN.findall(re.sub(r"(?i)\s+WITH\s+LLVM-exception", "", expression.replace("/", " OR ")))
    try:
        reader = iter(tokens)
        value, rest = _or_terms(reader, next(reader))
    except (StopIteration, ValueError):
        return False
    return value and rest is None


def _or_terms(tokens: Iterator[str], token: str | None) -> tuple[bool, str | None]:
    value, token = _and_terms(tokens, token)
    while token and token.upper() == "OR":
        right, token = _and_terms(tokens, next(tokens))
        value = value or right
    return value, token


def _and_terms(tokens: Iterator[str], token: str | None) -> tuple[bool, str | None]:
    value, token = _term(tokens, token)
    while token and token.upper() == "AND":
        right, token = _term(tokens, next(tokens))
        value = value and right
    return value, token


def _term(tokens: Iterator[str], token: str | None) -> tuple[bool, str | None]:
    if token == "(":
        value, token = _or_terms(tokens, next(tokens))
        if token != ")":
            raise ValueError("a bracket is not closed")
        return value, next(tokens, None)
    if token is None or token in (")", "AND", "OR", "WITH"):
        raise ValueError("a licence is missing")
    return (spdx(token) or "") in PERMISSIVE, next(tokens, None)


def expression_of(spellings: Sequence[str]) -> str | None:
    """Return an SPDX expression for licences that all apply, as spelled in metadata; None if any of them is unclear."""
    ids = [spdx(text) or (text.strip() if is_permissive(text) else None) for text in spellings]
    if not ids or None in ids or not all(name and is_permissive(name) for name in ids):
        return None
    return " AND ".join(dict.fromkeys(f"({name})" if " " in name and len(ids) > 1 else name for name in ids if name))
