"""What Java and Kotlin have in common: imports, and the types of their runtime."""

import re

from tree_sitter import Node

from codequarry.ingest.symbols.naming_rules import ImportedName, words
from codequarry.ingest.symbols.nodes import node_text

# Wrappers whose last argument is the type that matters: an object that may be absent, comes later, or is an element.
TRANSPARENT = words(
    "Optional List Set Collection Iterable Iterator ListIterator Stream Map SortedMap NavigableMap",
    "ConcurrentMap Queue Deque ArrayList LinkedList HashSet LinkedHashSet TreeSet HashMap LinkedHashMap",
    "TreeMap ConcurrentHashMap CopyOnWriteArrayList Supplier Provider Lazy Future CompletableFuture",
    "CompletionStage Callable ThreadLocal AtomicReference WeakReference SoftReference ImmutableList",
    "ImmutableSet ImmutableMap ImmutableSortedSet MutableList MutableSet MutableMap MutableCollection",
    "Sequence Array Deferred Flow StateFlow Result",
)
ELEMENT_CALLS = words(
    "forEach map filter anyMatch allMatch noneMatch flatMap ifPresent peek mapToInt removeIf",
    "computeIfAbsent let also apply run takeIf any all none find first last firstOrNull sortedBy",
    "associateBy groupBy mapNotNull onEach",
)
# Types of the results of methods of built-in types, by which an argument of an overloaded method is judged.
RESULT_TYPES = {
    **dict.fromkeys(("charAt",), "char"),
    **dict.fromkeys(("length", "size", "indexOf", "lastIndexOf", "hashCode", "ordinal", "compareTo"), "int"),
    **dict.fromkeys(("isEmpty", "contains", "equals", "startsWith", "endsWith", "matches"), "boolean"),
    **dict.fromkeys(
        ("toString", "trim", "substring", "toLowerCase", "toUpperCase", "toLowerCase", "repeat", "getName", "replace"),
        "String",
    ),
    **dict.fromkeys(("getBytes",), "byte[]"),
    **dict.fromkeys(("toCharArray",), "char[]"),
}
RUNTIME = words(
    "var String Object Integer Long Boolean Double Float Short Byte Character Number Math System Thread",
    "Runtime Class Enum Override Deprecated SuppressWarnings FunctionalInterface SafeVarargs Exception",
    "RuntimeException Error Throwable IllegalArgumentException IllegalStateException NullPointerException",
    "UnsupportedOperationException IndexOutOfBoundsException ClassCastException InterruptedException",
    "CloneNotSupportedException StringBuilder StringBuffer Iterable Comparable Runnable CharSequence",
    "AutoCloseable Void Process ClassLoader StackTraceElement Int Unit Any Nothing Char UInt ULong List Map",
    "Set MutableList MutableMap MutableSet Pair Triple Throws JvmStatic JvmField JvmOverloads JvmName",
    "Suppress ByteArray IntArray Array Sequence Lazy listOf mapOf setOf mutableListOf mutableMapOf",
    "mutableSetOf arrayOf emptyList emptyMap emptySet println print require requireNotNull check",
    "checkNotNull error TODO lazy",
)

_IMPORT = re.compile(r"^\s*import\s+(?:static\s+)?([\w.`$]+?)(\.\*)?(?:\s+as\s+(\w+))?\s*;?\s*$")


def imports(node: Node, data: bytes) -> list[ImportedName]:
    """Read ``import a.b.C``, ``import static a.B.c``, ``import a.b.*`` and ``import a.b.C as D``."""
    line = node_text(node, data).split("\n", 1)[0]
    found = _IMPORT.match(line.partition("//")[0])
    if found is None:
        return []
    path = found[1].replace("`", "")
    if found[2]:
        return [ImportedName("*", path)]
    module, _, member = path.rpartition(".")
    return [ImportedName(found[3] or member, module, member)] if module else []
