"""Members of built-in types: such a name on an unknown value rarely means a member that a repository defines."""

from collections.abc import Mapping


def word_set(*lines: str) -> frozenset[str]:
    """Return the words of some lines."""
    return frozenset(word for line in lines for word in line.split())


BUILTIN_MEMBERS: Mapping[str, frozenset[str]] = {
    "c": word_set(
        "append assign at back begin c_str capacity clear close compare count data emplace emplace_back empty end",
        "erase fail find find_first_of first flush front get good insert join key length load lock lower_bound",
        "next open pop pop_back pop_front push push_back push_front read release replace reserve reset resize",
        "rfind second seek size store str substr swap top unlock upper_bound value wait what write",
    ),
    "go": word_set(
        "Add Cap Close Cleanup Copy Context Done Elem Err Error Errorf Exit Fatal Fatalf Field Flush Format Get",
        "Header Helper Index Int Interface Kind Len Load Lock Log Logf Marshal Name Next Now Open Parse Print",
        "Printf Println RLock RUnlock Read ReadAll ReadFrom Reset Run Scan Seek Set Skip Sleep Sprintf Store",
        "String Sub Sum Swap Sync TempDir Text Type Unlock Unwrap Value Wait Write WriteByte WriteString WriteTo",
        "Since Unix Year",
    ),
    "rust": word_set(
        "abs all and and_then any append arg as_bytes as_deref as_mut as_path as_ptr as_ref as_slice as_str",
        "binary_search borrow borrow_mut build by_ref bytes capacity ceil chain char_indices chars chunks clear",
        "clone cloned cmp collect components concat contains contains_key copied count cycle dedup default deref",
        "drain drop ends_with entry enumerate eq eq_ignore_ascii_case err exists expect extend extend_from_slice",
        "extension file_name filter filter_map find find_map first flat_map flatten flush fmt fold for_each from",
        "from_str get get_mut get_or_insert_with hash insert insert_str inspect into into_boxed_slice into_bytes",
        "into_inner into_iter into_owned into_string is_absolute is_alphabetic is_ascii is_digit is_dir is_empty",
        "is_err is_file is_none is_ok is_some is_some_and iter iter_mut join keys kind last len lines lock map",
        "map_err map_or map_or_else max max_by_key min metadata ne next next_back nth ok ok_or ok_or_else open or",
        "or_default or_else or_insert or_insert_with parent parse partial_cmp path peek peekable pop pop_front",
        "position pow product push push_back push_str read read_exact read_line read_to_end read_to_string recv",
        "remove repeat replace reserve resize retain rev rfind rposition saturating_sub send set skip skip_while",
        "sort sort_by sort_by_key sort_unstable spawn split split_at split_first splitn split_whitespace",
        "starts_with step_by strip_prefix strip_suffix sum swap take take_while then then_some to_ascii_lowercase",
        "to_lowercase to_owned to_path_buf to_str to_string to_string_lossy to_uppercase to_vec trim trim_end",
        "trim_end_matches trim_start trim_start_matches truncate try_from try_into unwrap unwrap_err unwrap_or",
        "unwrap_or_default unwrap_or_else unzip values wait windows with_capacity with_extension wrapping_add",
        "write write_all write_fmt write_str zip",
    ),
    "python": word_set(
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
    "ecmascript": word_set(
        "abort add addEventListener all any apply assign at bind call catch charAt charCodeAt clear clone concat",
        "constructor delete dispatchEvent emit end endsWith entries every exec fill filter finally find findIndex",
        "findLast flat flatMap forEach format freeze from get getTime has hasOwnProperty includes indexOf join",
        "keys lastIndexOf length listen log map match matchAll name next normalize now off on once padEnd padStart",
        "pipe pop push race read reduce reduceRight reject removeEventListener repeat replace replaceAll resolve",
        "return reverse search set shift size slice some sort splice split startsWith status stringify substr",
        "substring test text then throw toFixed toISOString toJSON toLowerCase toString toUpperCase trim trimEnd",
        "trimStart unref unshift update value valueOf values write message setHeader getHeader writeHead resume",
        "pause destroy unpipe createServer respond signal timeout json body headers url method type data id key",
        "index error code stack path",
    ),
    "jvm": word_set(
        "accept add addAll addFirst addLast all any anyMatch append apply asList charAt clear clone close collect",
        "compare compareTo contains containsKey containsValue count delete endsWith entrySet equals",
        "equalsIgnoreCase filter find findFirst first flatMap flush forEach format get getAndIncrement getBytes",
        "getClass getKey getMessage getName getOrDefault getValue group hasNext hashCode ifPresent incrementAndGet",
        "indexOf insert intValue isEmpty isPresent iterator join keySet last lastIndexOf length let limit lines",
        "list listIterator map matcher matches message name next of offer ofNullable orElse orElseThrow ordinal",
        "parse peek poll pop print printStackTrace println push put putAll read readLine reduce remove removeAll",
        "removeIf replace replaceAll reverse run set setLength setValue size skip sort sorted split start",
        "startsWith stream sublist subList submit substring sum test toArray toByteArray toCharArray toList",
        "toLowerCase toString toUpperCase trim update value valueOf values wait write also apply with",
    ),
}

# Methods of built-in containers that give an element, or the container again.
ELEMENT_MEMBERS: Mapping[str, frozenset[str]] = {
    "c": word_set(
        "at back begin cbegin cend data emplace_back end find front get lock rbegin release top value second",
    ),
    "rust": word_set(
        "as_deref as_deref_mut as_mut as_ref borrow borrow_mut by_ref chain clone cloned collect copied default",
        "drain entry err expect filter first get get_mut get_or_insert_with insert into into_inner into_iter iter",
        "iter_mut last lock max max_by_key min min_by_key next next_back nth ok ok_or ok_or_else or or_default",
        "or_else or_insert or_insert_with peek peekable pop pop_front read remove replace rev skip take to_owned",
        "to_vec unwrap unwrap_or unwrap_or_default unwrap_or_else values values_mut write zip",
    ),
    "ecmascript": word_set(
        "at concat filter find findLast get pop reverse shift slice sort splice then values",
    ),
    "jvm": word_set(
        "any filter find findAny findFirst first firstOrNull get getFirst getLast getOrDefault iterator join last",
        "limit next of orElse orElseGet orElseThrow peek poll pop remove skip sorted stream sublist subList values",
        "toList copyOf distinct collect parallelStream requireNonNull element peekFirst pollFirst asSequence",
        "reversed",
    ),
}
