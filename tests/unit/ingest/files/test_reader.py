"""Secrets in files are masked in every field of a chunk and in any encoding."""

from dataclasses import replace

import pytest

from codequarry.ingest.files.read_file import ReadingRules
from codequarry.ingest.files.reader import FileReader, judge
from codequarry.ingest.files.scan import PathRules
from codequarry.ingest.git.objects import Mirror
from codequarry.ingest.git.trees import TreeEntry
from codequarry.ingest.secrets.policy import SecretRules
from codequarry.shared.settings.config import SettingsModel

RULES = ReadingRules.of("r", SettingsModel(), SecretRules())


def decide(path: str):
    return PathRules(SettingsModel()).decide(TreeEntry(path, "100644", "b" * 40, 10))


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-32", "cp1252"])
def test_secrets_are_masked_in_any_encoding(encoding):
    text = "# größer\r\npassword = 'hunter2!x'\r\nname = 'x'\r\n"
    file = judge(decide("a.py"), text.encode(encoding), RULES)
    assert "".join(piece.chunk.text for piece in file.pieces).lstrip("\ufeff") == text.replace("hunter2!x", "*********")
    assert (file.verdict, file.detail) == ("indexed", "masked: assigned-password=1")


def test_a_secret_is_in_no_field_of_a_chunk_and_no_embedded_text():
    source = '''"""Connects with password = "q8Zr4Tn1Vw6Y"."""


class Db:
    """Uses token=q8Zr4Tn1Vw6Y."""

    def connect(self, password="q8Zr4Tn1Vw6Y"):
        return self.q8Zr4Tn1Vw6Y
'''
    file = judge(decide("a.py"), source.encode(), RULES)
    assert "q8zr4tn1vw6y" not in repr(file).lower()
    assert all(piece.chunk.masked for piece in file.pieces)


def test_if_masking_fails_the_file_is_not_indexed(monkeypatch, tmp_path, make_repository):
    def fail(*_):
        raise RuntimeError("no")

    repository = make_repository(files={"a.py": 'password = "hunter2"\n'})
    monkeypatch.setattr("codequarry.ingest.secrets.masking.mask", fail)
    reader = FileReader(Mirror(repository.folder / ".git", {}), RULES)
    blob = repository.git("rev-parse", "HEAD:a.py").decode().strip()
    file = reader.read(replace(decide("a.py"), blob=blob))
    reader.close()
    assert (file.verdict, file.pieces) == ("chunker-failed", ())
