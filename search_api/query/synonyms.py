"""Stop words, inflections of English words, and programmers' short forms."""

import re
from collections.abc import Iterator

# Articles, pronouns, prepositions, auxiliaries and question words: every question and every comment has them.
_STOP_WORDS = """
    a about above after again all also am an and any are as at be because been before being below between both but by
    can could did do does doing done during each either every few for from further get gets getting given gives goes
    had has have having he her here hers him his how i if in into is it its itself just let like made make makes many
    may me might more most much must my need needs no nor not of off on once one only or other our ours out over own
    per please same she should so some such than that the their theirs them then there these they this those through
    thus to too under until up upon us use used uses using very via want was we well were what when where whether which
    while who whom whose why will with within without would yes you your yours
"""
STOP_WORDS = frozenset(_STOP_WORDS.split())
# Words that programmers use interchangeably. Each word matches all others on its line.
_SHORT_FORMS = """
    address addr
    allocate alloc allocation allocator
    application app
    argument arg args arguments
    asynchronous async
    attribute attr attrs attributes
    authenticate auth authentication
    authorize auth authorization
    buffer buf
    calculate calc compute
    callback cb
    character char
    characters chars
    column col
    command cmd
    compare cmp comparison
    concatenate concat
    configuration config cfg conf configure settings
    connection conn connect
    context ctx
    convert conversion
    copy cp clone
    current cur curr
    database db
    decrement dec
    delete remove del erase
    dependency dep
    dependencies deps
    destination dst dest
    destroy free dispose
    development dev
    dictionary dict
    directory dir folder
    directories dirs folders
    document doc
    element elem el
    environment env
    error err exception
    errors errs exceptions
    evaluate eval
    execute exec run
    extension ext
    function fn func
    generate gen generator
    identifier id
    image img
    increment inc
    index idx
    information info
    initialize init initialise setup
    insert add put
    integer int
    iterate iter iterator
    language lang
    length len size
    library lib
    list ls
    manager mgr
    maximum max
    memory mem
    message msg
    messages msgs
    middle mid
    minimum min
    number num
    object obj
    operation op
    operations ops
    option opt
    options opts
    package pkg
    parameter param
    parameters params
    password passwd pwd
    pointer ptr
    position pos
    previous prev
    process proc
    property prop
    properties props
    query q
    random rand rng
    reference ref
    regular regex regexp
    repository repo
    request req
    response resp res
    separator sep delimiter
    sequence seq
    specification spec
    standard std
    statistics stats
    string str
    synchronize sync synchronise synchronization
    temporary tmp temp
    timestamp ts
    transaction tx txn
    utilities utils util
    validate check verify
    value val
    variable var
    variables vars
    vector vec
"""


def _short_form_table() -> dict[str, tuple[str, ...]]:
    table: dict[str, set[str]] = {}
    for line in _SHORT_FORMS.split("\n"):
        words = line.split()
        for word in words:
            table.setdefault(word, set()).update(synonym for synonym in words if synonym != word)
    return {word: tuple(sorted(synonyms)) for word, synonyms in table.items()}


SHORT_FORMS = _short_form_table()

# Shorter words have no useful inflections: "is", "id", "red".
MIN_INFLECTED_CHARACTERS = 4
_VOWEL = re.compile(r"[aeiouy]")
_DOUBLED = re.compile(r"([bdglmnprt])\1$")


def inflections(word: str) -> tuple[str, ...]:
    """Return the other grammatical forms of an English word; generated non-words match nothing and cost nothing."""
    if len(word) < MIN_INFLECTED_CHARACTERS or not (word.isascii() and word.isalpha()):
        return ()
    forms = {form: None for base in _bases(word) for form in _forms(base)}
    forms.pop(word, None)
    return tuple(forms)


def _bases(word: str) -> Iterator[str]:
    """Yield the possible base forms of ``word``, which may be the word itself, most likely first."""
    for suffix, endings in _ENDINGS:
        if word.endswith(suffix) and len(word) - len(suffix) >= 2:
            stem = word[: len(word) - len(suffix)]
            if not _VOWEL.search(stem):
                break
            if "*" in endings and _DOUBLED.search(stem):
                yield stem[:-1]
            yield from (stem + ending for ending in endings if ending != "*")
            return
    yield word


# The endings that replace a suffix; "*" also removes one of two equal consonants before it (running, run).
_ENDINGS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("sses", ("ss",)),
    ("ches", ("ch",)),
    ("shes", ("sh",)),
    ("xes", ("x",)),
    ("ies", ("y",)),
    ("ied", ("y",)),
    ("ization", ("ize",)),
    ("ation", ("ate", "e", "")),
    ("ution", ("ute",)),
    ("ssion", ("ss",)),
    ("ction", ("ct",)),
    ("ing", ("", "e", "*")),
    ("ed", ("", "e", "*")),
    ("ers", ("", "e", "er", "*")),
    ("ss", ("ss",)),
    ("us", ("us",)),
    ("is", ("is",)),
    ("s", ("",)),
)


def _forms(base: str) -> Iterator[str]:
    """Yield the forms of a base: plural or third person, -ing, -ed, and the agent noun (-er, -or)."""
    yield base
    if base.endswith("e"):
        yield from (base + "s", base[:-1] + "ing", base + "d", base + "r")
    elif base.endswith("y") and base[-2:-1] not in "aeiou":
        yield from (base[:-1] + "ies", base + "ing", base[:-1] + "ied", base[:-1] + "ier")
    elif base.endswith(("s", "x", "ch", "sh")):
        yield from (base + "es", base + "ing", base + "ed", base + "or")
    else:
        doubled = base + base[-1] if _TAKES_DOUBLE.search(base) else base
        yield from (base + "s", doubled + "ing", doubled + "ed", doubled + "er")
        if base.endswith("t"):
            yield from (base + "ion", base + "or")
    if base.endswith("ate"):
        yield from (base[:-1] + "ion", base[:-1] + "or")


# A word of one short syllable doubles its single final consonant: run, running.
_TAKES_DOUBLE = re.compile(r"^[^aeiou]*[aeiou][bdglmnprt]$")
