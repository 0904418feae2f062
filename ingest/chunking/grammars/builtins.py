"""Built-in names of languages, which refer to nothing in a repository."""


def _names(*lines: str) -> frozenset[str]:
    return frozenset(word for line in lines for word in line.split())


PYTHON = _names(
    "bool bytes dict float frozenset int list object set str tuple type len range print isinstance super property",
    "classmethod staticmethod enumerate zip map filter sorted min max sum any all getattr setattr hasattr repr iter",
    "next abs open Exception ValueError TypeError KeyError RuntimeError AttributeError IndexError",
    "NotImplementedError StopIteration OSError ImportError AssertionError",
)
ECMASCRIPT = _names(
    "require Promise Array Record Partial Readonly Pick Omit String Number Boolean Object Error Map Set Date Math",
    "JSON Symbol RegExp parseInt parseFloat",
)
GO = _names(
    "any bool byte comparable complex64 complex128 error float32 float64 int int8 int16 int32 int64 rune string",
    "uint uint8 uint16 uint32 uint64 uintptr append cap clear close copy delete len make max min new panic print",
    "println recover",
)
RUST = _names(
    "Self Box Vec String Option Some None Result Ok Err std core vec format println print eprintln write writeln",
    "panic assert assert_eq assert_ne debug_assert matches todo unreachable",
)
JVM = _names(
    "String Object Integer Long Boolean Double Float Short Byte Character Int Unit Any Nothing AnyRef AnyVal",
    "Override Exception RuntimeException IllegalArgumentException IllegalStateException Throws",
)
SWIFT = _names("String Int Bool Double Float Void Any AnyObject Self Character Array Dictionary Set Optional")
SHELL = _names(
    ". : [ source set return echo local export cd exit shift true false test printf read eval exec trap unset",
    "readonly declare break continue let type wait command builtin",
)
