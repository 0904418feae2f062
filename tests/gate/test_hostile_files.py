"""A repository of hostile files, indexed for real: each has a verdict, true lines, and can be found."""

import json

import pytest

from codequarry.ingest.files.content import DecodedText, decode
from tests.gate.hostile import FILE, FOLDER, HostileRepository
from tests.gate.hostile_files import SKIPPED, TEXTS
from tests.gate.running import run

# More than this would mean that a reader ran against its own limit of 2 GB.
MOST_READER_MEGABYTES = 1_500
NEEDLES = {
    "needle_in_crlf": ("ends/crlf.py", 3),
    "needle_in_mixed": ("ends/mixed.py", 7),
    "needle_in_lfcr": ("ends/lfcr.py", 2),
    "needle_separated": ("ends/separators.js", 2),
    "needle_next_line": ("ends/next_line.py", 2),
    "needle_form_feed": ("ends/form_feed.py", 3),
    "needle_without_end": ("ends/none.py", 1),
    "needle_in_cr": ("ends/cr.py", 1),
    "needle_after_bom": ("encodings/bom.py", 1),
    "NeedleWide": ("encodings/utf16.cs", 1),
    "needle_without_bom": ("encodings/utf16_bare.rc", 3),
    "needle_latin": ("encodings/latin1.c", 2),
    "needle_kanji": ("encodings/sjis.c", 10),
    "needle_in_damage": ("encodings/damaged.py", 11),
    "needle_in_two": ("encodings/two.py", 11),
    "needle_beside_nul": ("encodings/nul.c", 1),
    # A word among ten thousand others in one chunk weighs little, but a phrase is looked for as it is.
    '"quillfeather"': ("wide/one_line.json", 1),
    '"needle_minified"': ("wide/minified.js", 1),
}


@pytest.fixture(scope="module")
def indexed(tmp_path_factory):
    """Index the repository once; return the data folder and what the command did."""
    folder = tmp_path_factory.mktemp("files")
    repository = HostileRepository.at(folder / "hostile.git")
    contents = TEXTS | {path: data for path, (data, _) in SKIPPED.items()}
    folders: dict[str, list[tuple[str, bytes, str]]] = {}
    for path, data in sorted(contents.items()):
        place, _, name = path.partition("/")
        folders.setdefault(place, []).append((FILE, name.encode(), repository.blob(data)))
    repository.commit(
        repository.tree(*((FOLDER, place.encode(), repository.tree(*files)) for place, files in folders.items()))
    )
    outcome = run(folder / "home", "index", str(repository.folder), "--name", "hostile")
    assert outcome.code == 0, outcome.said
    return folder / "home", outcome


def test_the_run_ends_within_its_memory(indexed):
    _, outcome = indexed
    assert "Traceback" not in outcome.said
    assert outcome.megabytes < MOST_READER_MEGABYTES


def test_each_file_has_a_verdict_and_gits_number_of_lines(indexed):
    home, _ = indexed
    listed = json.loads(run(home, "files", "hostile", "--json").said)
    lines = {file["path"]: file["lines"] for file in listed["files"]}
    reasons = {file["path"]: file["reason"] for file in listed["skipped"]}
    assert reasons == {path: reason for path, (_, reason) in SKIPPED.items()}
    assert lines.keys() == TEXTS.keys()
    for path, data in TEXTS.items():
        decoded = decode(data)
        assert isinstance(decoded, DecodedText)
        text = decoded.text
        assert lines[path] == text.count("\n") + (bool(text) and not text.endswith("\n")), path


def test_every_line_is_in_a_chunk_with_gits_bytes(indexed):
    home, _ = indexed
    checked = run(home, "fsck", "hostile", "--full-text")
    assert checked.code == 0, checked.said


@pytest.mark.parametrize("needle", NEEDLES)
def test_what_stands_in_a_hostile_file_is_found_at_its_line(indexed, needle):
    home, _ = indexed
    path, line = NEEDLES[needle]
    hits = json.loads(run(home, "search", needle, "--top-k", "3", "--json").said)["results"]
    found = [hit for hit in hits if hit["path"] == path]
    assert found, hits[:1]
    assert any(hit["start_line"] <= line <= hit["end_line"] for hit in found)
