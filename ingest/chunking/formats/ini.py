"""Reads the sections and keys of INI files, and of files with one variable or property per row."""

import re

from codequarry.ingest.chunking.formats.entries import MAX_NAME_CHARACTERS, Entry, qualify
from codequarry.ingest.chunking.formats.entry_pieces import Entries
from codequarry.ingest.chunking.text import SourceText

_SECTION = re.compile(r"\[([^\[\]\n]+)\][ \t]*(?:[;#].*)?$")
# Before a colon there is only one word: `proxy_pass http://host` is no key.
_KEY = re.compile(r"(?:export[ \t]+)?(?:([^\s=:#;\[][^=:\n]{0,200}?)[ \t]{0,20}=|([^\s=:#;\[{}<]{1,200}):(?=\s|$))")
# A row without a value is a switch, as in my.cnf.
_SWITCH = re.compile(r"([\w.-]+)$")
# A property's name ends at the first of these that no backslash precedes.
_PROPERTY = re.compile(r"((?:[^\s=:\\]|\\.){1,300})[ \t]*(?:[=:]|[ \t]|$)")


def ini_entries(text: SourceText) -> Entries:
    """Return the sections and keys; rows that are indented more than a section's first key continue a value."""
    entries: list[Entry] = []
    comments = [False] * text.rows
    section, depth, key_indent = "", 0, -1
    for row, line in enumerate(text.lines):
        content = line.strip()
        indent = len(line) - len(line.lstrip())
        if not content:
            continue
        if content[0] in ";#":
            comments[row] = True
        elif found := _SECTION.match(content):
            name = found[1].strip()[:MAX_NAME_CHARACTERS]
            section, depth, key_indent = name, 1, -1
            entries.append(Entry(row, 0, name, name, "section", name))
        elif (key_indent < 0 or indent <= key_indent) and (key := _KEY.match(content) or _SWITCH.match(content)):
            key_indent = indent
            name = next(filter(None, key.groups()))
            entries.append(Entry(row, depth, name, qualify(section, name), "key", qualify(section, name)))
    return Entries(entries, comments)


def properties_entries(text: SourceText) -> Entries:
    """Return the properties; neighbours whose names begin with the same word before a dot are one group."""
    entries: list[Entry] = []
    comments = [False] * text.rows
    prefix = ""
    continued = False
    for row, line in enumerate(text.lines):
        content = line.strip()
        goes_on, continued = continued, _is_continued(content)
        if goes_on or not content:
            continue
        if content[0] in "#!":
            comments[row], continued = True, False
            continue
        found = _PROPERTY.match(content)
        if found is None:
            continue
        name = re.sub(r"\\(.)", r"\1", found[1])[:MAX_NAME_CHARACTERS]
        first = name.partition(".")[0]
        if first != prefix or not entries:
            prefix = first
            entries.append(Entry(row, 0, label=prefix))
        last = name.rpartition(".")[2] or name
        entries.append(Entry(row, 1, last, name, "property", name))
    return Entries(entries, comments)


def _is_continued(content: str) -> bool:
    """Return whether a row ends with an odd number of backslashes."""
    return (len(content) - len(content.rstrip("\\"))) % 2 == 1
