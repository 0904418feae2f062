import pytest

from codequarry.shared.embedding.declared import declared_names


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("def read_page(self):\n    return 1", ["read_page"]),
        ("    async def read(self):", ["read"]),
        ("class Reader(Base):\n    def read(self): ...\n    def close(self): ...", ["Reader", "read", "close"]),
        ("func (r *Reader) ReadPage(p []byte) error {", ["ReadPage"]),
        ("pub(crate) unsafe fn read_page<T>(page: T) {", ["read_page"]),
        ("export default async function readPage(page) {", ["readPage"]),
        ("public abstract class Reader<T> {", ["Reader"]),
        ("private suspend fun readPage(page: Int)", ["readPage"]),
        ("type Page struct {", ["Page"]),
        ("struct page {", ["page"]),
        ("def read(a):\n    pass\n\ndef read(b):\n    pass", ["read"]),
        ("return define(x)  # a function that reads", []),
        ("the functional part of it\nclassic", []),
        ("", []),
    ],
)
def test_the_names_that_lines_declare(text, names):
    assert declared_names(text) == names


def test_a_long_line_without_end_is_read_in_no_time():
    assert declared_names("a " * 200_000) == declared_names("\t" * 200_000) == []
