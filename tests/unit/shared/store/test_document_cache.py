"""What a store remembers of the documents that it read."""

from codequarry.shared.store import document_cache
from codequarry.shared.store.document_cache import DocumentCache
from codequarry.shared.store.records import Document


def test_the_newest_of_each_key_is_remembered_with_its_place():
    memory = DocumentCache()
    assert memory.take("head") is None
    memory.keep(Document("head", {"counter": 1}, "v1"), "index-1")
    newest = memory.keep(Document("head", {"counter": 2}, "v2"), "index-2")
    assert memory.take("head") == ("index-2", newest)
    memory.drop("head")
    memory.drop("never read")
    assert memory.take("head") is None


def test_those_that_were_not_asked_for_longest_are_forgotten(monkeypatch):
    monkeypatch.setattr(document_cache, "_KEPT_DOCUMENTS", 3)
    memory = DocumentCache()
    for number in range(3):
        memory.keep(Document(str(number), {}, "v"))
    memory.take("0")
    memory.keep(Document("3", {}, "v"))
    assert [key for key in "0123" if memory.take(key)] == ["0", "2", "3"]
