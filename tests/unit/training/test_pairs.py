from training.pairs import is_prose, pairs_of

PYTHON = '''
def take_over(lease, holder):
    """Take the lease of a holder that died before it could give it back."""
    if lease.holder == holder:
        return lease
    # Somebody else was faster, so this one has to wait for its turn.
    waiting = lease.waiting + [holder]
    lease = replace(lease, waiting=waiting)
    return lease
'''


def of_kind(kind, text=PYTHON, language="python"):
    return [pair for pair in pairs_of("a/b.py", language, text) if pair.kind == kind]


def test_a_doc_comment_is_paired_with_its_code_minus_the_comment():
    (pair,) = of_kind("doc")
    assert pair.text == "Take the lease of a holder that died before it could give it back."
    assert "return lease" in pair.code and "died" not in pair.code
    assert "take over" in pair.head and pair.path == "a/b.py"


def test_a_comment_is_paired_with_the_lines_after_it():
    (pair,) = of_kind("comment")
    assert pair.text.startswith("Somebody else was faster")
    assert pair.code.split("\n")[0].strip().startswith("waiting =") and "if lease.holder" not in pair.code


def test_a_name_is_paired_with_its_body_without_the_name():
    (pair,) = of_kind("name")
    assert pair.text == "take over"
    assert "take_over" not in pair.code and pair.head == "" and pair.path == ""


def test_a_title_pairs_a_name_with_doc_comment_and_body_and_needs_a_doc_comment():
    (pair,) = of_kind("title")
    assert pair.text == "take over" and pair.head == "" and pair.path == ""
    assert pair.code.startswith("Take the lease") and "waiting =" in pair.code and "take_over" not in pair.code
    assert (
        of_kind("title", PYTHON.replace('"""Take the lease of a holder that died before it could give it back."""', ""))
        == []
    )


def test_commented_out_code_and_tool_directives_are_not_prose():
    assert is_prose("Returns the first element that fits")
    for text in (
        "x = y + z;",
        "noqa: this line is long enough",
        "@param name the name of it",
        "TODO: write this some day",
        "--------------------",
        "see https://example.org/page for more words",
        "short one",
    ):
        assert not is_prose(text), text


def test_other_languages_give_pairs_too():
    go = """package a

// Open returns a reader for the named file of the archive.
func Open(name string) (*Reader, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	return newReader(f), nil
}
"""
    (pair,) = [pair for pair in pairs_of("a.go", "go", go) if pair.kind == "doc"]
    assert pair.text.startswith("Open returns a reader") and "returns a reader" not in pair.code
