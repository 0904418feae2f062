"""Changed lines: their text, place and pieces, without secrets."""

import pytest

from codequarry.ingest.history.patches import LEFT_OUT, LONGEST_LINE, PIECE_CHARACTERS, patch_pieces
from codequarry.ingest.secrets.policy import SecretRules

RULES = SecretRules()
PATCH = b"""@@ -1,5 +1,5 @@ def top():
 one
-two
+2
 three
 four
-five
+5
@@ -20,3 +20,4 @@ class Low:
 a
+b
 c
 d
\\ No newline at end of file
"""


def pieces(patch, path="a.py", most_lines=500, rules=RULES):
    return patch_pieces(patch if isinstance(patch, bytes) else patch.encode(), path, rules, most_lines)


def added(*lines):
    return f"@@ -0,0 +1,{len(lines)} @@\n" + "".join(f"+{line}\n" for line in lines)


def test_only_changed_lines_stay_each_run_with_its_place():
    (piece,) = pieces(PATCH)
    assert piece.text == (
        "@@ -2,1 +2,1 @@ def top():\n-two\n+2\n"
        "@@ -5,1 +5,1 @@ def top():\n-five\n+5\n@@ -20,0 +21,1 @@ class Low:\n+b\n"
    )
    assert (piece.start_line, piece.end_line) == (2, 21)
    assert piece.headings == ("def top():", "class Low:")
    assert not piece.masked


def test_a_removed_line_has_the_place_of_the_line_after_it():
    (piece,) = pieces("@@ -4,3 +4,2 @@\n x\n-gone\n y\n")
    assert piece.text == "@@ -5,1 +4,0 @@\n-gone\n"
    assert (piece.start_line, piece.end_line) == (5, 5)


def test_a_long_patch_is_cut_into_pieces_and_at_the_limit():
    found = pieces(added(*(f"line {number} of many lines" for number in range(400))))
    assert len(found) > 3
    assert all(len(piece.text) <= PIECE_CHARACTERS + 100 for piece in found)
    assert [piece.start_line for piece in found][1:] == [piece.end_line + 1 for piece in found][:-1]
    (short,) = pieces(added("a", "b", "c"), most_lines=2)
    assert short.text.endswith("+a\n+b\n")


def test_very_long_lines_are_left_out_whole():
    (piece,) = pieces(added("x" * (LONGEST_LINE + 1), "y"))
    assert piece.text.endswith(f"+{LEFT_OUT}\n+y\n")


def test_a_patch_without_changed_lines_has_no_pieces():
    assert pieces(b"") == pieces(b"@@ -1 +1 @@\n same\n") == []


@pytest.mark.parametrize("sign", "+-")
def test_secrets_of_both_sides_are_masked(sign):
    patch = f"@@ -1,2 +1,2 @@\n [credentials]\n{sign}password = 'tR9xQ2mLw8zK4v'\n"
    (piece,) = pieces(patch, "settings.py")
    assert "tR9xQ2mLw8zK4v" not in piece.text
    assert piece.masked
    (plain,) = pieces(patch, "settings.py", rules=SecretRules(action="off"))
    assert "tR9xQ2mLw8zK4v" in plain.text


def test_the_middle_of_a_private_key_is_masked():
    body = "MIIEpAIBAAKCAQEAr1vX0m3fJc5mQ8m2o9y3T8p6dHhYq1l0J7f5vR2s4t6u8w0"
    (piece,) = pieces(f"@@ -10,3 +10,3 @@\n {body}\n-{body[::-1]}\n+{body[1:]}a\n", "id_rsa")
    assert body[1:] not in piece.text
    assert body[::-1] not in piece.text


def test_a_secret_in_the_line_that_names_the_declaration_is_masked():
    (piece,) = pieces("@@ -10,1 +10,1 @@ api_key = 'sk_live_4eC39HqLyjWDarjtT1zdp7dc'\n-a\n+b\n")
    assert "4eC39HqLyjWDarjtT1zdp7dc" not in piece.text + "".join(piece.headings)
