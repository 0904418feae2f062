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
        "setHeader getHeader writeHead resume pause destroy unpipe createServer respond signal timeout",
        "json body headers url method type data id key index error code stack path",
    ),
    "jvm": _names(
        "accept add addAll addFirst addLast all any anyMatch append apply asList charAt clear clone close collect compare",
        "compareTo contains containsKey containsValue count delete endsWith entrySet equals equalsIgnoreCase filter",
        "find findFirst first flatMap flush forEach format get getAndIncrement getBytes getClass getKey getMessage getName",
        "getOrDefault getValue group hasNext hashCode ifPresent incrementAndGet indexOf insert intValue isEmpty isPresent",
        "iterator join keySet last lastIndexOf length let limit lines list listIterator map matcher matches message name",
        "next of offer ofNullable orElse orElseThrow ordinal parse peek poll pop print printStackTrace println push put",
        "putAll read readLine reduce remove removeAll removeIf replace replaceAll reverse run set setLength setValue size",
        "skip sort sorted split start startsWith stream sublist subList submit substring sum test toArray toByteArray",
        "toCharArray toList toLowerCase toString toUpperCase trim update value valueOf values wait write also apply with",
    ),
}

# Methods of built-in containers that give an element, or the container again.
ELEMENT_MEMBERS: Mapping[str, frozenset[str]] = {
    "ecmascript": _names("at concat filter find findLast get pop reverse shift slice sort splice then values"),
    "jvm": _names(
        "any filter find findAny findFirst first firstOrNull get getFirst getLast getOrDefault iterator join last limit",
        "next of orElse orElseGet orElseThrow peek poll pop remove skip sorted stream sublist subList values toList",
        "copyOf distinct collect parallelStream requireNonNull element peekFirst pollFirst asSequence reversed",
    ),
}
