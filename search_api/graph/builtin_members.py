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
}
