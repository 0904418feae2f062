"""Members of built-in types: such a name on an unknown value rarely means a member that a repository defines."""

from collections.abc import Mapping


def _names(*lines: str) -> frozenset[str]:
    return frozenset(word for line in lines for word in line.split())


BUILTIN_MEMBERS: Mapping[str, frozenset[str]] = {
    "python": _names(
        "add append as_posix capitalize casefold center clear close copy count decode difference discard encode",
        "endswith exists expanduser extend find fileno findall finditer flush format format_map fromkeys fullmatch",
        "get group groupdict groups index insert intersection isalnum isalpha isdigit isidentifier islower isspace",
        "issubset istitle isupper items iterdir join joinpath keys ljust lower lstrip match mkdir move_to_end name",
        "open partition pop popitem popleft read read_bytes read_text readable readline readlines relative_to",
        "remove removeprefix removesuffix replace resolve reverse rfind rindex rjust rpartition rsplit rstrip",
        "search seek setdefault sort split splitlines startswith strip sub swapcase symmetric_difference tell",
        "title translate truncate union unlink update upper values with_suffix write write_bytes write_text",
        "writable writelines zfill",
    ),
    "ecmascript": _names(
        "abort add addEventListener all any apply assign at bind call catch charAt charCodeAt clear clone concat constructor",
        "delete dispatchEvent emit end endsWith entries every exec fill filter finally find findIndex findLast flat flatMap",
        "forEach format freeze from get getTime has hasOwnProperty includes indexOf join keys lastIndexOf length listen log",
        "map match matchAll name next normalize now off on once padEnd padStart pipe pop push race read reduce reduceRight",
        "reject removeEventListener repeat replace replaceAll resolve return reverse search set shift size slice some sort",
        "splice split startsWith status stringify substr substring test text then throw toFixed toISOString toJSON",
        "toLowerCase toString toUpperCase trim trimEnd trimStart unref unshift update value valueOf values write message",
        "json body headers url method type data id key index error code stack path",
    ),
}

# Methods of built-in containers that give an element, or the container again.
ELEMENT_MEMBERS: Mapping[str, frozenset[str]] = {
    "ecmascript": _names("at concat filter find findLast get pop reverse shift slice sort splice then values"),
}
