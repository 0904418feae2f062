"""Summaries of files through an index run, searches and everything that reads whole files."""

from typing import Any

COOKIES = '''"""Reads cookies."""


def parse_cookie(header):
    """Parse a Cookie header."""
    return dict(part.split("=") for part in header.split(";"))


''' + "\n\n".join(
    f"def step_{number}(value):\n    return [value + {number} for _ in range({number})]\n" for number in range(40)
)
FILES = {"web/cookies.py": COOKIES, "web/one.py": "def one():\n    return 1\n", "README.md": "# Title\n\nWords.\n"}


def test_a_summary_is_found_but_is_no_part_of_its_file(workspace: Any) -> None:
    repository = workspace.indexed("project", FILES)
    found = workspace.run("search", "which file reads cookies", "--json").json["results"]
    [summary] = [hit for hit in found if hit["derived"]]
    assert (summary["path"], summary["symbol_type"], summary["symbol_kind"]) == ("web/cookies.py", "file", "summary")
    assert (summary["start_line"], summary["end_line"]) == (1, COOKIES.count("\n"))
    assert summary["text"].startswith("web/cookies.py\npackage web.cookies\nReads cookies.\n")
    assert found[0]["path"] == "web/cookies.py"
    named = workspace.run("search", "parse_cookie", "--json").json["results"][0]
    assert (named["symbol_name"], named["derived"]) == ("parse_cookie", False)
    chunks = workspace.run("chunks", "project", "web/cookies.py", "--json").json["chunks"]
    assert [chunk["derived"] for chunk in chunks] == [False] * (len(chunks) - 1) + [True]
    assert workspace.run("fsck").code == 0
    repository.git("checkout", "--quiet", "-b", "dev")
    repository.commit({"web/cookies.py": COOKIES.replace("Parse a Cookie", "Split a Cookie")})
    assert workspace.run("index", repository.folder, "--branch", "dev").code == 0
    differing = workspace.run("diff-search", "parse a cookie header", "main..dev", "--json").json["results"]
    assert {result["symbol"] for result in differing} == {"parse_cookie"}
